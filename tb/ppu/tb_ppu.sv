// SPDX-License-Identifier: Apache-2.0
// The PPU with its ports as plain variables, and a count of the cycles its beats took.
module tb_ppu #(
  parameter int unsigned COLS = 8
) (
  input  logic                                        clk_i,
  input  logic                                        rst_ni,

  input  logic [encoding_pkg::PpuConfigWidth-1:0]     cfg_i,
  input  logic [encoding_pkg::PpuFirstWidth-1:0]      first_i,
  input  logic [encoding_pkg::PpuSecondWidth-1:0]     second_i,
  input  logic [encoding_pkg::PpuResultWidth-1:0]     result_i,
  input  logic [4:0]                                  columns_i,
  input  logic                                        to_ppu_i,
  input  logic                                        elementwise_i,
  input  logic                                        pass_phase_i,
  output logic                                        pass_phase_o,

  input  logic                                        sums_valid_i,
  output logic                                        sums_ready_o,
  input  logic [64*COLS-1:0]                          sums_data_i,  // of a pixel, then of the next one
  input  logic [$bits(eyrie_pkg::drain_flags_t)-1:0]  sums_flags_i,

  input  logic                                        words_valid_i,
  output logic                                        words_ready_o,
  input  logic [127:0]                                words_data_i,
  input  logic [1:0]                                  words_lanes_i,
  input  logic                                        words_last_i,

  input  logic                                        parameters_valid_i,
  output logic                                        parameters_ready_o,
  input  logic                                        parameters_phase_i,
  input  logic [63:0]                                 parameters_data_i,

  input  logic                                        residual_valid_i,
  output logic                                        residual_ready_o,
  input  logic                                        residual_phase_i,
  input  logic [63:0]                                 residual_data_i,

  output logic                                        word_valid_o,
  input  logic                                        word_ready_i,
  output logic [127:0]                                word_data_o,  // of one pixel: the high half is 0
  output logic                                        word_two_o,
  output logic                                        word_last_o,

  output logic                                        overrun_o,  // has come

  output logic                                        busy_o,
  output logic                                        stall_o,
  output logic [31:0]                                 transfers_o,  // beats taken
  output logic [31:0]                                 stalls_o,     // cycles with stall_o
  output logic [31:0]                                 held_o,       // cycles in which a beat had to wait
  output logic [31:0]                                 span_o,       // cycles from first to last beat
  output logic [31:0]                                 last_o,       // cycles from a pass's first beat or word of the first operand to its last
  output logic [31:0]                                 tail_o        // cycles from last beat or word of the first operand to word
);

  eyrie_pkg::ppu_pass_t cfg;
  eyrie_pkg::ofmap_stream_t word;
  logic                 overrun;

  assign cfg = '{finish: cfg_i, first: first_i, second: second_i, result: result_i,
                 columns: columns_i, used: to_ppu_i, elementwise: elementwise_i};

  ppu #(
    .COLS(COLS)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cfg_i           (cfg),
    .pass_phase_i,
    .pass_phase_o,
    .sums_valid_i,
    .sums_ready_o,
    .sums_i          (sums_data_i),
    .flags_i         (sums_flags_i),
    .words_i         ({words_valid_i, words_last_i, words_lanes_i, words_data_i}),
    .words_ready_o,
    .parameters_i    ({parameters_valid_i, parameters_phase_i, parameters_data_i}),
    .parameters_ready_o,
    .residual_i      ({residual_valid_i, residual_phase_i, residual_data_i}),
    .residual_ready_o,
    .word_o          (word),
    .word_ready_i,
    .overrun_o       (overrun),
    .elementwise_o   (),
    .busy_o,
    .stall_o
  );

  assign word_valid_o = word.valid;
  assign word_last_o  = word.last;
  assign word_two_o   = word.two_pixels;
  assign word_data_o  = {word.two_pixels ? word.words[1] : 64'd0, word.words[0]};

  logic [31:0] cycle_q, first_q, begin_q;
  logic        fresh_q;  // nothing of the pass has entered

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {cycle_q, first_q, begin_q, transfers_o, stalls_o, held_o, span_o, last_o, tail_o} <= '0;
      overrun_o <= 1'b0;
      fresh_q   <= 1'b1;
    end else begin
      cycle_q   <= cycle_q + 1;
      overrun_o <= overrun_o || overrun;
      if (busy_o) begin
        transfers_o <= transfers_o + 1;
        span_o      <= (transfers_o == '0) ? 1 : cycle_q - first_q + 1;
        if (transfers_o == '0) first_q <= cycle_q;
        fresh_q <= 1'b0;
        last_o  <= fresh_q ? '0 : cycle_q - begin_q;
        if (fresh_q) begin_q <= cycle_q;
      end
      if (stall_o) stalls_o <= stalls_o + 1;
      if ((sums_valid_i && !sums_ready_o) || (u_dut.elementwise_o && words_valid_i && !words_ready_o)) begin
        held_o <= held_o + 1;
      end
      if (word_valid_o && word_ready_i) begin
        tail_o <= busy_o ? '0 : cycle_q - (first_q + span_o - 1);
        if (word_last_o) fresh_q <= 1'b1;
      end
    end
  end

endmodule
