// SPDX-License-Identifier: Apache-2.0
// The round-robin start row: the row of a set to which the first filter of a tile is assigned. The
// assignment of a tile begins rotation_i rows after the start of the tile before, so that it
// continues where that tile ended and the rows receive nearly the same number of filters. The first
// tile of an outer block begins with row 0.

`include "assertions.svh"

module filter_round_robin
  import eyrie_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [1:0] rotation_i,   // 0 to SetRows - 1
  input  logic       start_i,      // a pass begins
  input  logic       tile_end_i,   // a tile ends, after all its inner blocks
  input  logic       tile_last_i,  // the tile is the last of its outer block
  output logic [1:0] row_o
);

  logic [1:0] row_q;
  logic [2:0] next_row;

  assign row_o    = row_q;
  assign next_row = 3'(row_q) + 3'(rotation_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_q <= '0;
    end else if (start_i || (tile_end_i && tile_last_i)) begin
      row_q <= '0;
    end else if (tile_end_i) begin
      row_q <= 2'((next_row >= 3'(SetRows)) ? next_row - 3'(SetRows) : next_row);
    end
  end

  `EYRIE_ASSERT_WHEN(RowExists, tile_end_i, row_q < 2'(SetRows),
      "the start row is beyond the set")
  `EYRIE_COVER(RotationUsed, tile_end_i && !tile_last_i && rotation_i != '0)

endmodule
