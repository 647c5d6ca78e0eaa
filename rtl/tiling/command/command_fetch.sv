// SPDX-License-Identifier: Apache-2.0
// Reads the command list ahead of its use, from program_base_i on, CHUNK words at a time, for as
// long as enable_i holds.
//
// Words leave in order with their DRAM address. A word that could not be read leaves with an error
// instead: word_error_o is ErrorAxiResponse, or ErrorDramAddress where the list leaves the window.
// Reading ahead is not an error by itself: the window's end cuts it short, and only a word that is
// taken can fail.
//
// Space for a chunk is reserved before it is asked for, so data_ready_o is always high.

`include "assertions.svh"

module command_fetch
  import encoding_pkg::*;
#(
  parameter int unsigned DEPTH = 64,    // words read ahead
  parameter int unsigned CHUNK = 16,    // words asked for at a time
  parameter int unsigned BUS_WORDS = 1  // 64-bit words in a beat of the AXI port: 1 or 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,
  input  logic [31:0] program_base_i,
  input  logic [31:0] window_limit_i,

  output logic        request_valid_o,
  input  logic        request_ready_i,
  input  logic        request_legal_i,
  output logic [31:0] request_address_o,
  output logic [15:0] request_words_o,
  input  logic        data_valid_i,
  output logic        data_ready_o,
  input  logic [BUS_WORDS-1:0][63:0] data_i,
  input  logic        data_error_i,

  output logic        word_valid_o,
  input  logic        word_ready_i,
  output logic [63:0] word_o,
  output logic [31:0] word_address_o,
  output error_code_e word_error_o
);

  localparam int unsigned CountWidth = $clog2(DEPTH + 1);

  logic                  started_q;
  logic [31:0]           next_q;               // first word not yet asked for
  logic [31:0]           head_q;               // word at the output
  logic [CountWidth-1:0] reserved_d, reserved_q; // words asked for and not yet taken
  logic                  ask, accept;

  // Request: a chunk, or what is left of the window. Where nothing is left one word is offered,
  // which the reader refuses.
  logic [28:0] room;
  assign room = window_limit_i[31:3] - next_q[31:3];
  always_comb begin : chunk_length
    request_words_o = 16'(CHUNK);
    if (next_q[31:3] >= window_limit_i[31:3]) request_words_o = 16'(BUS_WORDS);
    else if (room < 29'(CHUNK)) request_words_o = room[15:0];
  end
  assign request_address_o = next_q;
  assign request_valid_o   = enable_i && started_q && request_legal_i
                             && reserved_q <= CountWidth'(DEPTH - CHUNK);
  assign ask               = request_valid_o && request_ready_i;
  assign accept            = word_valid_o && word_ready_i;

  always_comb begin : reserve
    reserved_d = reserved_q;
    if (ask) reserved_d = reserved_d + CountWidth'(request_words_o);
    if (accept && reserved_q != '0) reserved_d = reserved_d - CountWidth'(1);
  end

  localparam int unsigned Beats = DEPTH / BUS_WORDS;
  localparam int unsigned PlaceWidth = (BUS_WORDS > 1) ? $clog2(BUS_WORDS) : 1;

  logic                       buffered, buffered_error, buffer_ready, beat_end;
  logic [BUS_WORDS-1:0][63:0] beat;
  logic [PlaceWidth-1:0]      place_q;         // of the head word in its beat
  logic [$clog2(Beats+1)-1:0] unused_count;

  queue #(.WIDTH(1 + 64 * BUS_WORDS), .DEPTH(Beats)) u_beats (
    .clk_i,
    .rst_ni,
    .in_valid_i(data_valid_i),
    .in_ready_o(buffer_ready),
    .in_data_i({data_error_i, data_i}),
    .out_valid_o(buffered),
    .out_ready_i(word_ready_i && enable_i && beat_end),
    .out_data_o({buffered_error, beat}),
    .count_o(unused_count)
  );
  assign beat_end = place_q == PlaceWidth'(BUS_WORDS - 1);
  assign word_o   = beat[place_q];
  assign data_ready_o = 1'b1;

  // Output: a word, or the error of the word that cannot be had.
  logic beyond;
  assign beyond         = started_q && reserved_q == '0 && !request_legal_i;
  assign word_valid_o   = enable_i && (buffered || beyond);
  assign word_address_o = head_q;
  always_comb begin : say_error
    word_error_o = ErrorNone;
    if (!buffered) word_error_o = ErrorDramAddress;
    else if (buffered_error) word_error_o = ErrorAxiResponse;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      started_q  <= 1'b0;
      next_q     <= '0;
      head_q     <= '0;
      reserved_q <= '0;
      place_q    <= '0;
    end else if (!started_q) begin
      started_q  <= enable_i;
      next_q     <= program_base_i;
      head_q     <= program_base_i;
    end else begin
      reserved_q <= reserved_d;
      if (ask)    next_q <= next_q + {13'd0, request_words_o, 3'd0};
      if (accept) head_q <= head_q + 32'd8;
      if (accept) place_q <= beat_end ? '0 : place_q + PlaceWidth'(1);
    end
  end

  logic unused_limit; // the window ends with a whole word
  assign unused_limit = ^window_limit_i[2:0];

  `EYRIE_STATIC(DepthHoldsChunk, DEPTH >= CHUNK, "DEPTH is less than CHUNK")
  `EYRIE_ASSERT_WHEN(SpaceReserved, data_valid_i, buffer_ready, "a word came without space for it")
  `EYRIE_ASSERT(ReservedInRange, reserved_q <= CountWidth'(DEPTH), "more reserved than there is")
  `EYRIE_COVER(WindowCutsChunk, ask && request_words_o != 16'(CHUNK))

endmodule
