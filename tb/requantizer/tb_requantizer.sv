// SPDX-License-Identifier: Apache-2.0
// The requantizer with its ports as plain variables.
module tb_requantizer #(
  parameter int unsigned LANES = 1,  // sums in a beat
  parameter int unsigned STEPS = 1,  // cycles of a product
  parameter int unsigned FACTORS = 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                enable_i,
  input  logic [7:0]          zero_point_i,
  input  logic [7:0]          act_min_i,
  input  logic [7:0]          act_max_i,
  input  logic                valid_i,
  input  logic [6:0]          tag_i,
  input  logic [32*LANES-1:0] sums_i,
  input  logic [32*LANES-1:0] biases_i,
  input  logic [31:0]         multiplier_i,
  input  logic [7:0]          shift_i,
  input  logic [LANES-1:0]    second_i,
  input  logic [30:0]         second_multiplier_i,
  input  logic [4:0]          second_right_shift_i,
  output logic                valid_o,
  output logic [6:0]          tag_o,
  output logic [8*LANES-1:0]  results_o
);

  requantizer #(
    .LANES    (LANES),
    .STEPS    (STEPS),
    .FACTORS  (FACTORS),
    .TAG_WIDTH(7)
  ) u_dut (
    .*
  );

endmodule
