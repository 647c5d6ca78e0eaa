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
  input  logic [8:0]        pixels_i,
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

  // ---- One channel a cycle into the requantizer ----

  localparam logic [1:0] LastChannel = 2'(WordChannels - 1);

  logic [1:0]         channel_q;
  logic [8:0]         pixel_q;
  logic               issue, word_issued, group_issued, table_valid;
  sum_t               bias;
  logic signed [31:0] multiplier;
  logic signed [7:0]  shift;
  logic               result_valid;
  logic signed [7:0]  result;
  logic [1:0]         result_channel;

  assign issue        = enable_i && sums_valid_i && table_valid &&
                        (channel_q != '0 || !full_i);
  assign word_issued  = issue && channel_q == LastChannel;
  assign group_issued = word_issued && pixel_q == pixels_i - 9'd1;
  assign reserve_o    = issue && channel_q == '0;
  assign sums_ready_o = enable_i && table_valid && channel_q == LastChannel;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      channel_q <= '0;
      pixel_q   <= '0;
    end else begin
      if (issue) channel_q <= channel_q + 2'd1;
      if (word_issued) pixel_q <= group_issued ? '0 : pixel_q + 9'd1;
    end
  end

  table_buffer #(.CHANNELS(WordChannels)) u_table (
    .clk_i, .rst_ni, .table_valid_i, .table_ready_o,
    .table_i     (table_data_i),
    .half_i      (table_half_i),
    .channel_i   (channel_q),
    .valid_o     (table_valid),
    .bias_o      (bias),
    .multiplier_o(multiplier),
    .shift_o     (shift),
    .pop_i       (group_issued)
  );

  requantizer #(.TAG_WIDTH(2)) u_requantizer (
    .clk_i, .rst_ni,
    .enable_i    (1'b1),
    .valid_i     (issue),
    .tag_i       (channel_q),
    .sum_i       (32'($signed(sums_i[channel_q]))),
    .bias_i      (bias),
    .multiplier_i(multiplier),
    .shift_i     (shift),
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
