// SPDX-License-Identifier: Apache-2.0
// The GLB side of LOADs: writes words from DRAM to the GLB addresses of the requested rows, in
// order.
//
// A transfer is done (done_o, with chunk_o if it loads a chunk) in the cycle in which its last word
// is written. A word with an AXI error is not written and stays. error_o is high once all words
// before it have been written, so that the error belongs to the oldest transfer that is not done.

`include "assertions.svh"

module dma_load
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned ROWS = 64,     // rows requested and not yet written
  parameter int unsigned BUS_WORDS = 1  // 64-bit words per AXI beat: 1 or 2
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         row_valid_i,
  output logic         row_ready_o,
  input  row_t         row_i,

  input  logic         data_valid_i,
  output logic         data_ready_o,
  input  logic [BUS_WORDS-1:0][63:0] data_i,
  input  logic         data_error_i,

  output logic         glb_valid_o,
  input  logic         glb_ready_i,
  output glb_request_t glb_request_o,

  output logic         done_o,
  output logic         chunk_o,
  output logic         error_o
);

  typedef struct packed {
    logic         error;
    logic         done;
    logic         chunk;
    glb_address_t address;
    glb_word_t [BUS_WORDS-1:0] data;
  } landing_t;

  logic         beat_valid, beat_last, beat_chunk;
  glb_address_t beat_address;
  logic         land, landing_ready, landing_valid, landed;
  landing_t     landing_in, landing;

  dma_beats #(.ROWS(ROWS), .BUS_WORDS(BUS_WORDS)) u_beats (
    .clk_i, .rst_ni,
    .row_valid_i, .row_ready_o, .row_i,
    .beat_valid_o  (beat_valid),
    .beat_ready_i  (land),
    .beat_address_o(beat_address),
    .beat_last_o   (beat_last),
    .beat_chunk_o  (beat_chunk)
  );

  assign data_ready_o = beat_valid && landing_ready;
  assign land         = data_valid_i && data_ready_o;
  assign landing_in   = '{
    error:   data_error_i,
    done:    beat_last,
    chunk:   beat_chunk,
    address: beat_address,
    data:    data_i
  };

  // Cuts the paths between the AXI port and the GLB. A word in the buffer reaches the GLB even if
  // the AXI port halts.
  skid_buffer #(.WIDTH($bits(landing_t))) u_landing (
    .clk_i,
    .rst_ni,
    .in_valid_i(land),
    .in_ready_o(landing_ready),
    .in_data_i(landing_in),
    .out_valid_o(landing_valid),
    .out_ready_i(glb_ready_i && !landing.error),
    .out_data_o(landing)
  );

  assign glb_request_o = '{
    last:    landing.done,
    address: landing.address,
    strobe:  16'({8 * BUS_WORDS{1'b1}}),
    data:    128'(landing.data)
  };

  assign glb_valid_o = landing_valid && !landing.error;
  assign error_o     = landing_valid && landing.error;

  assign landed  = glb_valid_o && glb_ready_i;
  assign done_o  = landed && landing.done;
  assign chunk_o = done_o && landing.chunk;

  `EYRIE_ASSERT_WHEN(DataHasRow, data_valid_i, beat_valid, "data without a row")
  `EYRIE_STABLE(Write, glb_valid_o, glb_ready_i, glb_request_o)

endmodule
