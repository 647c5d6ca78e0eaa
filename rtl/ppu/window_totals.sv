// SPDX-License-Identifier: Apache-2.0
// Sums, maxima or minima over windows of GLB words, for each of the 8 channels. A window has size_i
// transfers of one word or two; the last transfer of a pass ends its window.
//
// It accepts a transfer per cycle; the totals of a window are there one cycle after its last one.
// operation_i and size_i are stable from the first word of a pass until its last totals have left.
`include "assertions.svh"

module window_totals
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  localparam int unsigned SizeWidth = 19,
  localparam int unsigned TotalWidth = SizeWidth + 9
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  operation_e                       operation_i,  // SUM, MAXIMUM or MINIMUM
  input  logic [SizeWidth-1:0]             size_i,

  input  logic                             words_valid_i,
  output logic                             words_ready_o,
  input  glb_word_t [1:0]                  words_i,
  input  logic [1:0]                       lanes_i,  // words that are valid, at least one
  input  logic                             words_last_i,

  output logic                             totals_valid_o,
  input  logic                             totals_ready_i,
  output logic signed [BlockChannels-1:0][TotalWidth-1:0] totals_o,
  output logic                             totals_last_o   // of the last window of a pass
);

  typedef logic signed [TotalWidth-1:0] total_t;

  logic [SizeWidth-1:0] left_q;          // transfers of the window left
  logic                 begun_q;         // the window has begun
  logic                 full_q, last_q;  // the totals are complete; of the last window
  logic                 push, ends;

  assign totals_valid_o = full_q;
  assign totals_last_o  = last_q;
  assign words_ready_o  = !full_q || totals_ready_i;
  assign push           = words_valid_i && words_ready_o;
  assign ends           = words_last_i || (begun_q ? left_q : size_i) == SizeWidth'(1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      full_q  <= 1'b0;
    end else begin
      if (push) begun_q <= !ends;
      if (push && ends) full_q <= 1'b1;
      else if (totals_ready_i) full_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) begin
      left_q <= (begun_q ? left_q : size_i) - 1'b1;
      last_q <= words_last_i;
    end
  end

  for (genvar channel = 0; channel < int'(BlockChannels); channel++) begin : gen_channel
    logic signed [7:0] values [2];
    logic signed [8:0] value;     // of the transfer
    total_t            total_q;
    logic              replaces;  // the value replaces the total

    assign values = '{words_i[0][8*channel +: 8], words_i[1][8*channel +: 8]};

    always_comb begin : join_lanes
      if (lanes_i != 2'b11) value = 9'(values[lanes_i[1]]);
      else if (operation_i == OperationSum) value = 9'(values[0]) + 9'(values[1]);
      else value = 9'(values[(operation_i == OperationMaximum) == (values[1] > values[0])]);
    end

    assign replaces = (operation_i == OperationMaximum)
        ? $signed(value[7:0]) > $signed(total_q[7:0])
        : $signed(value[7:0]) < $signed(total_q[7:0]);

    always_ff @(posedge clk_i) begin
      if (push) begin
        if (!begun_q) total_q <= total_t'(value);
        else if (operation_i == OperationSum) total_q <= total_q + total_t'(value);
        else if (replaces) total_q <= total_t'(value);
      end
    end

    assign totals_o[channel] = total_q;
  end

  `EYRIE_ASSERT_WHEN(SizeKnown, words_valid_i, size_i != '0, "a window of no words")
  `EYRIE_ASSERT_WHEN(SomeWord, words_valid_i, lanes_i != '0, "a transfer of no words")
  `EYRIE_STABLE(Totals, totals_valid_o, totals_ready_i, {totals_o, totals_last_o})
  `EYRIE_COVER(Waits, words_valid_i && !words_ready_o)

endmodule
