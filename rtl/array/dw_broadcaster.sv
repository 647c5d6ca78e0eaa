// SPDX-License-Identifier: Apache-2.0
// Depthwise result broadcaster: reads the depthwise words of a column from the word buffer. In a
// fused pass it sends them to all PEs of the set, group by group, and repeats them for each filter
// tile. In a depthwise pass (to_chain_i) the adder chain accepts each word once.
//
// It reads one word ahead, so that a word can leave in every cycle. A word that was read stays at
// the output of the buffer until it is accepted. In the last tile, the read frees the space of the
// word.
//
// start_i begins a pass. loops_i, pixels_i and to_chain_i are stable while busy_o is high.

`include "assertions.svh"

module dw_broadcaster
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  array_loops_t       loops_i,
  input  logic [8:0]         pixels_i,
  input  logic               to_chain_i,
  input  logic               start_i,
  output logic               busy_o,

  // word_buffer
  input  logic               available_i,
  output logic               read_o,
  output logic               free_o,
  output logic               rewind_o,

  // The word at the output of the buffer, to the PEs or to the chain
  output logic [SetRows-1:0] word_valid_o,
  input  logic [SetRows-1:0] word_ready_i,
  output logic               chain_valid_o,
  input  logic               chain_ready_i
);

  logic         reading_q;  // words are left to read
  logic         held_q;     // a word has been read and not accepted
  logic [8:0]   pixel_q;
  logic         fork_ready, accepted, group_read, block_read;
  logic         group_first, group_last, replay_last, tile_last, outer_last;
  array_loops_t loops;

  // A depthwise pass has no filter tiles.
  always_comb begin : select_loops
    loops = loops_i;
    if (to_chain_i) loops.tiles = 1;
  end

  assign accepted   = held_q && (to_chain_i ? chain_ready_i : fork_ready);
  assign read_o     = reading_q && available_i && (!held_q || accepted);
  assign group_read = read_o && pixel_q == pixels_i - 9'd1;
  assign block_read = group_read && replay_last;
  assign free_o     = read_o && tile_last;
  assign rewind_o   = block_read && !tile_last;
  assign busy_o     = reading_q || held_q;

  assign chain_valid_o = held_q && to_chain_i;

  multicast_fork #(.TARGETS(SetRows)) u_fork (
    .clk_i, .rst_ni,
    .valid_i  (held_q && !to_chain_i),
    .ready_o  (fork_ready),
    .targets_i('1),
    .valid_o  (word_valid_o),
    .ready_i  (word_ready_i)
  );

  pass_loops u_loops (
    .clk_i, .rst_ni, .start_i,
    .loops_i      (loops),
    .step_i       (group_read),
    .group_first_o(group_first),
    .group_last_o (group_last),
    .replay_last_o(replay_last),
    .tile_last_o  (tile_last),
    .outer_last_o (outer_last)
  );

  logic unused_flags;
  assign unused_flags = ^{group_first, group_last};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
      held_q    <= 1'b0;
      pixel_q   <= '0;
    end else begin
      if (start_i) reading_q <= 1'b1;
      else if (block_read && tile_last && outer_last) reading_q <= 1'b0;
      if (read_o) held_q <= 1'b1;
      else if (accepted) held_q <= 1'b0;
      if (read_o) pixel_q <= group_read ? '0 : pixel_q + 9'd1;
    end
  end

  `EYRIE_ASSERT_WHEN(StartIdle, start_i, !busy_o, "a pass starts within a pass")
  `EYRIE_ASSERT_WHEN(WithinPixels, reading_q, pixel_q < pixels_i,
      "a word beyond the pixels of its group")
  `EYRIE_ASSERT_NEXT(ConfigHolds, busy_o && !start_i, $stable({loops_i, pixels_i, to_chain_i}),
      "configuration changes within a pass")
  `EYRIE_STABLE(Chain, chain_valid_o, chain_ready_i, 1'b1)
  `EYRIE_COVER(Rewind, rewind_o)

endmodule
