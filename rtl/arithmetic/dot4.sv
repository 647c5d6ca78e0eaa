// SPDX-License-Identifier: Apache-2.0
// The multipliers of a PE: 4 products of a 9-bit activation and a 9-bit weight, and their sum. Both
// operands are -255 to 255, so a product has 17 bits and a sum 19.
//
// An operand word is accepted when valid_i && ready_o. MULTIPLIERS = 4 computes all products in the
// next cycle, one word per cycle. MULTIPLIERS = 1 computes them one by one, one word in four
// cycles. valid_o marks the cycle in which products_o and sum_o belong to the word.
//
// Zero skipping: the product of a zero operand is masked to zero, and the input registers of its
// multiplier keep their values. zero_skipped_o counts these lanes. It is valid with counted_o, one
// cycle after the word is accepted.

`include "assertions.svh"

module dot4
  import eyrie_pkg::*;
#(
  parameter int unsigned MULTIPLIERS = 4  // multipliers of a PE: 1 or 4
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  logic                                     valid_i,
  output logic                                     ready_o,
  input  logic [WordChannels-1:0][8:0]             activations_i,
  input  logic [WordChannels-1:0][8:0]             weights_i,
  output logic                                     valid_o,
  output logic signed [WordChannels-1:0][16:0]     products_o,
  output logic signed [18:0]                       sum_o,
  output logic                                     counted_o,
  output logic [2:0]                               zero_skipped_o
);

  logic [WordChannels-1:0] nonzero, nonzero_q;
  logic                    accept;

  assign accept = valid_i && ready_o;

  always_comb begin : find_zeros
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      nonzero[lane] = activations_i[lane] != '0 && weights_i[lane] != '0;
    end
  end

  always_comb begin : count_skipped
    zero_skipped_o = '0;
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      if (counted_o && !nonzero_q[lane]) zero_skipped_o += 3'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) nonzero_q <= nonzero;
  end

  if (MULTIPLIERS == WordChannels) begin : gen_parallel
    logic                                valid_q;
    logic signed [8:0]                   activation_q [WordChannels];
    logic signed [8:0]                   weight_q     [WordChannels];

    assign ready_o   = 1'b1;
    assign valid_o   = valid_q;
    assign counted_o = valid_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else         valid_q <= accept;
    end

    for (genvar lane = 0; lane < WordChannels; lane++) begin : gen_lane
      always_ff @(posedge clk_i) begin
        if (accept && nonzero[lane]) begin
          activation_q[lane] <= activations_i[lane];
          weight_q[lane]     <= weights_i[lane];
        end
      end
      assign products_o[lane] = nonzero_q[lane] ? 17'(activation_q[lane] * weight_q[lane]) : '0;

      `EYRIE_ASSERT_WHEN(SkipsZeros, valid_q, (products_o[lane] != '0) == nonzero_q[lane],
          "a skipped product is not zero, or a zero product is not skipped")
    end
  end else begin : gen_serial
    localparam logic [1:0] LastLane = 2'(WordChannels - 1);

    logic                               busy_q;
    logic [1:0]                         lane_q;
    logic [WordChannels-1:0][8:0]       activations_q;
    logic [WordChannels-1:0][8:0]       weights_q;
    logic signed [16:0]                 product;
    logic [WordChannels-1:0][16:0]      products_q;

    // Operands of the multiplier. They change only for products that are not zero.
    logic signed [8:0] activation_q, activation;
    logic signed [8:0] weight_q, weight;

    assign ready_o    = !busy_q || lane_q == LastLane;
    assign valid_o    = busy_q && lane_q == LastLane;
    assign counted_o  = busy_q && lane_q == '0;
    assign activation = nonzero_q[lane_q] ? $signed(activations_q[lane_q]) : activation_q;
    assign weight     = nonzero_q[lane_q] ? $signed(weights_q[lane_q]) : weight_q;
    assign product    = nonzero_q[lane_q] ? 17'(activation * weight) : '0;

    always_comb begin : gather_products
      products_o           = products_q;
      products_o[LastLane] = product;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        busy_q <= 1'b0;
        lane_q <= '0;
      end else if (accept) begin
        busy_q <= 1'b1;
        lane_q <= '0;
      end else if (busy_q) begin
        busy_q <= lane_q != LastLane;
        lane_q <= lane_q + 2'd1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (accept) begin
        activations_q <= activations_i;
        weights_q     <= weights_i;
      end
      if (busy_q) begin
        products_q[lane_q] <= product;
        activation_q       <= activation;
        weight_q           <= weight;
      end
    end

    `EYRIE_ASSERT_WHEN(SkipsZeros, busy_q, (product != '0) == nonzero_q[lane_q],
        "a skipped product is not zero, or a zero product is not skipped")
  end

  always_comb begin : add_products
    sum_o = '0;
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      sum_o += 19'($signed(products_o[lane]));
    end
  end

  `EYRIE_STATIC(MultipliersKnown, MULTIPLIERS == WordChannels || MULTIPLIERS == 1,
      "MULTIPLIERS is neither 1 nor 4")

endmodule
