// SPDX-License-Identifier: Apache-2.0
// Sums, maxima or minima over windows of GLB words, for each of the 8 channels. A window has size_i
// words; the last word of a pass ends its window.
//
// The result of a window leaves in halves, channels 0 to 3, then 4 to 7. The words of the next
// window can arrive while the second half waits. It accepts one word per cycle; a window of one
// word takes two cycles. operation_i and size_i are stable from the first word of a pass until its
// last half has left.

`include "assertions.svh"

module window_totals
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  localparam int unsigned Lanes = BlockChannels / 2,
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

  output logic                             half_valid_o,
  input  logic                             half_ready_i,
  output logic [Lanes-1:0][TotalWidth-1:0] half_o,
  output logic                             half_high_o,
  output logic                             half_last_o   // the last window of a pass
);

  typedef logic signed [TotalWidth-1:0] total_t;

  total_t               total_q [BlockChannels];
  total_t               high_q  [Lanes];        // high half of the finished window
  logic [SizeWidth-1:0] left_q;                 // words of the window left
  logic                 begun_q;                // the window has begun
  logic                 full_q, last_q;         // the totals are complete; of the last window
  logic                 high_full_q, high_last_q;
  logic                 push, pop_low, ends;

  assign half_valid_o = full_q || high_full_q;
  assign half_high_o  = high_full_q;
  assign half_last_o  = high_full_q ? high_last_q : last_q;
  assign pop_low      = half_ready_i && full_q && !high_full_q;
  assign word_ready_o = !full_q || pop_low;
  assign push         = word_valid_i && word_ready_o;
  assign ends         = word_last_i || (begun_q ? left_q : size_i) == SizeWidth'(1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q     <= 1'b0;
      full_q      <= 1'b0;
      high_full_q <= 1'b0;
    end else begin
      if (push) begun_q <= !ends;
      if (push && ends) full_q <= 1'b1;
      else if (pop_low) full_q <= 1'b0;
      if (pop_low) high_full_q <= 1'b1;
      else if (half_ready_i) high_full_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) begin
      left_q <= (begun_q ? left_q : size_i) - 1'b1;
      last_q <= word_last_i;
    end
    if (pop_low) high_last_q <= last_q;
  end

  for (genvar channel = 0; channel < int'(BlockChannels); channel++) begin : gen_channel
    total_t value, sum;
    logic   replaces;  // the value replaces the total

    assign value = total_t'($signed(word_i[8*channel +: 8]));
    assign sum   = total_q[channel] + value;

    always_comb begin : choose
      unique case (operation_i)
        OperationMaximum: replaces = $signed(value[7:0]) > $signed(total_q[channel][7:0]);
        default:          replaces = $signed(value[7:0]) < $signed(total_q[channel][7:0]);
      endcase
    end

    always_ff @(posedge clk_i) begin
      if (push) begin
        if (!begun_q) total_q[channel] <= value;
        else if (operation_i == OperationSum) total_q[channel] <= sum;
        else if (replaces) total_q[channel] <= value;
      end
    end
  end

  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lane
    always_ff @(posedge clk_i) begin
      if (pop_low) high_q[lane] <= total_q[lane+int'(Lanes)];
    end
    assign half_o[lane] = high_full_q ? high_q[lane] : total_q[lane];
  end

  `EYRIE_ASSERT_WHEN(SizeKnown, word_valid_i, size_i != '0, "a window of no words")
  `EYRIE_STABLE(Half, half_valid_o, half_ready_i, {half_o, half_high_o, half_last_o})
  `EYRIE_COVER(Waits, word_valid_i && !word_ready_o)

endmodule
