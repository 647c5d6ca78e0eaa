// SPDX-License-Identifier: Apache-2.0
// The GLB side of STOREs: reads the words of the requested rows, in order, and passes them to the
// AXI writer. A read is requested only if its word has space.

`include "assertions.svh"

module dma_store
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned ROWS = 4,      // rows requested and not yet read
  parameter int unsigned WORDS = 4,     // beats read and not yet sent
  parameter int unsigned BUS_WORDS = 1  // 64-bit words per AXI beat: 1 or 2
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         row_valid_i,
  output logic         row_ready_o,
  input  row_t         row_i,

  output logic         glb_valid_o,
  input  logic         glb_ready_i,
  output glb_request_t glb_request_o,
  input  logic         read_valid_i,
  input  glb_word_t [1:0] read_data_i,

  output logic         data_valid_o,
  input  logic         data_ready_i,
  output logic [BUS_WORDS-1:0][63:0] data_o
);

  localparam int unsigned CountWidth = $clog2(WORDS + 1);

  logic                  beat_valid, granted, pending_q, words_ready;
  glb_address_t          beat_address;
  logic                  unused_last, unused_chunk, unused_coded, unused_start;
  coded_t                unused_code;
  logic [15:0]           unused_start_words;
  logic [CountWidth-1:0] count;

  dma_beats #(.ROWS(ROWS), .BUS_WORDS(BUS_WORDS)) u_beats (
    .clk_i, .rst_ni,
    .row_valid_i, .row_ready_o, .row_i,
    .beat_valid_o  (beat_valid),
    .beat_ready_i  (granted),
    .beat_address_o(beat_address),
    .beat_last_o   (unused_last),
    .beat_chunk_o  (unused_chunk),
    .beat_coded_o  (unused_coded),
    .start_valid_o (unused_start),
    .start_ready_i (1'b0),
    .start_coded_o (unused_code),
    .start_words_o (unused_start_words)
  );

  assign glb_valid_o   = beat_valid && count + CountWidth'(pending_q) < CountWidth'(WORDS);
  assign granted       = glb_valid_o && glb_ready_i;
  assign glb_request_o = '{
    last:    1'b0,
    address: beat_address,
    strobe:  16'({8 * BUS_WORDS{1'b1}}),
    data:    '0
  };

  fifo #(.WIDTH(64 * BUS_WORDS), .DEPTH(WORDS)) u_words (
    .clk_i,
    .rst_ni,
    .in_valid_i(read_valid_i),
    .in_ready_o(words_ready),
    .in_data_i(read_data_i[BUS_WORDS-1:0]),
    .out_valid_o(data_valid_o),
    .out_ready_i(data_ready_i),
    .out_data_o(data_o),
    .count_o(count)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= 1'b0;
    else         pending_q <= granted;
  end

  `EYRIE_ASSERT(ReadExpected, read_valid_i == pending_q, "read data does not follow the grant")
  `EYRIE_ASSERT_WHEN(SpaceKept, read_valid_i, words_ready, "a word is read without space")
  `EYRIE_STABLE(Read, glb_valid_o, glb_ready_i, glb_request_o)

  logic unused_words;
  assign unused_words = ^read_data_i;

endmodule
