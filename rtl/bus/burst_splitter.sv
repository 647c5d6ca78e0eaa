// SPDX-License-Identifier: Apache-2.0
// Splits a request for consecutive 64-bit words into AXI INCR bursts. A beat has BEAT_WORDS words;
// a burst has at most MAX_BEATS beats and does not cross a 4 KiB boundary. It issues one burst per
// cycle and accepts the next request with the last burst.
//
// request_legal_o is valid in every cycle and does not depend on request_valid_i. A request is
// legal if it has whole beats, begins at a multiple of the beat size and lies in [window_base_i,
// window_limit_i). An illegal request is never accepted, so that no burst leaves the window.
// request_words_i is at least 1. halt_i: the rest of the request is dropped.
`include "assertions.svh"

module burst_splitter #(
  parameter int unsigned MAX_BEATS = 64,  // beats per burst
  parameter int unsigned BEAT_WORDS = 1   // 64-bit words per beat
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        halt_i,
  input  logic [31:0] window_base_i,
  input  logic [31:0] window_limit_i,

  input  logic        request_valid_i,
  output logic        request_ready_o,
  output logic        request_legal_o,
  input  logic [31:0] request_address_i,
  input  logic [15:0] request_words_i,

  output logic        burst_valid_o,
  input  logic        burst_ready_i,
  output logic [31:0] burst_address_o,
  output logic [8:0]  burst_beats_o,
  output logic        burst_last_o      // last burst of its request
);

  localparam int unsigned BeatShift = $clog2(BEAT_WORDS);
  localparam logic [9:0] PageBeats = 10'(512 / BEAT_WORDS); // 4 KiB

  logic [28:0] beat_d, beat_q;   // address of the next beat, in beats
  logic [15:0] left_d, left_q;   // beats that are left
  logic [9:0]  page_left, beats;

  // The last byte must lie below the limit. 33 bits avoid a wrap.
  logic [32:0] request_end;
  assign request_end = {1'b0, request_address_i} + {14'd0, request_words_i, 3'd0};
  assign request_legal_o = request_address_i % (8 * BEAT_WORDS) == '0
                           && request_words_i % 16'(BEAT_WORDS) == '0
                           && request_address_i >= window_base_i
                           && request_end <= {1'b0, window_limit_i};

  // A burst ends with the request, with the page or at its maximum length.
  assign page_left = PageBeats - (10'(beat_q) & (PageBeats - 10'd1));
  always_comb begin : burst_length
    beats = 10'(MAX_BEATS);
    if (page_left < beats)           beats = page_left;
    if (left_q < {6'd0, beats})      beats = left_q[9:0];
  end

  assign burst_valid_o   = left_q != '0 && !halt_i;
  assign burst_address_o = {beat_q, 3'd0} << BeatShift;
  assign burst_beats_o   = beats[8:0];
  assign burst_last_o    = left_q == {6'd0, beats};
  assign request_ready_o = !halt_i && request_legal_o
                           && (left_q == '0 || (burst_ready_i && burst_last_o));

  always_comb begin : next_state
    beat_d = beat_q;
    left_d = left_q;
    if (burst_valid_o && burst_ready_i) begin
      beat_d = beat_q + 29'(beats);
      left_d = left_q - {6'd0, beats};
    end
    if (request_valid_i && request_ready_o) begin
      beat_d = request_address_i[31:3] >> BeatShift;
      left_d = request_words_i >> BeatShift;
    end
    if (halt_i) left_d = '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q <= '0;
      left_q <= '0;
    end else begin
      beat_q <= beat_d;
      left_q <= left_d;
    end
  end

  `EYRIE_ASSERT_WHEN(NotEmpty, request_valid_i, request_words_i != '0, "a request of 0 words")
  `EYRIE_ASSERT_WHEN(InPage, burst_valid_o,
      (10'(beat_q) & (PageBeats - 10'd1)) + 10'(burst_beats_o) <= PageBeats,
      "a burst crosses 4 KiB")
  `EYRIE_COVER(Split, burst_valid_o && burst_ready_i && !burst_last_o)

endmodule
