// SPDX-License-Identifier: Apache-2.0
// The GLB side of LOADs: writes words from DRAM to the GLB addresses of the requested rows, in
// order.
//
// A transfer is done (done_o, with chunk_o if it loads a chunk) in the cycle in which its last word
// is written. A word with an AXI error is not written and stays. error_o is high once all words
// before it have been written, so that the error belongs to the oldest transfer that is not done;
// code_error_o as well, for a coded chunk that is not as long as its weights.
//
// With WEIGHT_CODES, beats of a coded row go through the decoder, which makes pairs of words.

`include "assertions.svh"

module dma_load
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned ROWS = 64,     // rows requested and not yet written
  parameter int unsigned BUS_WORDS = 1, // 64-bit words per AXI beat: 1 or 2
  parameter int unsigned WEIGHT_CODES = 0  // decoders of coded weights: 0 or 1
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

  output logic [1:0]   decoded_words_o, // in this cycle
  output logic         done_o,
  output logic         chunk_o,
  output logic         error_o,
  output logic         code_error_o
);

  localparam int unsigned Lanes = WEIGHT_CODES != 0 ? 2 : BUS_WORDS;  // words that land in a cycle

  typedef struct packed {
    logic         error;
    logic         done;
    logic         chunk;
    glb_address_t address;
    logic [Lanes-1:0]      used;
    glb_word_t [Lanes-1:0] data;
  } landing_t;

  logic         beat_valid, beat_last, beat_chunk, beat_coded, start_valid, start_ready;
  coded_t       start_coded;
  logic [15:0]  start_words;
  glb_address_t beat_address;
  logic         land, landing_ready, landing_valid, landed;
  landing_t     landing_in, landing;

  dma_beats #(.ROWS(ROWS), .BUS_WORDS(BUS_WORDS), .WEIGHT_CODES(WEIGHT_CODES)) u_beats (
    .clk_i, .rst_ni,
    .row_valid_i, .row_ready_o, .row_i,
    .beat_valid_o  (beat_valid),
    .beat_ready_i  (land && landing_ready),
    .beat_address_o(beat_address),
    .beat_last_o   (beat_last),
    .beat_chunk_o  (beat_chunk),
    .beat_coded_o  (beat_coded),
    .start_valid_o (start_valid),
    .start_ready_i (start_ready),
    .start_coded_o (start_coded),
    .start_words_o (start_words)
  );

  // ---- Coded weights ----

  logic             pair_valid, pair_single, coded_ready, coded_error, code_error;
  logic [1:0][63:0] pair;
  logic             coded;  // the next word to land is coded

  assign coded = beat_valid && beat_coded;

  logic unused_coded;
  assign unused_coded = ^{start_coded, pair};

  if (WEIGHT_CODES != 0) begin : gen_decoder
    logic [15:0] beats_q;  // of the chunk, not yet taken
    logic        failed_q; // a beat had an error
    logic        decoder_start, decoder_ready, take, unused_last;

    assign start_ready = decoder_start && beats_q == '0;
    assign coded_ready = coded && beats_q != '0 && decoder_ready && !failed_q;
    assign take        = data_valid_i && coded_ready;
    assign coded_error = failed_q && !pair_valid;

    weight_decoder #(.BUS_WORDS(BUS_WORDS)) u_decoder (
      .clk_i, .rst_ni,
      .start_valid_i(start_valid && beats_q == '0),
      .start_ready_o(decoder_start),
      .start_words_i(start_words),
      .start_table_i(start_coded.with_table),
      .in_valid_i   (take && !data_error_i),
      .in_ready_o   (decoder_ready),
      .in_data_i    (data_i),
      .in_last_i    (beats_q == 16'd1),
      .out_valid_o  (pair_valid),
      .out_ready_i  (coded && landing_ready),
      .out_data_o   (pair),
      .out_single_o (pair_single),
      .out_last_o   (unused_last),
      .error_o      (code_error)
    );

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni)                          beats_q <= '0;
      else if (start_valid && start_ready)  beats_q <= start_coded.words / 16'(BUS_WORDS);
      else if (take)                        beats_q <= beats_q - 16'd1;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni)                   failed_q <= 1'b0;
      else if (take && data_error_i) failed_q <= 1'b1;
    end

    `EYRIE_ASSERT_WHEN(LastPair, pair_valid && unused_last, beat_last, "a coded row ends early")
  end else begin : gen_plain
    logic unused_start;
    assign unused_start = ^{start_valid, start_words};
    assign start_ready = 1'b0;
    assign {pair_valid, pair_single, coded_ready, coded_error, code_error} = '0;
    assign pair = '0;
  end

  // ---- Words ----

  assign data_ready_o = coded ? coded_ready : beat_valid && landing_ready;
  assign land         = coded ? pair_valid : beat_valid && data_valid_i;
  assign decoded_words_o = (coded && pair_valid && landing_ready) ? 2'd2 - 2'(pair_single) : '0;
  always_comb begin : word
    landing_in = '{
      error:   data_error_i && !coded,
      done:    beat_last,
      chunk:   beat_chunk,
      address: beat_address,
      used:    Lanes'({1'(BUS_WORDS > 1), 1'b1}),
      data:    (64 * Lanes)'(data_i)
    };
    if (coded) begin
      landing_in.used = Lanes'({!pair_single, 1'b1});
      landing_in.data = (64 * Lanes)'(pair);
    end
  end

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

  always_comb begin : request
    glb_request_o = '{
      last:    landing.done,
      address: landing.address,
      strobe:  '0,
      data:    128'(landing.data)
    };
    for (int unsigned l = 0; l < Lanes; l++) glb_request_o.strobe[l] = {8{landing.used[l]}};
  end

  assign glb_valid_o  = landing_valid && !landing.error;
  assign error_o      = landing_valid ? landing.error : coded_error;
  assign code_error_o = code_error && !landing_valid;

  assign landed  = glb_valid_o && glb_ready_i;
  assign done_o  = landed && landing.done;
  assign chunk_o = done_o && landing.chunk;

  // With a decoder, data may be there before it is free for its row.
  `EYRIE_ASSERT_WHEN(DataHasRow, data_valid_i && WEIGHT_CODES == 0, beat_valid, "data without a row")
  `EYRIE_STABLE(Write, glb_valid_o, glb_ready_i, glb_request_o)

endmodule
