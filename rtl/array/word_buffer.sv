// SPDX-License-Identifier: Apache-2.0
// The depthwise words of a SUPER: a ring written once and read, possibly several times, in order.
//
// Words enter behind each other; reserve_i takes the space of one beforehand (full_o: none left).
// A read takes the word read_offset_i after the base; it is there if read_valid_o. free_i gives one
// word's space back; base_step_i moves the base on by that many words.

`include "assertions.svh"

module word_buffer
  import eyrie_pkg::*;
#(
  parameter int unsigned WORDS = 256  // of 4 channels
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        reserve_i,
  output logic        full_o,
  input  logic        write_i,
  input  word_t       write_data_i,

  input  logic [15:0] read_offset_i,
  output logic        read_valid_o,
  output word_t       read_data_o,
  input  logic        free_i,
  input  logic [15:0] base_step_i
);

  localparam int unsigned AddressWidth = $clog2(WORDS);

  word_t                   words_q [WORDS];
  logic [AddressWidth-1:0] write_address_q, base_q;
  logic [AddressWidth:0]   occupied_q;
  logic [15:0]             available_q;  // words written since the base

  assign full_o       = occupied_q == (AddressWidth + 1)'(WORDS);
  assign read_valid_o = read_offset_i < available_q;
  assign read_data_o  = words_q[base_q + AddressWidth'(read_offset_i)];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_address_q <= '0;
      base_q          <= '0;
      occupied_q      <= '0;
      available_q     <= '0;
    end else begin
      write_address_q <= write_address_q + AddressWidth'(write_i);
      base_q          <= base_q + AddressWidth'(base_step_i);
      occupied_q      <= occupied_q + (AddressWidth + 1)'(reserve_i) - (AddressWidth + 1)'(free_i);
      available_q     <= available_q + 16'(write_i) - base_step_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[write_address_q] <= write_data_i;
  end

  `EYRIE_ASSERT_WHEN(ReserveHasRoom, reserve_i, !full_o, "reserved beyond its size")
  `EYRIE_ASSERT_WHEN(FreeOccupied, free_i, occupied_q != '0, "freed a word that is not there")

endmodule
