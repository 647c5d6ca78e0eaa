// SPDX-License-Identifier: Apache-2.0
// Finishes the depthwise sums of a column: bias, requantisation, clamp; one channel a cycle, one
// word of 4 channels every 4 cycles.
//
// Sums come pixel by pixel, `pixels_i` of them for each group; a group's table (9 GLB words, see
// docs/machine.md) is taken from the table stream beforehand, two of them kept. A word's space is
// reserved (reserve_o) before its first channel enters the requantizer; full_i holds that back.

`include "assertions.svh"

module dw_finisher
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  depthwise_output_t cfg_i,
  input  logic [7:0]        pixels_i,
  input  logic              enable_i,
  output logic              group_issued_o, // a group's last sum is on its way
  output logic              busy_o,         // words are on their way to the buffer

  input  logic              table_valid_i,
  output logic              table_ready_o,
  input  glb_word_t         table_data_i,
  input  logic              table_half_i,   // the half of the 8 channels that is ours

  input  logic              sums_valid_i,
  output logic              sums_ready_o,
  input  dw_sums_t          sums_i,

  input  logic              full_i,
  output logic              reserve_o,
  output logic              write_o,
  output word_t             write_data_o
);

  typedef struct packed {
    logic signed [WordChannels-1:0][31:0] bias;
    logic signed [WordChannels-1:0][31:0] multiplier;
    logic signed [WordChannels-1:0][7:0]  shift;
  } table_t;

  localparam logic [3:0] LastTableWord = 4'(TableWords - 1);

  // ---- Tables: one arrives while the other is in use ----

  table_t     table_q [2];
  logic [1:0] table_full_q;
  logic       fill_q, use_q;
  logic [3:0] table_word_q;
  logic       table_take, group_issued;

  assign table_ready_o = !table_full_q[fill_q];
  assign table_take    = table_valid_i && table_ready_o;

  always_ff @(posedge clk_i) begin
    if (table_take) begin
      // Biases 0 to 7 in words 0 to 3, multipliers in words 4 to 7, shifts in word 8.
      if (table_word_q == LastTableWord) begin
        table_q[fill_q].shift <= table_half_i ? table_data_i[63:32] : table_data_i[31:0];
      end else if (table_word_q[1] == table_half_i) begin
        if (table_word_q[2]) table_q[fill_q].multiplier[{table_word_q[0], 1'b0} +: 2] <= table_data_i;
        else                 table_q[fill_q].bias[{table_word_q[0], 1'b0} +: 2] <= table_data_i;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      table_full_q <= '0;
      fill_q       <= 1'b0;
      use_q        <= 1'b0;
      table_word_q <= '0;
    end else begin
      if (table_take) begin
        table_word_q <= (table_word_q == LastTableWord) ? '0 : table_word_q + 4'd1;
        if (table_word_q == LastTableWord) begin
          table_full_q[fill_q] <= 1'b1;
          fill_q               <= !fill_q;
        end
      end
      if (group_issued) begin
        table_full_q[use_q] <= 1'b0;
        use_q               <= !use_q;
      end
    end
  end

  // ---- One channel a cycle into the requantizer ----

  localparam logic [1:0] LastChannel = 2'(WordChannels - 1);

  logic [1:0]        channel_q;
  logic [7:0]        pixel_q;
  logic              issue, word_issued;
  logic              result_valid;
  logic signed [7:0] result;
  logic [1:0]        result_channel;

  assign issue        = enable_i && sums_valid_i && table_full_q[use_q] &&
                        (channel_q != '0 || !full_i);
  assign word_issued  = issue && channel_q == LastChannel;
  assign group_issued = word_issued && pixel_q == pixels_i - 8'd1;
  assign reserve_o    = issue && channel_q == '0;
  assign sums_ready_o = enable_i && table_full_q[use_q] && channel_q == LastChannel;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      channel_q <= '0;
      pixel_q   <= '0;
    end else begin
      if (issue) channel_q <= channel_q + 2'd1;
      if (word_issued) pixel_q <= group_issued ? '0 : pixel_q + 8'd1;
    end
  end

  requantizer #(.TAG_WIDTH(2)) u_requantizer (
    .clk_i, .rst_ni,
    .enable_i    (1'b1),
    .valid_i     (issue),
    .tag_i       (channel_q),
    .sum_i       (32'($signed(sums_i[channel_q]))),
    .bias_i      (table_q[use_q].bias[channel_q]),
    .multiplier_i(table_q[use_q].multiplier[channel_q]),
    .shift_i     (table_q[use_q].shift[channel_q]),
    .zero_point_i(cfg_i.zero_point),
    .act_min_i   (cfg_i.act_min),
    .act_max_i   (cfg_i.act_max),
    .valid_o     (result_valid),
    .tag_o       (result_channel),
    .result_o    (result)
  );

  // ---- Pack ----

  logic [WordChannels-2:0][7:0] bytes_q;
  logic [2:0]                   in_flight_q;

  always_ff @(posedge clk_i) begin
    if (result_valid && result_channel != LastChannel) bytes_q[result_channel] <= result;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) in_flight_q <= '0;
    else         in_flight_q <= in_flight_q + 3'(reserve_o) - 3'(write_o);
  end

  assign write_o        = result_valid && result_channel == LastChannel;
  assign write_data_o   = {result, bytes_q};
  assign group_issued_o = group_issued;
  assign busy_o         = in_flight_q != '0;

  `EYRIE_ASSERT_WHEN(WriteReserved, write_o, in_flight_q != '0, "a word without space for it")
  `EYRIE_ASSERT_WHEN(InFlightFits, reserve_o && !write_o, in_flight_q != '1,
      "more words on their way than can be counted")

endmodule
