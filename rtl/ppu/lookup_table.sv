// SPDX-License-Identifier: Apache-2.0
// A table of 256 int8 entries, and the lookup of the 8 values of a GLB word. A word leaves one
// cycle after it was accepted; it accepts one word per cycle.
//
// Each channel has a copy of the table. start_i begins a pass; then the table arrives, 32 words
// with the entries of -128, -127, ..., 127. Words wait until it is complete.
`include "assertions.svh"

module lookup_table
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  input  logic      start_i,

  input  logic      table_valid_i,  // words of the table
  output logic      table_ready_o,
  input  glb_word_t table_i,

  input  logic      word_valid_i,
  output logic      word_ready_o,
  input  glb_word_t word_i,
  input  logic      word_last_i,

  output logic      word_valid_o,
  input  logic      word_ready_i,
  output glb_word_t word_o,
  output logic      word_last_o
);

  logic [5:0] entries_q;  // words of the table received
  logic       full_q;     // an accepted word has not left
  logic       last_q, load, accept;

  assign table_ready_o = entries_q != 6'(LookupWords);
  assign load          = table_valid_i && table_ready_o;
  assign word_ready_o  = !table_ready_o && (!full_q || word_ready_i);
  assign accept        = word_valid_i && word_ready_o;
  assign word_valid_o  = full_q;
  assign word_last_o   = last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      entries_q <= '0;
      full_q    <= 1'b0;
    end else begin
      if (start_i) entries_q <= '0;
      else if (load) entries_q <= entries_q + 1'b1;
      if (accept) full_q <= 1'b1;
      else if (word_ready_i) full_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) last_q <= word_last_i;
  end

  for (genvar channel = 0; channel < int'(BlockChannels); channel++) begin : gen_channel
    logic [7:0]      value;
    logic [2:0]      place_q;  // of the entry in its word
    logic [7:0][7:0] entries;

    assign value = word_i[8*channel +: 8];

    always_ff @(posedge clk_i) begin
      if (accept) place_q <= value[2:0];
    end

    // The address inverts the sign bit, so that entry 0 belongs to -128. The upper bits of a value
    // select the word.
    ram_1r1w #(.WORDS(LookupWords), .WIDTH(64)) u_entries (
      .clk_i,
      .write_i        (load),
      .write_address_i(entries_q[4:0]),
      .write_data_i   (table_i),
      .read_i         (accept),
      .read_address_i ({!value[7], value[6:3]}),
      .read_data_o    (entries)
    );

    assign word_o[8*channel +: 8] = entries[place_q];
  end

  `EYRIE_STABLE(Word, word_valid_o, word_ready_i, {word_o, word_last_o})
  `EYRIE_COVER(WaitsForTable, word_valid_i && table_ready_o)
  `EYRIE_COVER(WaitsForOfmap, word_valid_o && !word_ready_i)

endmodule
