// SPDX-License-Identifier: Apache-2.0
// Plays the GLB's part in a fused pass: sends the depthwise words of a column up to its PEs, group
// by group, again for each filter tile.
//
// Each word goes to all PEs of the set. In the last tile its space is freed as it goes; the base
// moves on when its block is through.

`include "assertions.svh"

module word_sender
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  array_loops_t       loops_i,
  input  logic [8:0]         pixels_i,
  input  logic               start_i,
  output logic               busy_o,

  output logic [15:0]        read_offset_o,
  input  logic               read_valid_i,
  output logic               free_o,
  output logic [15:0]        base_step_o,

  output logic [SetRows-1:0] word_valid_o,
  input  logic [SetRows-1:0] word_ready_i
);

  logic               busy_q;
  logic [8:0]         pixel_q;
  logic [15:0]        offset_q;
  logic               word_valid, word_ready, sent, group_sent;
  logic               group_first, group_last, replay_last, tile_last, outer_last;

  assign word_valid    = busy_q && read_valid_i;
  assign sent          = word_valid && word_ready;
  assign group_sent    = sent && pixel_q == pixels_i - 9'd1;
  assign read_offset_o = offset_q;
  assign free_o        = sent && tile_last;
  assign base_step_o   = (group_sent && replay_last && tile_last) ? offset_q + 16'd1 : '0;
  assign busy_o        = busy_q;

  multicast_fork #(.TARGETS(SetRows)) u_fork (
    .clk_i, .rst_ni,
    .valid_i  (word_valid),
    .ready_o  (word_ready),
    .targets_i('1),
    .valid_o  (word_valid_o),
    .ready_i  (word_ready_i)
  );

  pass_loops u_loops (
    .clk_i, .rst_ni, .loops_i, .start_i,
    .step_i       (group_sent),
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
      busy_q   <= 1'b0;
      pixel_q  <= '0;
      offset_q <= '0;
    end else begin
      if (start_i) busy_q <= 1'b1;
      else if (group_sent && replay_last && tile_last && outer_last) busy_q <= 1'b0;
      if (sent) begin
        pixel_q  <= group_sent ? '0 : pixel_q + 9'd1;
        offset_q <= (group_sent && replay_last) ? '0 : offset_q + 16'd1;
      end
    end
  end

  `EYRIE_ASSERT_WHEN(StartIdle, start_i, !busy_q, "a pass started within a pass")
  `EYRIE_ASSERT_WHEN(WithinPixels, busy_q, pixel_q < pixels_i, "a word beyond its group's pixels")

endmodule
