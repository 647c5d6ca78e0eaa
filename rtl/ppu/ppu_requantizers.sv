// SPDX-License-Identifier: Apache-2.0
// The requantizers of the PPU: lanes of the first pixel, and lanes of the second pixel, which
// convert the results of the operation in passes with one. Such passes have no second pixel.
//
// Both pixels of a transfer share bias, multiplier, shift and flags, and move while enable_i is
// high. The sums of the operation have one of two factors of their own, zero point and clamp, and
// move while operation_enable_i is high. operates_i, zero points and clamps change only between
// passes.
module ppu_requantizers
  import eyrie_pkg::*;
#(
  parameter int unsigned COLS = 8  // PE columns
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    operates_i,  // the pass has an operation

  input  logic signed [7:0]       zero_point_i,
  input  logic signed [7:0]       act_min_i,
  input  logic signed [7:0]       act_max_i,
  input  logic                    enable_i,
  input  logic                    valid_i,
  input  drain_flags_t            flags_i,
  input  sum_t [1:0][COLS-1:0]    sums_i,
  input  sum_t                    bias_i,
  input  logic signed [31:0]      multiplier_i,
  input  logic signed [7:0]       shift_i,
  output logic                    valid_o,
  output drain_flags_t            flags_o,
  output logic [1:0][COLS-1:0][7:0] values_o,

  input  logic signed [7:0]       operation_zero_point_i,
  input  logic signed [7:0]       operation_act_min_i,
  input  logic signed [7:0]       operation_act_max_i,
  input  logic                    operation_enable_i,
  input  logic                    operation_valid_i,
  input  logic                    operation_last_i,
  input  sum_t [BlockChannels-1:0] operation_sums_i,
  input  logic [30:0]             operation_multiplier_i,
  input  logic signed [5:0]       operation_shift_i,
  input  logic [BlockChannels-1:0] operation_second_i,  // sums with the second factor
  input  logic [30:0]             operation_second_multiplier_i,
  input  logic [4:0]              operation_second_right_shift_i,
  output logic                    operation_valid_o,
  output logic                    operation_last_o,
  output logic [BlockChannels-1:0][7:0] operation_values_o
);

  localparam int unsigned Lanes = (COLS > BlockChannels) ? COLS : BlockChannels;  // second pixel

  sum_t [Lanes-1:0]      sums;
  logic [Lanes-1:0][7:0] values;
  logic                  second_valid;

  requantizer #(
    .LANES    (COLS),
    .TAG_WIDTH($bits(drain_flags_t))
  ) u_first (
    .clk_i,
    .rst_ni,
    .enable_i,
    .zero_point_i,
    .act_min_i,
    .act_max_i,
    .valid_i,
    .tag_i       (flags_i),
    .sums_i      (sums_i[0]),
    .biases_i    ({COLS{bias_i}}),
    .multiplier_i,
    .shift_i,
    .second_i('0),
    .second_multiplier_i('0),
    .second_right_shift_i('0),
    .valid_o,
    .tag_o       (flags_o),
    .results_o   (values_o[0])
  );

  always_comb begin : select_second
    sums = '0;
    if (operates_i) sums[BlockChannels-1:0] = operation_sums_i;
    else sums[COLS-1:0] = sums_i[1];
  end

  requantizer #(
    .LANES  (Lanes),
    .FACTORS(2)
  ) u_second (
    .clk_i,
    .rst_ni,
    .enable_i    (operates_i ? operation_enable_i : enable_i),
    .zero_point_i(operates_i ? operation_zero_point_i : zero_point_i),
    .act_min_i   (operates_i ? operation_act_min_i : act_min_i),
    .act_max_i   (operates_i ? operation_act_max_i : act_max_i),
    .valid_i     (operates_i ? operation_valid_i : valid_i && flags_i.two_pixels),
    .tag_i       (operation_last_i),
    .sums_i      (sums),
    .biases_i    (operates_i ? '0 : {Lanes{bias_i}}),
    .multiplier_i(operates_i ? {1'b0, operation_multiplier_i} : multiplier_i),
    .shift_i     (operates_i ? 8'(operation_shift_i) : shift_i),
    .second_i    (operates_i ? Lanes'(operation_second_i) : '0),
    .second_multiplier_i (operation_second_multiplier_i),
    .second_right_shift_i(operation_second_right_shift_i),
    .valid_o     (second_valid),
    .tag_o       (operation_last_o),
    .results_o   (values)
  );

  assign values_o[1]        = values[COLS-1:0];
  assign operation_valid_o  = second_valid && operates_i;
  assign operation_values_o = values[BlockChannels-1:0];

endmodule
