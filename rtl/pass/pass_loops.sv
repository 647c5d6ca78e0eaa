// SPDX-License-Identifier: Apache-2.0
// Position of a unit in the loops of a pass: outer blocks, filter tiles, inner blocks, groups.
//
// start_i moves to the first group; step_i moves on by one group. TILES = 0 omits the tile loop,
// since depthwise work is done once for all tiles.

`include "assertions.svh"

module pass_loops
  import encoding_pkg::*;
#(
  parameter bit TILES = 1'b1  // include the loop over filter tiles
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  array_loops_t loops_i,
  input  logic         start_i,
  input  logic         step_i,
  output logic         group_first_o,   // first group: sums start
  output logic         group_last_o,    // last group: sums are finished
  output logic         replay_last_o,   // last group of the last inner block, which ends the tile
  output logic         tile_last_o,     // in the last tile, which uses words for the last time
  output logic         outer_last_o
);

  typedef logic [$bits(loops_i.groups)-1:0] loop_count_t;

  loop_count_t group_q, inner_q, tile_q, outer_q;
  logic        inner_last;

  assign group_first_o = group_q == '0;
  assign group_last_o  = group_q == loops_i.groups - 1'b1;
  assign inner_last    = inner_q == loops_i.inner - 1'b1;
  assign replay_last_o = group_last_o && inner_last;
  assign tile_last_o   = !TILES || tile_q == loops_i.tiles - 1'b1;
  assign outer_last_o  = outer_q == loops_i.outer - 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {outer_q, tile_q, inner_q, group_q} <= '0;
    end else if (start_i) begin
      {outer_q, tile_q, inner_q, group_q} <= '0;
    end else if (step_i) begin
      group_q <= group_last_o ? '0 : group_q + 1'b1;
      if (group_last_o) inner_q <= inner_last ? '0 : inner_q + 1'b1;
      if (replay_last_o) tile_q <= tile_last_o ? '0 : tile_q + 1'b1;
      if (replay_last_o && tile_last_o) outer_q <= outer_last_o ? '0 : outer_q + 1'b1;
    end
  end

  logic unused_bands;  // used by depthwise_sequencer
  assign unused_bands = ^loops_i.bands;

  `EYRIE_ASSERT_WHEN(WithinLoops, step_i,
      group_q < loops_i.groups && inner_q < loops_i.inner && outer_q < loops_i.outer &&
      (!TILES || tile_q < loops_i.tiles), "a step beyond the end of the loops")

endmodule
