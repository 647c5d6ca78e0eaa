// SPDX-License-Identifier: Apache-2.0
// 2x2 max pooling with stride 2 on int8 transfers (one channel of every column).
//
// Columns 2j and 2j + 1 are vertical neighbours; pixels 2i and 2i + 1 of a block are horizontal
// neighbours. The values of an even pixel are stored. The odd pixel yields the results
// combinationally: output j is the maximum of columns 2j and 2j + 1 of both pixels. A block has an
// even number of pixels.
`include "assertions.svh"

module max_pool #(
  parameter int unsigned COLS = 8,  // PE columns
  localparam int unsigned Pairs = COLS / 2
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        enable_i,  // transfers are accepted while high

  input  logic                        valid_i,
  input  logic [COLS-1:0][7:0]        values_i,
  input  logic [2:0]                  channel_i,
  input  logic                        block_last_i,  // last channel of a pixel
  input  logic                        pixel_last_i,  // last pixel of a block

  output logic                        valid_o,
  output logic [Pairs-1:0][7:0]       values_o
);

  logic [Pairs-1:0][7:0] kept_q [eyrie_pkg::BlockChannels];
  logic [Pairs-1:0][7:0] pairs;
  logic                  odd_q;
  logic                  accept;

  function automatic logic [7:0] larger(logic [7:0] a, logic [7:0] b);
    return ($signed(a) > $signed(b)) ? a : b;
  endfunction

  always_comb begin : reduce
    for (int unsigned j = 0; j < Pairs; j++) begin
      pairs[j]    = larger(values_i[2*j], values_i[2*j+1]);
      values_o[j] = larger(pairs[j], kept_q[channel_i][j]);
    end
  end

  assign accept  = enable_i && valid_i;
  assign valid_o = valid_i && odd_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) odd_q <= 1'b0;
    else if (accept && block_last_i) odd_q <= !odd_q;
  end

  always_ff @(posedge clk_i) begin
    if (accept && !odd_q) kept_q[channel_i] <= pairs;
  end

  `EYRIE_STATIC(PairOfColumns, COLS >= 2, "COLS is less than 2")
  `EYRIE_ASSERT_WHEN(PixelPairs, accept && pixel_last_i,
      odd_q, "a block with an odd number of pixels")

endmodule
