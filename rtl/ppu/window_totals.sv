// SPDX-License-Identifier: Apache-2.0
// Sums, maxima or minima over windows of GLB words, for each of the 8 channels. A window has size_i
// words; the last word of a pass ends its window.
//
// It accepts one word per cycle; the totals of a window are there one cycle after its last word.
// operation_i and size_i are stable from the first word of a pass until its last totals have left.
`include "assertions.svh"

module window_totals
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  localparam int unsigned SizeWidth = 19,
  localparam int unsigned TotalWidth = SizeWidth + 8
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  operation_e                       operation_i,  // SUM, MAXIMUM or MINIMUM
  input  logic [SizeWidth-1:0]             size_i,

  input  logic                             word_valid_i,
  output logic                             word_ready_o,
  input  glb_word_t                        word_i,
  input  logic                             word_last_i,

  output logic                             totals_valid_o,
  input  logic                             totals_ready_i,
  output logic signed [BlockChannels-1:0][TotalWidth-1:0] totals_o,
  output logic                             totals_last_o   // of the last window of a pass
);

  typedef logic signed [TotalWidth-1:0] total_t;

  logic [SizeWidth-1:0] left_q;          // words of the window left
  logic                 begun_q;         // the window has begun
  logic                 full_q, last_q;  // the totals are complete; of the last window
  logic                 push, ends;

  assign totals_valid_o = full_q;
  assign totals_last_o  = last_q;
  assign word_ready_o   = !full_q || totals_ready_i;
  assign push           = word_valid_i && word_ready_o;
  assign ends           = word_last_i || (begun_q ? left_q : size_i) == SizeWidth'(1);

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
      last_q <= word_last_i;
    end
  end

  for (genvar channel = 0; channel < int'(BlockChannels); channel++) begin : gen_channel
    total_t value, total_q;
    logic   replaces;  // the value replaces the total

    assign value = total_t'($signed(word_i[8*channel +: 8]));

    always_comb begin : choose
      unique case (operation_i)
        OperationMaximum: replaces = $signed(value[7:0]) > $signed(total_q[7:0]);
        default:          replaces = $signed(value[7:0]) < $signed(total_q[7:0]);
      endcase
    end

    always_ff @(posedge clk_i) begin
      if (push) begin
        if (!begun_q) total_q <= value;
        else if (operation_i == OperationSum) total_q <= total_q + value;
        else if (replaces) total_q <= value;
      end
    end

    assign totals_o[channel] = total_q;
  end

  `EYRIE_ASSERT_WHEN(SizeKnown, word_valid_i, size_i != '0, "a window of no words")
  `EYRIE_STABLE(Totals, totals_valid_o, totals_ready_i, {totals_o, totals_last_o})
  `EYRIE_COVER(Waits, word_valid_i && !word_ready_o)

endmodule
