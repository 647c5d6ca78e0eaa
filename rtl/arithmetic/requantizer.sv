// SPDX-License-Identifier: Apache-2.0
// Converts int32 sums to int8 activations, bit for bit like the reference kernels of TensorFlow
// Lite (MultiplyByQuantizedMultiplier, which rounds twice):
//
//   result = clamp(zero_point + round(round((sum + bias) * 2^left * multiplier / 2^31) / 2^right))
//
// A transfer has LANES sums, which share multiplier, shift and tag. It takes one transfer every
// STEPS cycles at most; results follow Latency cycles after their inputs. STEPS is the number of
// cycles that a multiplier spends on a product: 2 or 4 steps make it a half or a quarter of the
// size. All stages move together while enable_i is high. While enable_i is low, they hold and no
// input is accepted.
//
// A positive shift_i is `left`, a negative one is `right`; only the low five bits of each count.
// sum + bias and the left shift wrap at 32 bits, where the reference is undefined. multiplier_i is
// Q31 without its sign bit, so the reference never saturates. The reference has shifts of -31 to 30
// and multipliers that are not negative; `table_entries` of model/arithmetic.py defines all other
// values.
//
// With FACTORS 2, the factor of lanes with second_i is second_multiplier_i / 2^(31 +
// second_right_shift_i).
//
// zero_point_i, act_min_i, act_max_i and the second factor are not pipelined. They must be stable
// from the cycle that accepts a value until its result is at the output.
//
// Stages: bias and left shift; STEPS stages of the product, rounded to its high half; rounding
// right shift, zero point and clamp.
`include "assertions.svh"

module requantizer
  import eyrie_pkg::*;
#(
  parameter int unsigned LANES = 1,      // sums in a transfer
  parameter int unsigned STEPS = 1,      // cycles per product: 1, 2 or 4
  parameter int unsigned FACTORS = 1,    // 1 or 2; 2 need a STEPS of 1
  parameter int unsigned TAG_WIDTH = 1,  // bits that travel with a transfer
  localparam int unsigned Latency = STEPS + 2
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        enable_i,

  input  logic signed [7:0]           zero_point_i,
  input  logic signed [7:0]           act_min_i,
  input  logic signed [7:0]           act_max_i,

  input  logic                        valid_i,
  input  logic [TAG_WIDTH-1:0]        tag_i,
  input  sum_t [LANES-1:0]            sums_i,
  input  sum_t [LANES-1:0]            biases_i,
  input  logic signed [31:0]          multiplier_i,
  input  logic signed [7:0]           shift_i,
  input  logic [LANES-1:0]            second_i,
  input  logic [30:0]                 second_multiplier_i,
  input  logic [4:0]                  second_right_shift_i,

  output logic                        valid_o,
  output logic [TAG_WIDTH-1:0]        tag_o,
  output logic signed [LANES-1:0][7:0] results_o
);

  localparam int unsigned Rows = 16 / STEPS;            // base-4 digits of the multiplier per step
  localparam int unsigned HighWidth = 33;               // the part of a product that is left
  localparam logic signed [HighWidth-1:0] Half = 33'sh0_8000_0000;  // half of what is dropped
  localparam int unsigned ShiftedWidth = 9;  // all larger values are clamped

  // ---- Control shared by the lanes ----

  logic [Latency:1]     valid_q;  // a transfer has left this stage
  logic [TAG_WIDTH-1:0] tag_q [1:3];
  logic [4:0]           left;
  logic [4:0]           right_q [1:2];
  logic [32:0]          multiplier_q;  // remaining bits; bit 0 is the bit below them
  logic                 product_begins, product_ends;

  assign left           = shift_i[7] ? 5'd0 : shift_i[4:0];
  assign product_begins = valid_q[1];
  assign product_ends   = valid_q[STEPS];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (enable_i) valid_q <= {valid_q[Latency-1:1], valid_i};
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      multiplier_q <= multiplier_q >> (2 * Rows);
      if (valid_i) begin
        tag_q[1]     <= tag_i;
        right_q[1]   <= shift_i[7] ? 5'(-shift_i) : '0;
        multiplier_q <= {1'b0, multiplier_i[30:0], 1'b0};
      end
      if (product_ends) begin
        tag_q[2]   <= tag_q[1];
        right_q[2] <= right_q[1];
      end
      tag_q[3] <= tag_q[2];
    end
  end

  assign valid_o = valid_q[Latency];
  assign tag_o   = tag_q[3];

  // ---- Lanes ----

  for (genvar lane = 0; lane < int'(LANES); lane++) begin : gen_lane
    sum_t                           biased, scaled_q;
    logic signed [HighWidth-1:0]    high_q;
    logic signed [2*Rows+32:0]      product;
    logic signed [ShiftedWidth:0]   shifted;
    logic signed [ShiftedWidth+1:0] offset;
    logic signed [7:0]              clamped, result_q;
    logic [2:1]                     second_q;  // the sum of this stage has the second factor
    logic [2*Rows:0]                digits;

    assign biased = sums_i[lane] + biases_i[lane];

    if (FACTORS == 1) begin : gen_one_factor
      assign second_q = '0;
    end else begin : gen_two_factors
      always_ff @(posedge clk_i) begin
        if (enable_i) second_q <= {second_q[1], second_i[lane]};
      end
    end

    assign digits = second_q[1] ? (2 * Rows + 1)'({1'b0, second_multiplier_i, 1'b0})
                                : multiplier_q[2*Rows:0];

    // Adding one half before the floor rounds to the nearest.
    booth_step #(.ROWS(Rows)) u_step (
      .value_i     (scaled_q),
      .multiplier_i(digits),
      .addend_i    ((STEPS == 1 || product_begins) ? Half : high_q),
      .sum_o       (product)
    );

    rounding_shift #(.WIDTH(32), .RESULT_WIDTH(ShiftedWidth)) u_shift (
      .value_i(high_q[31:0]),
      .shift_i(second_q[2] ? second_right_shift_i : right_q[2]),
      .value_o(shifted)
    );

    assign offset = (ShiftedWidth + 2)'(shifted) + (ShiftedWidth + 2)'(zero_point_i);

    always_comb begin : clamp
      clamped = offset[7:0];
      if (offset < (ShiftedWidth + 2)'(act_min_i)) clamped = act_min_i;
      else if (offset > (ShiftedWidth + 2)'(act_max_i)) clamped = act_max_i;
    end

    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        if (valid_i) scaled_q <= biased <<< (FACTORS == 2 && second_i[lane] ? 5'd0 : left);
        high_q   <= HighWidth'(product >>> (2 * Rows));
        result_q <= clamped;
      end
    end

    assign results_o[lane] = result_q;
  end

  `EYRIE_STATIC(StepsKnown, STEPS == 1 || STEPS == 2 || STEPS == 4, "STEPS is not 1, 2 or 4")
  `EYRIE_STATIC(FactorsKnown, FACTORS == 1 || FACTORS == 2 && STEPS == 1, "no such FACTORS")
  if (STEPS > 1) begin : gen_spacing
    `EYRIE_ASSERT_WHEN(TransfersApart, valid_i && enable_i, valid_q[STEPS-1:1] == '0,
        "a transfer while the multipliers are busy")
  end
  logic unused_bits;
  assign unused_bits = ^{multiplier_i[31], second_i, second_multiplier_i, second_right_shift_i};

  `EYRIE_ASSERT_WHEN(OutputConfigHolds, |valid_q[Latency-1:1],
      $stable({zero_point_i, act_min_i, act_max_i, second_multiplier_i, second_right_shift_i}),
      "zero point, clamp or second factor changes with values in flight")
  `EYRIE_ASSERT_WHEN(ClampInOrder, valid_i, act_min_i <= act_max_i, "empty clamp range")
  `EYRIE_ASSERT_NEXT(HoldsWhileDisabled, !enable_i,
      $stable({valid_o, tag_o, results_o}), "an output changes while disabled")

endmodule
