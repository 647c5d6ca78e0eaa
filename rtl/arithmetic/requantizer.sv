// SPDX-License-Identifier: Apache-2.0
// From int32 sums to int8 activations, as TensorFlow Lite's reference kernels do it
// (MultiplyByQuantizedMultiplier, rounding twice), bit for bit:
//
//   result = clamp(zero_point + round(round((sum + bias) * 2^left * multiplier / 2^31) / 2^right))
//
// LANES sums at a time, which share multiplier, shift and tag; a beat of them every STEPS cycles at
// most, results Latency cycles after their inputs. STEPS is the number of cycles for which a
// multiplier works on a product: with 2 or 4 it is a half or a quarter of the size. All stages move
// together where enable_i is set and hold still where it is not; with enable_i low the inputs are
// not taken.
//
// shift_i: positive is `left`, negative is `right`, of either the low five bits. sum + bias and the
// left shift wrap to 32 bits, where the reference is undefined. multiplier_i is Q31 without its
// sign bit, so the one case in which the reference saturates does not exist. The reference has
// shifts of -31 to 30 and multipliers that are not negative; what others mean is said by
// `table_entries` of model/arithmetic.py.
//
// zero_point_i, act_min_i and act_max_i are not carried along: they act in the last stage and have
// to hold still from the cycle in which a value is taken until its result is at the output.
//
// Stages: bias and left shift; STEPS of the product, rounded to its high half; rounding right
// shift, zero point, clamp.
`include "assertions.svh"

module requantizer
  import eyrie_pkg::*;
#(
  parameter int unsigned LANES = 1,      // sums in a beat
  parameter int unsigned STEPS = 1,      // cycles of a product: 1, 2 or 4
  parameter int unsigned TAG_WIDTH = 1,  // bits that travel with a beat
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

  output logic                        valid_o,
  output logic [TAG_WIDTH-1:0]        tag_o,
  output logic signed [LANES-1:0][7:0] results_o
);

  localparam int unsigned Rows = 16 / STEPS;            // base-4 digits of the multiplier in a step
  localparam int unsigned HighWidth = 33;               // a product in progress, less what is done
  localparam logic signed [HighWidth-1:0] Half = 33'sh0_8000_0000;  // of the bits dropped in all
  localparam int unsigned ShiftedWidth = 9;  // beyond it every result is clamped

  // ---- What the lanes share ----

  logic [Latency:1]     valid_q;  // a beat is behind this stage
  logic [TAG_WIDTH-1:0] tag_q [1:3];
  logic [4:0]           left;
  logic [4:0]           right_q [1:2];
  logic [32:0]          multiplier_q;  // what is left of it; bit 0 is the one below
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

    assign biased = sums_i[lane] + biases_i[lane];

    // Rounding to the nearest is adding one half before the floor.
    booth_step #(.ROWS(Rows)) u_step (
      .value_i     (scaled_q),
      .multiplier_i(multiplier_q[2*Rows:0]),
      .addend_i    ((STEPS == 1 || product_begins) ? Half : high_q),
      .sum_o       (product)
    );

    rounding_shift #(.WIDTH(32), .RESULT_WIDTH(ShiftedWidth)) u_shift (
      .value_i(high_q[31:0]),
      .shift_i(right_q[2]),
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
        if (valid_i) scaled_q <= biased <<< left;
        high_q   <= HighWidth'(product >>> (2 * Rows));
        result_q <= clamped;
      end
    end

    assign results_o[lane] = result_q;
  end

  `EYRIE_STATIC(StepsKnown, STEPS == 1 || STEPS == 2 || STEPS == 4, "STEPS is not 1, 2 or 4")
  if (STEPS > 1) begin : gen_spacing
    `EYRIE_ASSERT_WHEN(TransfersApart, valid_i && enable_i, valid_q[STEPS-1:1] == '0,
        "a beat before the multipliers are done with the one before")
  end
  logic unused_sign;
  assign unused_sign = multiplier_i[31];

  `EYRIE_ASSERT_WHEN(OutputConfigHolds, |valid_q[Latency-1:1],
      $stable({zero_point_i, act_min_i, act_max_i}),
      "zero point or clamp changed with values in flight")
  `EYRIE_ASSERT_WHEN(ClampInOrder, valid_i, act_min_i <= act_max_i, "empty clamp range")
  `EYRIE_ASSERT_NEXT(HoldsWhileDisabled, !enable_i,
      $stable({valid_o, tag_o, results_o}), "moved while disabled")

endmodule
