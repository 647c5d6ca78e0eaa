// SPDX-License-Identifier: Apache-2.0
// Cuts a request for a stretch of 64-bit words into AXI INCR bursts of beats of BEAT_WORDS words:
// at most MAX_BEATS beats each, none across a 4 KiB boundary. One burst per cycle; the next request
// is taken with the last burst.
//
// request_legal_o says, in the same cycle and whatever request_valid_i is, whether the request is
// whole beats from a multiple of their size on and lies in [window_base_i, window_limit_i). A
// request that is not legal is never taken, so nothing outside the window can follow from it.
// request_words_i is 1 or more. halt_i: what is left of the request is dropped.
`include "assertions.svh"

module burst_splitter #(
  parameter int unsigned MAX_BEATS = 64,  // of a burst
  parameter int unsigned BEAT_WORDS = 1   // 64-bit words in a beat
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
  output logic        burst_last_o      // ends its request
);

  localparam int unsigned BeatShift = $clog2(BEAT_WORDS);
  localparam logic [9:0] PageBeats = 10'(512 / BEAT_WORDS); // 4 KiB

  logic [28:0] beat_d, beat_q;   // next beat's address, in beats
  logic [15:0] left_d, left_q;   // beats still to be asked for
  logic [9:0]  page_left, beats;

  // Window: the last byte must lie below the limit; 33 bits, so that nothing wraps.
  logic [32:0] request_end;
  assign request_end = {1'b0, request_address_i} + {14'd0, request_words_i, 3'd0};
  assign request_legal_o = request_address_i % (8 * BEAT_WORDS) == '0
                           && request_words_i % 16'(BEAT_WORDS) == '0
                           && request_address_i >= window_base_i
                           && request_end <= {1'b0, window_limit_i};

  // Burst: up to the end of the request, of the page, of the longest burst.
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

  `EYRIE_ASSERT_WHEN(NotEmpty, request_valid_i, request_words_i != '0, "request of 0 words")
  `EYRIE_ASSERT_WHEN(InPage, burst_valid_o,
      (10'(beat_q) & (PageBeats - 10'd1)) + 10'(burst_beats_o) <= PageBeats,
      "a burst crosses 4 KiB")
  `EYRIE_COVER(Split, burst_valid_o && burst_ready_i && !burst_last_o)

endmodule
