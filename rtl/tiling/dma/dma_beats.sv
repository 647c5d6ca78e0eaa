// SPDX-License-Identifier: Apache-2.0
// Converts the rows of transfers to the GLB addresses of their AXI beats. It delivers one beat per
// cycle, rows in order. Beats come from registers, since the arbitration of the GLB follows in the
// same cycle.

`include "assertions.svh"

module dma_beats
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned ROWS = 16,     // rows that can wait
  parameter int unsigned BUS_WORDS = 1  // 64-bit words per AXI beat: 1 or 2
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         row_valid_i,
  output logic         row_ready_o,
  input  row_t         row_i,

  output logic         beat_valid_o,
  input  logic         beat_ready_i,
  output glb_address_t beat_address_o,
  output logic         beat_last_o,     // last beat of its transfer
  output logic         beat_chunk_o
);

  row_t                      row;
  logic                      row_valid, row_end, ready;
  logic [15:0]               word_q;    // word of the row
  logic [$clog2(ROWS+1)-1:0] unused_count;

  queue #(.WIDTH($bits(row_t)), .DEPTH(ROWS)) u_rows (
    .clk_i, .rst_ni,
    .in_valid_i (row_valid_i),
    .in_ready_o (row_ready_o),
    .in_data_i  (row_i),
    .out_valid_o(row_valid),
    .out_ready_i(ready && row_end),
    .out_data_o (row),
    .count_o    (unused_count)
  );

  assign row_end = word_q == row.words - 16'(BUS_WORDS);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)                 word_q <= '0;
    else if (row_valid && ready) word_q <= row_end ? '0 : word_q + 16'(BUS_WORDS);
  end

  skid_buffer #(.WIDTH($bits(glb_address_t) + 2)) u_request (
    .clk_i, .rst_ni,
    .in_valid_i (row_valid),
    .in_ready_o (ready),
    .in_data_i  ({glb_address_t'(row.address + word_q), row_end && row.last, row.chunk}),
    .out_valid_o(beat_valid_o),
    .out_ready_i(beat_ready_i),
    .out_data_o ({beat_address_o, beat_last_o, beat_chunk_o})
  );

  `EYRIE_STABLE(Beat, beat_valid_o, beat_ready_i, {beat_address_o, beat_last_o})

endmodule
