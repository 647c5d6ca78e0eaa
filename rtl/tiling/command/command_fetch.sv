// SPDX-License-Identifier: Apache-2.0
// Reads the command list ahead of its use, from program_base_i, CHUNK words at a time, while
// enable_i is high.
//
// Words leave in order with their DRAM address. A word that cannot be read leaves with an error:
// word_error_o is ErrorAxiResponse, or ErrorDramAddress if the list leaves the window. Reading
// ahead stops at the end of the window without an error. Only a word that is accepted can fail.
//
// Space for a chunk is reserved before its request, so data_ready_o is always high.

`include "assertions.svh"

module command_fetch
  import encoding_pkg::*;
#(
  parameter int unsigned DEPTH = 64,    // words read ahead
  parameter int unsigned CHUNK = 16,    // words per request
  parameter int unsigned BUS_WORDS = 1  // 64-bit words per AXI beat: 1 or 2
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
  logic [31:0]           next_q;               // address of the next request
  logic signed [29:0]    room_q;               // words from there to the end of the window
  logic [31:0]           head_q;               // address of the word at the output
  logic [CountWidth-1:0] reserved_d, reserved_q; // words requested and not accepted
  logic                  ask, accept;

  // A request is a chunk or the rest of the window. At the end of the window it is one word, which
  // the reader rejects.
  always_comb begin : chunk_length
    request_words_o = 16'(CHUNK);
    if (room_q <= 30'sd0) request_words_o = 16'(BUS_WORDS);
    else if (room_q < 30'(CHUNK)) request_words_o = room_q[15:0];
  end
  assign request_address_o = next_q;
  assign request_valid_o   = enable_i && started_q && request_legal_i
                             && reserved_q <= CountWidth'(DEPTH - CHUNK);
  assign ask               = request_valid_o && request_ready_i;
  assign accept            = word_valid_o && word_ready_i;

  always_comb begin : reserve
    reserved_d = reserved_q - CountWidth'(accept && reserved_q != '0);
    if (ask) reserved_d = reserved_d + CountWidth'(request_words_o);
  end

  localparam int unsigned Beats = DEPTH / BUS_WORDS;
  localparam int unsigned PlaceWidth = (BUS_WORDS > 1) ? $clog2(BUS_WORDS) : 1;

  logic                       buffered, buffered_error, buffer_ready, beat_end;
  logic [BUS_WORDS-1:0][63:0] beat;
  logic [PlaceWidth-1:0]      place_q;         // index of the word in its beat
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

  // Output: a word, or the error of a word that cannot be read
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
      room_q     <= '0;
      head_q     <= '0;
      reserved_q <= '0;
      place_q    <= '0;
    end else if (!started_q) begin
      started_q  <= enable_i;
      next_q     <= program_base_i;
      room_q     <= 30'(window_limit_i[31:3]) - 30'(program_base_i[31:3]);
      head_q     <= program_base_i;
    end else begin
      reserved_q <= reserved_d;
      if (ask)    next_q <= next_q + {13'd0, request_words_o, 3'd0};
      if (ask)    room_q <= room_q - 30'(request_words_o);
      if (accept) head_q <= head_q + 32'd8;
      if (accept) place_q <= beat_end ? '0 : place_q + PlaceWidth'(1);
    end
  end

  logic unused_limit; // the window ends at a whole word
  assign unused_limit = ^window_limit_i[2:0];

  `EYRIE_STATIC(DepthHoldsChunk, DEPTH >= CHUNK, "DEPTH is less than CHUNK")
  `EYRIE_ASSERT_WHEN(SpaceReserved, data_valid_i, buffer_ready, "a word arrives without space")
  `EYRIE_ASSERT(ReservedInRange, reserved_q <= CountWidth'(DEPTH), "more words reserved than DEPTH")
  `EYRIE_COVER(WindowCutsChunk, ask && request_words_o != 16'(CHUNK))

endmodule
