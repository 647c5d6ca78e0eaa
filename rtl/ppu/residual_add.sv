// SPDX-License-Identifier: Apache-2.0
// Residual addition on packed words: TensorFlow Lite's reference int8 ADD (left shift 20), 8 lanes,
// one word per cycle.
//
// With result_i.enable a word leaves for each pair of a word and a residual word; the n-th of one
// belongs to the n-th of the other. Without, words pass combinationally and no residual word is
// taken. Configuration holds still while words are in flight. All 8 lanes are computed: bytes of
// channels that do not exist are not 0 afterwards.
//
//   addend = round((q - zero_point) * 2^20 * multiplier / 2^31) rounded-shifted right
//   output = requantize(first + second)
//
// Latency 2 stages (product; both roundings) and then those of the requantizer.
`include "assertions.svh"

module residual_add
  import eyrie_pkg::*;
(
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  encoding_pkg::ppu_addend_t        first_i,
  input  encoding_pkg::ppu_addend_t        second_i,
  input  encoding_pkg::ppu_add_result_t    result_i,

  input  logic                             word_valid_i,
  output logic                             word_ready_o,
  input  glb_word_t                        word_i,
  input  logic                             word_last_i,

  input  logic                             residual_valid_i,
  output logic                             residual_ready_o,
  input  glb_word_t                        residual_i,

  output logic                             word_valid_o,
  input  logic                             word_ready_i,
  output glb_word_t                        word_o,
  output logic                             word_last_o
);

  localparam int unsigned LeftShift = 20;
  localparam int unsigned Drop = 31 - LeftShift;  // bits of (q - zero_point) * multiplier dropped

  logic                           move, take;
  logic [2:1]                     valid_q, last_q;
  logic [BlockChannels-1:0]       lane_valid, lane_last;
  logic [BlockChannels-1:0][7:0]  lane_result;

  // All stages move unless a finished word waits.
  assign move             = !lane_valid[0] || word_ready_i;
  assign take             = result_i.enable && move && word_valid_i && residual_valid_i;
  assign word_ready_o     = result_i.enable ? move && residual_valid_i : word_ready_i;
  assign residual_ready_o = result_i.enable && move && word_valid_i;

  assign word_valid_o = result_i.enable ? lane_valid[0] : word_valid_i;
  assign word_o       = result_i.enable ? lane_result : word_i;
  assign word_last_o  = result_i.enable ? lane_last[0] : word_last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (move) valid_q <= {valid_q[1], take};
  end

  always_ff @(posedge clk_i) begin
    if (move) last_q <= {last_q[1], word_last_i};
  end

  for (genvar lane = 0; lane < int'(BlockChannels); lane++) begin : gen_lanes
    sum_t addend_q [2];

    for (genvar side = 0; side < 2; side++) begin : gen_addends
      encoding_pkg::ppu_addend_t parameters;
      logic [7:0]                value;
      logic signed [8:0]         difference;
      logic signed [40:0]        product_q;
      sum_t                      high, shifted;

      assign value      = (side == 0) ? word_i[8*lane +: 8] : residual_i[8*lane +: 8];
      assign parameters = (side == 0) ? first_i : second_i;
      assign difference = 9'($signed(value)) - 9'(parameters.zero_point);
      // Rounding to nearest: the floor, plus the highest bit dropped.
      assign high = 32'(product_q >>> Drop) + 32'($signed({1'b0, product_q[Drop-1]}));

      rounding_shift #(
        .WIDTH(32)
      ) u_shift (
        .value_i(high),
        .shift_i(parameters.right_shift),
        .value_o(shifted)
      );

      always_ff @(posedge clk_i) begin
        if (move) begin
          product_q      <= 41'(difference) * $signed({10'b0, parameters.multiplier});
          addend_q[side] <= shifted;
        end
      end
    end

    requantizer #(
      .TAG_WIDTH(1)
    ) u_requantizer (
      .clk_i,
      .rst_ni,
      .enable_i    (move),
      .zero_point_i(result_i.zero_point),
      .act_min_i   (result_i.act_min),
      .act_max_i   (result_i.act_max),
      .valid_i     (valid_q[2]),
      .tag_i       (last_q[2]),
      .sum_i       (addend_q[0]),
      .bias_i      (addend_q[1]),
      .multiplier_i({1'b0, result_i.multiplier}),
      .shift_i     (-8'($signed({1'b0, result_i.right_shift}))),
      .valid_o     (lane_valid[lane]),
      .tag_o       (lane_last[lane]),
      .result_o    (lane_result[lane])
    );
  end

  `EYRIE_ASSERT(LanesTogether,
                lane_valid == {8{lane_valid[0]}} &&
                (!lane_valid[0] || lane_last == {8{lane_last[0]}}),
                "lanes out of step")
  `EYRIE_ASSERT_WHEN(ConfigHolds, |{valid_q, lane_valid},
      $stable({first_i, second_i, result_i}), "configuration changed with words in flight")
  `EYRIE_STABLE(ResidualStable, residual_valid_i, residual_ready_o, residual_i)
  `EYRIE_STABLE(WordStable, word_valid_o, word_ready_i, {word_o, word_last_o})
  `EYRIE_ASSERT_WHEN(TakenTogether, result_i.enable,
      (word_valid_i && word_ready_o) == (residual_valid_i && residual_ready_o),
      "a word without its residual")

endmodule
