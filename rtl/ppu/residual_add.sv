// SPDX-License-Identifier: Apache-2.0
// Residual addition on packed words: TensorFlow Lite's reference int8 ADD (left shift 20), a word
// every two cycles: 4 lanes take the channels of its low half, then those of its high half.
//
// With result_i.enable a word leaves for each pair of a word and a residual word; the n-th of one
// belongs to the n-th of the other. Without, words pass combinationally and no residual word is
// taken. Configuration holds still while words are in flight. All 8 channels are computed: bytes of
// channels that do not exist are not 0 afterwards.
//
//   addend = round((q - zero_point) * 2^20 * multiplier / 2^31) rounded-shifted right
//   output = requantize(first + second)
//
// Stages: difference to the zero point; product, rounded to its high part; right shift; those of
// the requantizer. The low half's results wait for those of the high half.
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

  localparam int unsigned Lanes = BlockChannels / 2;
  localparam int unsigned Stages = 3;             // before the requantizer
  localparam int unsigned LeftShift = 20;
  localparam int unsigned Drop = 31 - LeftShift;  // bits of (q - zero_point) * multiplier dropped
  localparam int unsigned Rows = 5;               // base-4 digits of a difference of 9 bits
  localparam int unsigned HighWidth = 29;         // 255 * 2^31 without the bits dropped

  typedef struct packed {
    logic high;  // half of a word
    logic last;  // word of a pass
  } tag_t;

  logic                  move, take, both;
  logic                  high_q;  // the half that is taken next
  logic [Stages:1]       valid_q;
  tag_t                  tag_q [1:Stages];
  logic                  lanes_valid;
  tag_t                  lanes_tag;
  logic [Lanes-1:0][7:0] lane_result, low_q;
  sum_t [Lanes-1:0]      addend_q [2];

  // All stages move unless a finished word waits.
  assign move             = !(lanes_valid && lanes_tag.high) || word_ready_i;
  assign both             = word_valid_i && residual_valid_i;
  assign take             = result_i.enable && move && both;
  assign word_ready_o     = result_i.enable ? move && residual_valid_i && high_q : word_ready_i;
  assign residual_ready_o = result_i.enable && move && word_valid_i && high_q;

  assign word_valid_o = result_i.enable ? lanes_valid && lanes_tag.high : word_valid_i;
  assign word_o       = result_i.enable ? {lane_result, low_q} : word_i;
  assign word_last_o  = result_i.enable ? lanes_tag.last : word_last_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      high_q  <= 1'b0;
      valid_q <= '0;
    end else if (move) begin
      if (take) high_q <= !high_q;
      valid_q <= {valid_q[Stages-1:1], take};
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      tag_q[1] <= '{high: high_q, last: word_last_i};
      for (int unsigned stage = 2; stage <= Stages; stage++) tag_q[stage] <= tag_q[stage-1];
      if (lanes_valid) low_q <= lane_result;
    end
  end

  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lanes
    for (genvar side = 0; side < 2; side++) begin : gen_addends
      encoding_pkg::ppu_addend_t     parameters;
      logic [1:0][7:0]               values;  // of the two halves
      logic signed [8:0]             difference_q;
      logic signed [2*Rows+32:0]     product;
      logic signed [HighWidth-1:0]   high_part_q;
      logic signed [HighWidth:0]     shifted;

      assign parameters = (side == 0) ? first_i : second_i;
      for (genvar half = 0; half < 2; half++) begin : gen_halves
        assign values[half] = (side == 0) ? word_i[8*(lane+half*Lanes) +: 8]
                                          : residual_i[8*(lane+half*Lanes) +: 8];
      end

      // Twice the product; one half of what is dropped is added: rounding to the nearest.
      booth_step #(.ROWS(Rows)) u_product (
        .value_i     ({1'b0, parameters.multiplier}),
        .multiplier_i({difference_q[8], difference_q, 1'b0}),
        .addend_i    (33'(1) << Drop),
        .sum_o       (product)
      );

      rounding_shift #(.WIDTH(HighWidth), .RESULT_WIDTH(HighWidth)) u_shift (
        .value_i(high_part_q),
        .shift_i(parameters.right_shift),
        .value_o(shifted)
      );

      always_ff @(posedge clk_i) begin
        if (move) begin
          difference_q         <= 9'($signed(values[high_q])) - 9'(parameters.zero_point);
          high_part_q          <= HighWidth'(product >>> (Drop + 1));
          addend_q[side][lane] <= sum_t'(shifted);
        end
      end
    end
  end

  requantizer #(
    .LANES    (Lanes),
    .TAG_WIDTH($bits(tag_t))
  ) u_requantizer (
    .clk_i,
    .rst_ni,
    .enable_i    (move),
    .zero_point_i(result_i.zero_point),
    .act_min_i   (result_i.act_min),
    .act_max_i   (result_i.act_max),
    .valid_i     (valid_q[Stages]),
    .tag_i       (tag_q[Stages]),
    .sums_i      (addend_q[0]),
    .biases_i    (addend_q[1]),
    .multiplier_i({1'b0, result_i.multiplier}),
    .shift_i     (-8'($signed({1'b0, result_i.right_shift}))),
    .valid_o     (lanes_valid),
    .tag_o       (lanes_tag),
    .results_o   (lane_result)
  );

  `EYRIE_ASSERT_WHEN(ConfigHolds, |{valid_q, lanes_valid},
      $stable({first_i, second_i, result_i}), "configuration changed with words in flight")
  `EYRIE_STABLE(ResidualStable, residual_valid_i, residual_ready_o, residual_i)
  `EYRIE_STABLE(WordStable, word_valid_o, word_ready_i, {word_o, word_last_o})
  `EYRIE_ASSERT_WHEN(TakenTogether, result_i.enable,
      (word_valid_i && word_ready_o) == (residual_valid_i && residual_ready_o),
      "a word without its residual")
  `EYRIE_ASSERT_WHEN(HalvesInTurn, !result_i.enable, !high_q, "a word left by half")

endmodule
