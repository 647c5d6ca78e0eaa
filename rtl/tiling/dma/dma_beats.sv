// SPDX-License-Identifier: Apache-2.0
// Converts the rows of transfers to the GLB addresses of their AXI beats, or of the word pairs that
// a coded row becomes. It delivers one per cycle, rows in order. A coded row starts the decoder
// before its first pair (start_*). Beats come from registers, since the arbitration of the GLB
// follows in the same cycle.

`include "assertions.svh"

module dma_beats
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned ROWS = 16,     // rows that can wait
  parameter int unsigned BUS_WORDS = 1, // 64-bit words per AXI beat: 1 or 2
  parameter int unsigned WEIGHT_CODES = 0  // decoders of coded weights: 0 or 1
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
  output logic         beat_chunk_o,
  output logic         beat_coded_o,

  output logic         start_valid_o,
  input  logic         start_ready_i,
  output coded_t       start_coded_o,
  output logic [15:0]  start_words_o
);

  localparam int unsigned RowBits = WEIGHT_CODES != 0 ? $bits(row_t) : PlainRowBits;

  row_t                      row;
  logic [RowBits-1:0]        oldest_row;
  logic                      row_valid, row_end, ready, held;
  logic [15:0]               word_q, step;  // word of the row; words of a beat or pair
  logic [$clog2(ROWS+1)-1:0] unused_count;

  queue #(.WIDTH(RowBits), .DEPTH(ROWS)) u_rows (
    .clk_i, .rst_ni,
    .in_valid_i (row_valid_i),
    .in_ready_o (row_ready_o),
    .in_data_i  (RowBits'(row_i)),
    .out_valid_o(row_valid),
    .out_ready_i(ready && row_end && !held),
    .out_data_o (oldest_row),
    .count_o    (unused_count)
  );

  assign row     = $bits(row_t)'(oldest_row);
  assign step    = row.coded.used ? 16'd2 : 16'(BUS_WORDS);
  assign row_end = row.coded.used ? row.words - word_q <= 16'd2
                                  : word_q == row.words - 16'(BUS_WORDS);

  // A coded row waits for the decoder.
  logic started_q;
  assign held          = row.coded.used && !started_q;
  assign start_valid_o = row_valid && held;
  assign start_coded_o = row.coded;
  assign start_words_o = row.words;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)                          word_q <= '0;
    else if (row_valid && ready && !held) word_q <= row_end ? '0 : word_q + step;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)                              started_q <= 1'b0;
    else if (start_valid_o && start_ready_i)  started_q <= 1'b1;
    else if (row_valid && ready && row_end)   started_q <= 1'b0;
  end

  skid_buffer #(.WIDTH($bits(glb_address_t) + 3)) u_request (
    .clk_i, .rst_ni,
    .in_valid_i (row_valid && !held),
    .in_ready_o (ready),
    .in_data_i  ({glb_address_t'(row.address + word_q), row_end && row.last, row.chunk,
                  row.coded.used}),
    .out_valid_o(beat_valid_o),
    .out_ready_i(beat_ready_i),
    .out_data_o ({beat_address_o, beat_last_o, beat_chunk_o, beat_coded_o})
  );

  logic unused_coded;  // without a decoder
  assign unused_coded = ^row_i.coded;

  `EYRIE_STABLE(Beat, beat_valid_o, beat_ready_i, {beat_address_o, beat_last_o})

endmodule
