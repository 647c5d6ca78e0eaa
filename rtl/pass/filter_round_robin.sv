// SPDX-License-Identifier: Apache-2.0
// The row of a set from which the filters of a tile are first_row to the rows: so that these have as
// many in the end, the deal of a tile goes on where that of the one before ended, `rotation_i` rows
// behind where it began. The first tile of an outer block begins with row 0.

`include "assertions.svh"

module filter_round_robin
  import eyrie_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic [1:0] rotation_i,   // less than SetRows
  input  logic       start_i,      // a pass begins
  input  logic       tile_end_i,   // a tile ends, of all inner blocks
  input  logic       tile_last_i,  // it is the last of its outer block
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
      "first_row from a row that there is not")
  `EYRIE_COVER(RotationUsed, tile_end_i && !tile_last_i && rotation_i != '0)

endmodule
