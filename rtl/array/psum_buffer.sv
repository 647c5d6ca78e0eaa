// SPDX-License-Identifier: Apache-2.0
// Two halves of partial sums: one accumulates while the other drains.
//
// add_valid_i: the sum at add_index_i of half add_half_i becomes add_value_i (add_first_i) or grows
// by it. The read side is combinational.
module psum_buffer
  import eyrie_pkg::*;
#(
  parameter int unsigned WORDS = 128,  // sums in each half
  localparam int unsigned IndexWidth = $clog2(WORDS)
) (
  input  logic                  clk_i,
  input  logic                  add_valid_i,
  input  logic                  add_half_i,
  input  logic                  add_first_i,
  input  logic [IndexWidth-1:0] add_index_i,
  input  logic signed [18:0]    add_value_i,

  input  logic                  read_half_i,
  input  logic [IndexWidth-1:0] read_index_i,
  output sum_t                  read_sum_o
);

  sum_t sums_q [2][WORDS];
  sum_t add_base;

  assign add_base   = add_first_i ? '0 : sums_q[add_half_i][add_index_i];
  assign read_sum_o = sums_q[read_half_i][read_index_i];

  always_ff @(posedge clk_i) begin
    if (add_valid_i) sums_q[add_half_i][add_index_i] <= add_base + sum_t'(add_value_i);
  end

endmodule
