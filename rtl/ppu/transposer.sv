// SPDX-License-Identifier: Apache-2.0
// Converts transfers (one channel of every column) to GLB words (up to 8 channels of one column).
//
// A block of transfers, channels 0, 1, ... up to the one with last_i, fills a bank. Then the words
// of columns 0 to columns_i - 1 leave the bank while the next block fills the other bank. With 8
// channels and 8 columns it accepts a transfer and delivers a word in every cycle. Bytes of missing
// channels are 0. With two_pixels_i a transfer has the values of two adjacent pixels, and both
// words of a column leave together; all transfers of a block have the same two_pixels_i.
//
// raw_i: a transfer has 32 bits per column, half a word (channel 0: the low half, 1: the high
// half). Otherwise it uses the low byte of each column. word_last_o marks the last word of a block
// that ended with pass_last_i. transfer_ready_o depends on registers only. columns_i (1 to COLS)
// and raw_i are stable from the first transfer to the last word.
`include "assertions.svh"

module transposer
  import eyrie_pkg::*;
#(
  parameter int unsigned COLS = 8  // PE columns
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [4:0]       columns_i,
  input  logic             raw_i,

  input  logic             transfer_valid_i,
  output logic             transfer_ready_o,
  input  word_t [1:0][COLS-1:0] transfer_i,    // values of one pixel or of two
  input  logic             two_pixels_i,
  input  logic [2:0]       channel_i,
  input  logic             last_i,
  input  logic             pass_last_i,

  output logic             word_valid_o,
  input  logic             word_ready_i,
  output glb_word_t [1:0]  words_o,
  output logic             words_two_o,    // words of two pixels; low without words
  output logic             word_last_o
);

  localparam int unsigned ColumnWidth = $clog2(COLS);

  glb_word_t [COLS-1:0][1:0] bank_d [2], bank_q [2];
  logic [1:0]             full_d, full_q, pass_last_d, pass_last_q, two_d, two_q;
  logic                   write_d, write_q, read_d, read_q;
  logic [ColumnWidth-1:0] column_d, column_q;
  logic                   push, pop, last_column;

  assign transfer_ready_o = !full_q[write_q];
  assign push             = transfer_valid_i && transfer_ready_o;

  assign word_valid_o = full_q[read_q];
  assign words_o      = bank_q[read_q][column_q];
  assign words_two_o  = word_valid_o && two_q[read_q];
  assign last_column  = 5'(column_q) == columns_i - 1'b1;
  assign word_last_o  = pass_last_q[read_q] && last_column;
  assign pop          = word_valid_o && word_ready_i;

  always_comb begin : next_bank
    bank_d = bank_q;
    if (push) begin
      for (int unsigned column = 0; column < COLS; column++) begin
        if (channel_i == '0) bank_d[write_q][column] = '0;
        for (int unsigned pixel = 0; pixel < 2; pixel++) begin
          if (!raw_i && (pixel == 0 || two_pixels_i)) begin
            bank_d[write_q][column][pixel][8*channel_i +: 8] = transfer_i[pixel][column][7:0];
          end
        end
        if (raw_i) bank_d[write_q][column][0][32*channel_i[0] +: 32] = transfer_i[0][column];
      end
    end
  end

  always_comb begin : next_state
    full_d      = full_q;
    pass_last_d = pass_last_q;
    two_d       = two_q;
    write_d     = write_q;
    read_d      = read_q;
    column_d    = column_q;
    if (push && last_i) begin
      full_d[write_q]      = 1'b1;
      pass_last_d[write_q] = pass_last_i;
      two_d[write_q]       = two_pixels_i;
      write_d              = !write_q;
    end
    if (pop) begin
      column_d = column_q + 1'b1;
      if (last_column) begin
        column_d       = '0;
        full_d[read_q] = 1'b0;
        read_d         = !read_q;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q      <= '0;
      pass_last_q <= '0;
      two_q       <= '0;
      write_q     <= 1'b0;
      read_q      <= 1'b0;
      column_q    <= '0;
    end else begin
      full_q      <= full_d;
      pass_last_q <= pass_last_d;
      two_q       <= two_d;
      write_q     <= write_d;
      read_q      <= read_d;
      column_q    <= column_d;
    end
  end

  always_ff @(posedge clk_i) bank_q <= bank_d;

  `ifndef SYNTHESIS
  logic [2:0] expected_q;  // channel of the next transfer
  logic       begun_two_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      expected_q  <= '0;
      begun_two_q <= 1'b0;
    end else if (push) begin
      expected_q  <= last_i ? '0 : channel_i + 1'b1;
      begun_two_q <= two_pixels_i;
    end
  end
  `endif

  `EYRIE_ASSERT_WHEN(ChannelsInTurn, push, channel_i == expected_q, "a channel is out of order")
  `EYRIE_ASSERT_WHEN(AllTwo, push && channel_i != '0, two_pixels_i == begun_two_q,
      "a block mixes one pixel and two pixels")
  `EYRIE_ASSERT_WHEN(RawOfOne, push && raw_i, !two_pixels_i, "raw words with two pixels")
  `EYRIE_ASSERT_WHEN(RawHalves, push && raw_i, channel_i < 3'd2, "a raw word has two halves")
  `EYRIE_ASSERT_WHEN(ColumnsInRange, push || word_valid_o,
      (columns_i != '0) && (columns_i <= 5'(COLS)), "the number of columns in use is illegal")
  `EYRIE_STABLE(WordStable, word_valid_o, word_ready_i, {words_o, words_two_o, word_last_o})
  `EYRIE_COVER(BothFull, &full_q)

endmodule
