// SPDX-License-Identifier: Apache-2.0
// The depthwise words of a SUPER: a circular buffer in a RAM. Each word is written once and read in
// order, possibly several times.
//
// reserve_i reserves the space of a word before it is written; full_o: no space is left. A sweep
// reads the words in order, beginning with the oldest. read_i, only with available_o, puts the next
// word at read_data_o from the next cycle until the next read. Two flags qualify a read:
// - free_i: the last read of this word. Its space is released and the next word becomes the oldest.
//   All
// earlier words have been freed before.
// - rewind_i: the next read starts a new sweep at the oldest word.
//
// A word can be read from the cycle after its write.

`include "assertions.svh"

module word_buffer
  import eyrie_pkg::*;
#(
  parameter int unsigned WORDS = 256,  // words of 4 channels: 64 to 1,024
  localparam int unsigned AddressWidth = $clog2(WORDS),
  localparam int unsigned CountWidth = $clog2(WORDS + 1)
) (
  input  logic  clk_i,
  input  logic  rst_ni,

  input  logic  reserve_i,
  output logic  full_o,
  input  logic  write_i,
  input  word_t write_data_i,

  output logic  available_o,
  input  logic  read_i,
  input  logic  free_i,
  input  logic  rewind_i,
  output word_t read_data_o
);

  logic [AddressWidth-1:0] write_address_q, read_address_q, oldest_q, next_read;
  logic [CountWidth-1:0]   occupied_q;  // words written or reserved
  logic [CountWidth-1:0]   stored_q;    // words written
  logic [CountWidth-1:0]   read_q;      // written words that this sweep has read

  // WORDS need not be a power of two, so addresses wrap by comparison.
  function automatic logic [AddressWidth-1:0] next_address(logic [AddressWidth-1:0] address);
    return (address == AddressWidth'(WORDS - 1)) ? '0 : address + 1'b1;
  endfunction

  assign full_o      = occupied_q == CountWidth'(WORDS);
  assign available_o = read_q != stored_q;
  assign next_read   = next_address(read_address_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_address_q <= '0;
      read_address_q  <= '0;
      oldest_q        <= '0;
      occupied_q      <= '0;
      stored_q        <= '0;
      read_q          <= '0;
    end else begin
      if (write_i) write_address_q <= next_address(write_address_q);
      if (read_i) begin
        read_address_q <= rewind_i ? oldest_q : next_read;
        if (rewind_i) read_q <= '0;
        else if (!free_i) read_q <= read_q + 1'b1;
        if (free_i) oldest_q <= next_read;
      end
      occupied_q <= occupied_q + CountWidth'(reserve_i) - CountWidth'(read_i && free_i);
      stored_q   <= stored_q + CountWidth'(write_i) - CountWidth'(read_i && free_i);
    end
  end

  ram_1r1w #(.WORDS(WORDS), .WIDTH(32)) u_words (
    .clk_i,
    .write_i,
    .write_address_i(write_address_q),
    .write_data_i,
    .read_i,
    .read_address_i (read_address_q),
    .read_data_o
  );

  `EYRIE_STATIC(WordsLegal, WORDS >= 64 && WORDS <= 1024, "WORDS is not 64 to 1,024")
  `EYRIE_ASSERT_WHEN(ReserveHasRoom, reserve_i, !full_o, "more words reserved than WORDS")
  `EYRIE_ASSERT_WHEN(WriteReserved, write_i, stored_q < occupied_q, "a word without reserved space")
  `EYRIE_ASSERT_WHEN(ReadAvailable, read_i, available_o, "a read without a word")
  `EYRIE_ASSERT_WHEN(FreeOldest, read_i && free_i, read_q == '0 && !rewind_i,
      "a word is freed before an older one")
  `EYRIE_ASSERT(ReadStored, read_q <= stored_q && stored_q <= occupied_q &&
      occupied_q <= CountWidth'(WORDS), "more words read than written, or written than reserved")
  `EYRIE_COVER(Full, full_o)

endmodule
