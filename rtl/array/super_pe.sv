// SPDX-License-Identifier: Apache-2.0
// SUPER PE, the bottom PE of a set: a PE, and three things besides. It finishes the depthwise sums
// of its column (dw_finisher), keeps the resulting words (word_buffer), and in the pointwise half
// of a fused pass sends them up its column (word_sender), to itself and the two PEs above. In a
// depthwise pass the words leave through the sum chain: a beat whose phase says `word` takes the
// next one.
//
// The PE and the SUPER's own part take a pass's configuration each when it is done with the one
// before.

`include "assertions.svh"

module super_pe
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter pe_sizes_t SIZES  // of PE and SUPER
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  array_passes_t      passes_i,
  output logic [1:0]         cfg_epoch_o,   // of the PE, of the SUPER's own part
  input  logic               enable_i,

  input  operands_t          operands_i,
  output operands_ready_t    operands_ready_o,
  input  table_offer_t       table_i,
  output logic               table_ready_o,

  // Words to the other PEs of the set (row 0 first).
  output word_offer_t [SetRows-2:0] words_o,
  input  logic [SetRows-2:0]        words_ready_i,

  // Depthwise sums of the other rows, added up.
  input  dw_offer_t          dw_i,
  output logic               dw_ready_o,

  input  chain_beat_t        chain_i,
  output logic               chain_ready_o,
  output chain_beat_t        chain_o,
  input  logic               chain_ready_i,

  output logic               surplus_o,     // more came for a pass than it takes
  output pe_activity_t       activity_o
);

  // ---- The PE ----

  word_offer_t own_word;
  logic        own_word_ready;
  dw_offer_t   own_dw, dw;
  logic        dw_ready;
  chain_beat_t chain;
  logic        chain_ready;
  logic        pe_surplus;

  pe #(.SIZES(SIZES), .ROW(2'(SetRows - 1))) u_pe (
    .clk_i, .rst_ni, .passes_i, .enable_i, .operands_i, .operands_ready_o,
    .cfg_epoch_o  (cfg_epoch_o[0]),
    .word_i       (own_word),
    .word_ready_o (own_word_ready),
    .dw_o         (own_dw),
    .dw_ready_i   (dw_i.valid && dw_ready),
    .chain_i, .chain_ready_o,
    .chain_o      (chain),
    .chain_ready_i(chain_ready),
    .surplus_o    (pe_surplus),
    .activity_o
  );

  // The finisher takes the sum of all rows when each has its own.
  assign dw.valid   = dw_i.valid && own_dw.valid;
  assign dw.sums    = add_dw_sums(dw_i.sums, own_dw.sums);
  assign dw_ready_o = own_dw.valid && dw_ready;

  // ---- Configuration of the SUPER's own part ----

  array_config_t cfg;
  logic          epoch_q, issuing_q;
  logic          take, start, finisher_busy, sending;
  logic          group_issued, replay_last, outer_last;

  assign take  = passes_i.epoch != epoch_q && !issuing_q && !finisher_busy && !sending;
  assign start = take && enable_i && (passes_i.offer.mode == ArrayFused ||
                                      passes_i.offer.mode == ArrayDepthwise);
  assign cfg            = passes_i.held[epoch_q];
  assign cfg_epoch_o[1] = epoch_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      epoch_q   <= 1'b0;
      issuing_q <= 1'b0;
    end else begin
      if (take) epoch_q <= passes_i.epoch;
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

  // ---- Depthwise words: made, kept, taken out again ----

  logic        full, reserve, write, available, read, free, rewind;
  word_t       write_data, word;
  logic        to_chain, chain_word_valid, chain_word_ready, table_any;
  logic [SetRows-1:0] word_valid;

  assign to_chain = cfg.shape.mode == ArrayDepthwise;

  dw_finisher u_finisher (
    .clk_i, .rst_ni,
    .cfg_i       (cfg.depthwise),
    .pixels_i    (cfg.shape.pixels),
    .enable_i    (issuing_q),
    .group_issued_o(group_issued),
    .busy_o      (finisher_busy),
    .epoch_i     (epoch_q),
    .table_valid_i(table_i.valid),
    .table_ready_o,
    .table_epoch_i(table_i.epoch),
    .table_data_i(table_i.data),
    .table_half_i(table_i.half),
    .table_any_o (table_any),
    .sums_valid_i(dw.valid),
    .sums_ready_o(dw_ready),
    .sums_i      (dw.sums),
    .full_i      (full),
    .reserve_o   (reserve),
    .write_o     (write),
    .write_data_o(write_data)
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

  word_sender u_sender (
    .clk_i, .rst_ni,
    .loops_i      (cfg.loops),
    .pixels_i     (cfg.shape.pixels),
    .to_chain_i   (to_chain),
    .start_i      (start),
    .busy_o       (sending),
    .available_i  (available),
    .read_o       (read),
    .free_o       (free),
    .rewind_o     (rewind),
    .word_valid_o (word_valid),
    .word_ready_i ({own_word_ready, words_ready_i}),
    .chain_valid_o(chain_word_valid),
    .chain_ready_i(chain_word_ready)
  );

  assign surplus_o = pe_surplus || (!issuing_q && table_any) ||
                     (table_i.valid &&
                      is_surplus(table_i.epoch, epoch_q, passes_i.epoch, issuing_q));

  assign own_word = '{valid: word_valid[SetRows-1], data: word};
  for (genvar row = 0; row < SetRows - 1; row++) begin : gen_word
    assign words_o[row] = '{valid: word_valid[row], data: word};
  end

  // ---- Words on the chain ----

  logic takes_word;

  assign takes_word       = chain.phase.word;
  assign chain_ready      = chain_ready_i && (!takes_word || chain_word_valid);
  assign chain_word_ready = chain.valid && takes_word && chain_ready_i;

  always_comb begin : insert_word
    chain_o       = chain;
    chain_o.valid = chain.valid && (!takes_word || chain_word_valid);
    if (takes_word) chain_o.sums[0] = sum_t'(word);
  end

  `EYRIE_STABLE(Chain, chain_o.valid, chain_ready_i, {chain_o.phase, chain_o.sums})
  `EYRIE_ASSERT_WHEN(WordsOfDepthwise, chain.valid && takes_word, !sending || to_chain,
      "a beat asks for a word of a fused pass")
  `EYRIE_ASSERT_WHEN(IssuingSends, issuing_q, sending, "words are made that nobody takes out")
  `EYRIE_ASSERT_WHEN(WordsEndWithPass, take, !available, "a pass ended with words left")

endmodule
