// SPDX-License-Identifier: Apache-2.0
// The requantisation tables of two blocks of 8 channels: one in use, the next arriving.
//
// A table is 9 words (encoding_pkg::TableWords): 4 of two biases each, 4 of two multipliers each, 1
// of eight shifts; lower channels in the lower bits. table_ready_o falls when both are there.
// valid_o: a complete table is in use; the entry of channel_i is at the output (combinational).
// pop_i, only with valid_o: the block is done, the next table comes into use.
`include "assertions.svh"

module table_buffer
  import eyrie_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               table_valid_i,
  output logic               table_ready_o,
  input  glb_word_t          table_i,

  input  logic [2:0]         channel_i,
  output logic               valid_o,
  output sum_t               bias_o,
  output logic signed [31:0] multiplier_o,
  output logic signed [7:0]  shift_o,
  input  logic               pop_i
);

  localparam logic [3:0] LastWord = 4'(encoding_pkg::TableWords - 1);

  glb_word_t  words_q [2][encoding_pkg::TableWords];
  logic [1:0] full_d, full_q;
  logic       write_d, write_q, read_d, read_q;
  logic [3:0] count_d, count_q;
  logic       push;
  glb_word_t  bias_pair, multiplier_pair, shifts;

  assign table_ready_o = !full_q[write_q];
  assign push          = table_valid_i && table_ready_o;

  always_comb begin : next_state
    full_d  = full_q;
    write_d = write_q;
    read_d  = read_q;
    count_d = count_q;
    if (push) begin
      count_d = count_q + 1'b1;
      if (count_q == LastWord) begin
        count_d         = '0;
        full_d[write_q] = 1'b1;
        write_d         = !write_q;
      end
    end
    if (pop_i) begin
      full_d[read_q] = 1'b0;
      read_d         = !read_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q  <= '0;
      write_q <= 1'b0;
      read_q  <= 1'b0;
      count_q <= '0;
    end else begin
      full_q  <= full_d;
      write_q <= write_d;
      read_q  <= read_d;
      count_q <= count_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) words_q[write_q][count_q] <= table_i;
  end

  assign bias_pair       = words_q[read_q][{2'b00, channel_i[2:1]}];
  assign multiplier_pair = words_q[read_q][{2'b01, channel_i[2:1]}];
  assign shifts          = words_q[read_q][LastWord];

  assign valid_o      = full_q[read_q];
  assign bias_o       = channel_i[0] ? bias_pair[63:32] : bias_pair[31:0];
  assign multiplier_o = channel_i[0] ? multiplier_pair[63:32] : multiplier_pair[31:0];
  assign shift_o      = shifts[8*channel_i +: 8];

  `EYRIE_ASSERT_WHEN(PopOnlyValid, pop_i, valid_o, "a block ended without a table")
  `EYRIE_STABLE(TableStable, table_valid_i, table_ready_o, table_i)
  `EYRIE_COVER(BothFull, &full_q)

endmodule
