// SPDX-License-Identifier: Apache-2.0
// SUPER PE, the bottom PE of a set: a PE with three additional parts. It requantises the depthwise
// sums of its column (dw_requantizer), stores the resulting depthwise words (word_buffer) and, in a
// fused pass, sends them to its own PE and to the two PEs above (dw_broadcaster). In a depthwise
// pass, the words leave through the adder chain: a transfer whose control bit `word` is set carries
// the next word.
//
// The PE and the additional parts accept a pass separately, each when it has finished the pass
// before.

`include "assertions.svh"

module super_pe
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter pe_sizes_t SIZES  // sizes of PE and SUPER
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  array_passes_t          passes_i,
  output logic [1:0]             pass_phase_o,   // of the PE; of the additional parts
  input  logic                   enable_i,

  input  operands_t              operands_i,
  output operands_ready_t        operands_ready_o,
  input  parameters_request_t    parameters_i,
  output logic                   parameters_ready_o,

  // Depthwise words to the PEs above, row 0 first
  output word_request_t [SetRows-2:0] words_o,
  input  logic [SetRows-2:0]          words_ready_i,

  // Total of the depthwise sums of the rows above
  input  dw_request_t           dw_i,
  output logic                  dw_ready_o,

  input  chain_transfer_t       chain_i,
  output logic                  chain_ready_o,
  output chain_transfer_t       chain_o,
  input  logic                  chain_ready_i,

  output logic                  overrun_o,     // a pass receives more words than it uses
  output pe_activity_t          activity_o
);

  // ---- The PE ----

  word_request_t   own_word;
  logic            own_word_ready;
  dw_request_t     own_dw, dw;
  logic            dw_ready;
  chain_transfer_t chain;
  logic            chain_ready;
  logic            pe_overrun;

  pe #(.SIZES(SIZES), .ROW(2'(SetRows - 1))) u_pe (
    .clk_i, .rst_ni, .passes_i, .enable_i, .operands_i, .operands_ready_o,
    .pass_phase_o (pass_phase_o[0]),
    .word_i       (own_word),
    .word_ready_o (own_word_ready),
    .dw_o         (own_dw),
    .dw_ready_i   (dw_i.valid && dw_ready),
    .chain_i, .chain_ready_o,
    .chain_o      (chain),
    .chain_ready_i(chain_ready),
    .overrun_o    (pe_overrun),
    .activity_o
  );

  // The requantiser accepts the total when all rows have their sums.
  assign dw.valid   = dw_i.valid && own_dw.valid;
  assign dw.sums    = add_dw_sums(dw_i.sums, own_dw.sums);
  assign dw_ready_o = own_dw.valid && dw_ready;

  // ---- Configuration of the additional parts ----

  array_config_t cfg;
  logic          pass_phase_q, issuing_q;
  logic          accept, start, requantizer_busy, broadcasting;
  logic          group_issued, replay_last, outer_last;

  assign accept = passes_i.pass_phase != pass_phase_q && !issuing_q && !requantizer_busy &&
                  !broadcasting;
  assign start  = accept && enable_i && (passes_i.pending.mode == ArrayFused ||
                                         passes_i.pending.mode == ArrayDepthwise);
  assign cfg             = passes_i.held[pass_phase_q];
  assign pass_phase_o[1] = pass_phase_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pass_phase_q <= 1'b0;
      issuing_q    <= 1'b0;
    end else begin
      if (accept) pass_phase_q <= passes_i.pass_phase;
      if (start) issuing_q <= 1'b1;
      else if (group_issued && replay_last && outer_last) issuing_q <= 1'b0;
    end
  end

  logic group_first, group_last, tile_last, unused_flags;
  pass_loops #(.TILES(1'b0)) u_loops (
    .clk_i, .rst_ni,
    .loops_i      (cfg.loops),
    .start_i      (start),
    .step_i       (group_issued),
    .group_first_o(group_first),
    .group_last_o (group_last),
    .replay_last_o(replay_last),
    .tile_last_o  (tile_last),
    .outer_last_o (outer_last)
  );
  assign unused_flags = ^{group_first, group_last, tile_last, cfg};

  // ---- Depthwise words: requantise, store, send ----

  logic        full, reserve, write, available, read, free, rewind;
  word_t       write_data, word;
  logic        to_chain, chain_word_valid, chain_word_ready, parameters_any;
  logic [SetRows-1:0] word_valid;

  assign to_chain = cfg.shape.mode == ArrayDepthwise;

  dw_requantizer u_dw_requantizer (
    .clk_i, .rst_ni,
    .cfg_i       (cfg.depthwise),
    .pixels_i    (cfg.shape.pixels),
    .enable_i    (issuing_q),
    .group_issued_o(group_issued),
    .busy_o           (requantizer_busy),
    .pass_phase_i     (pass_phase_q),
    .parameters_valid_i(parameters_i.valid),
    .parameters_ready_o,
    .parameters_phase_i(parameters_i.pass_phase),
    .parameters_data_i(parameters_i.data),
    .parameters_half_i(parameters_i.half),
    .parameters_any_o (parameters_any),
    .sums_valid_i     (dw.valid),
    .sums_ready_o     (dw_ready),
    .sums_i           (dw.sums),
    .full_i           (full),
    .reserve_o        (reserve),
    .write_o          (write),
    .write_data_o     (write_data)
  );

  word_buffer #(.WORDS(SIZES.word_buffer_words)) u_word_buffer (
    .clk_i, .rst_ni,
    .reserve_i   (reserve),
    .full_o      (full),
    .write_i     (write),
    .write_data_i(write_data),
    .available_o (available),
    .read_i      (read),
    .free_i      (free),
    .rewind_i    (rewind),
    .read_data_o (word)
  );

  dw_broadcaster u_dw_broadcaster (
    .clk_i, .rst_ni,
    .loops_i      (cfg.loops),
    .pixels_i     (cfg.shape.pixels),
    .to_chain_i   (to_chain),
    .start_i      (start),
    .busy_o       (broadcasting),
    .available_i  (available),
    .read_o       (read),
    .free_o       (free),
    .rewind_o     (rewind),
    .word_valid_o (word_valid),
    .word_ready_i ({own_word_ready, words_ready_i}),
    .chain_valid_o(chain_word_valid),
    .chain_ready_i(chain_word_ready)
  );

  assign overrun_o = pe_overrun || (!issuing_q && parameters_any) ||
                     (parameters_i.valid &&
                      is_overrun(parameters_i.pass_phase, pass_phase_q, passes_i.pass_phase,
                                 issuing_q));

  assign own_word = '{valid: word_valid[SetRows-1], data: word};
  for (genvar row = 0; row < SetRows - 1; row++) begin : gen_word
    assign words_o[row] = '{valid: word_valid[row], data: word};
  end

  // ---- Words on the adder chain ----

  logic carries_word;

  assign carries_word     = chain.control.word;
  assign chain_ready      = chain_ready_i && (!carries_word || chain_word_valid);
  assign chain_word_ready = chain.valid && carries_word && chain_ready_i;

  always_comb begin : insert_word
    chain_o       = chain;
    chain_o.valid = chain.valid && (!carries_word || chain_word_valid);
    if (carries_word) chain_o.sums[0] = sum_t'(word);
  end

  `EYRIE_STABLE(Chain, chain_o.valid, chain_ready_i, {chain_o.control, chain_o.sums})
  `EYRIE_ASSERT_WHEN(WordsOfDepthwise, chain.valid && carries_word, !broadcasting || to_chain,
      "a transfer requests a depthwise word in a fused pass")
  `EYRIE_ASSERT_WHEN(IssuingBroadcasts, issuing_q, broadcasting,
      "depthwise words are made but not sent")
  `EYRIE_ASSERT_WHEN(WordsEndWithPass, accept, !available, "a pass ends with words left")

endmodule
