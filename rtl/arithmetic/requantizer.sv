// SPDX-License-Identifier: Apache-2.0
// From an int32 sum to an int8 activation, as TensorFlow Lite's reference kernels do it
// (MultiplyByQuantizedMultiplier, rounding twice), bit for bit:
//
//   result = clamp(zero_point + round(round((sum + bias) * 2^left * multiplier / 2^31) / 2^right))
//
// One result per cycle, Latency cycles after its inputs; tag_i travels along. All stages move
// together where enable_i is set and hold still where it is not, so lanes that share enable_i stay
// in step; with enable_i low the inputs are not taken.
//
// shift_i is -31 to 30: positive is `left`, negative is `right`. sum + bias and the left shift wrap
// to 32 bits, where the reference is undefined. multiplier_i is Q31 and not negative, so the one
// case in which the reference saturates does not exist.
//
// zero_point_i, act_min_i and act_max_i are not carried along: they act in the last stage and have
// to hold still from the cycle in which a value is taken until its result is at the output.
//
// Stages: 1 bias and left shift, 2 product, 3 rounded high half, 4 rounding right shift, zero
// point, clamp.
`include "assertions.svh"

module requantizer
  import eyrie_pkg::*;
#(
  parameter int unsigned TAG_WIDTH = 1,  // bits that travel with a value
  localparam int unsigned Latency = 4
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 enable_i,

  input  logic signed [7:0]    zero_point_i,
  input  logic signed [7:0]    act_min_i,
  input  logic signed [7:0]    act_max_i,

  input  logic                 valid_i,
  input  logic [TAG_WIDTH-1:0] tag_i,
  input  sum_t                 sum_i,
  input  sum_t                 bias_i,
  input  logic signed [31:0]   multiplier_i,
  input  logic signed [7:0]    shift_i,

  output logic                 valid_o,
  output logic [TAG_WIDTH-1:0] tag_o,
  output logic signed [7:0]    result_o
);

  // Results of stages 1 to Latency.
  logic [Latency:1]     valid_q;
  logic [TAG_WIDTH-1:0] tag_q [1:Latency];
  logic [4:0]           right_q [1:Latency-1];

  sum_t               biased, scaled_q, high_q, shifted;
  logic [30:0]        multiplier_q;
  logic signed [32:0] product_q;  // bits 62 to 30 of the product
  logic signed [32:0] offset;
  logic signed [7:0]  clamped, result_q;

  assign biased = sum_i + bias_i;

  rounding_shift #(
    .WIDTH(32)
  ) u_shift (
    .value_i(high_q),
    .shift_i(right_q[Latency-1]),
    .value_o(shifted)
  );

  assign offset = 33'(shifted) + 33'(zero_point_i);

  always_comb begin : clamp
    clamped = offset[7:0];
    if (offset < 33'(act_min_i)) clamped = act_min_i;
    else if (offset > 33'(act_max_i)) clamped = act_max_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (enable_i) valid_q <= {valid_q[Latency-1:1], valid_i};
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      tag_q[1]   <= tag_i;
      right_q[1] <= shift_i[7] ? 5'(-shift_i) : '0;
      for (int unsigned stage = 2; stage <= Latency; stage++) tag_q[stage] <= tag_q[stage-1];
      for (int unsigned stage = 2; stage < Latency; stage++) right_q[stage] <= right_q[stage-1];

      scaled_q     <= biased <<< (shift_i[7] ? 5'd0 : shift_i[4:0]);
      multiplier_q <= multiplier_i[30:0];
      product_q    <= 33'((63'(scaled_q) * $signed({32'b0, multiplier_q})) >>> 30);
      // Adding one half and dropping 31 bits is adding the highest of the dropped bits.
      high_q       <= product_q[32:1] + 32'($signed({1'b0, product_q[0]}));
      result_q     <= clamped;
    end
  end

  assign valid_o  = valid_q[Latency];
  assign tag_o    = tag_q[Latency];
  assign result_o = result_q;

  `EYRIE_ASSERT_WHEN(MultiplierNotNegative, valid_i, !multiplier_i[31], "negative multiplier")
  `EYRIE_ASSERT_WHEN(ShiftInRange, valid_i,
      (shift_i >= -31) && (shift_i <= 30), "shift is not -31 to 30")
  `EYRIE_ASSERT_WHEN(OutputConfigHolds, |valid_q[Latency-1:1],
      $stable({zero_point_i, act_min_i, act_max_i}),
      "zero point or clamp changed with values in flight")
  `EYRIE_ASSERT_WHEN(ClampInOrder, valid_i, act_min_i <= act_max_i, "empty clamp range")
  `EYRIE_ASSERT_NEXT(HoldsWhileDisabled, !enable_i,
      $stable({valid_o, tag_o, result_o}), "moved while disabled")

endmodule
