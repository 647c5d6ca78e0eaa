// SPDX-License-Identifier: Apache-2.0
// Depthwise requantiser of a column: adds the bias, requantises and clamps depthwise sums. A
// channel takes two cycles, a word of 4 channels eight. This is the rate at which a GLB port of one
// word per cycle accepts the words of 8 columns.
//
// Sums arrive pixel by pixel, pixels_i for each group. The quantisation parameters of a group (9
// GLB words, docs/hardware/overview.md) arrive beforehand; two blocks are stored. Space for a word
// is reserved (reserve_o) before its first channel enters the requantizer; full_i holds that
// channel back.
//
// The first cycle of a channel reads its parameters and selects its sum. The second cycle hands
// both to the requantizer.

`include "assertions.svh"

module dw_requantizer
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  depthwise_output_t cfg_i,
  input  logic [8:0]        pixels_i,
  input  logic              enable_i,
  output logic              group_issued_o, // the last sum of a group is issued
  output logic              busy_o,         // words are in flight to the buffer

  input  logic              pass_phase_i,   // pass in progress
  input  logic              parameters_valid_i,
  output logic              parameters_ready_o,
  input  logic              parameters_phase_i,
  input  glb_word_t         parameters_data_i,
  input  logic              parameters_half_i,   // this column uses channels 4 to 7
  output logic              parameters_any_o,    // parameters of the pass are stored

  input  logic              sums_valid_i,
  output logic              sums_ready_o,
  input  dw_sums_t          sums_i,

  input  logic              full_i,
  output logic              reserve_o,
  output logic              write_o,
  output word_t             write_data_o
);

  localparam logic [1:0] LastChannel = 2'(WordChannels - 1);

  // ---- A channel into the requantizer ----

  logic [1:0]         channel_q;
  logic [8:0]         pixel_q;
  logic               begins, second_q, word_issued, group_issued, parameters_valid;
  logic signed [DwSumWidth-1:0] sum_q;
  sum_t               bias;
  logic signed [31:0] multiplier;
  logic signed [7:0]  shift;
  logic               result_valid;
  logic signed [7:0]  result;
  logic [1:0]         result_channel;

  assign begins       = enable_i && sums_valid_i && parameters_valid && !second_q &&
                        (channel_q != '0 || !full_i);
  assign word_issued  = second_q && channel_q == LastChannel;
  assign group_issued = word_issued && pixel_q == pixels_i - 9'd1;
  assign reserve_o    = begins && channel_q == '0;
  assign sums_ready_o = word_issued;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      second_q  <= 1'b0;
      channel_q <= '0;
      pixel_q   <= '0;
    end else begin
      second_q <= begins;
      if (second_q) channel_q <= channel_q + 2'd1;
      if (word_issued) pixel_q <= group_issued ? '0 : pixel_q + 9'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (begins) sum_q <= sums_i[channel_q];
  end

  parameter_buffer #(.CHANNELS(WordChannels)) u_parameters (
    .clk_i, .rst_ni, .pass_phase_i, .parameters_valid_i, .parameters_ready_o, .parameters_phase_i,
    .parameters_i(parameters_data_i),
    .half_i      (parameters_half_i),
    .valid_o     (parameters_valid),
    .any_o       (parameters_any_o),
    .read_i      (begins),
    .channel_i   (channel_q),
    .bias_o      (bias),
    .multiplier_o(multiplier),
    .shift_o     (shift),
    .pop_i       (group_issued)
  );

  requantizer #(.STEPS(2), .TAG_WIDTH(2)) u_requantizer (
    .clk_i, .rst_ni,
    .enable_i    (1'b1),
    .valid_i     (second_q),
    .tag_i       (channel_q),
    .sums_i      (sum_t'(sum_q)),
    .biases_i    (bias),
    .multiplier_i(multiplier),
    .shift_i     (shift),
    .second_i    ('0),
    .second_multiplier_i ('0),
    .second_right_shift_i('0),
    .zero_point_i(cfg_i.zero_point),
    .act_min_i   (cfg_i.act_min),
    .act_max_i   (cfg_i.act_max),
    .valid_o     (result_valid),
    .tag_o       (result_channel),
    .results_o   (result)
  );

  // ---- Pack ----

  logic [WordChannels-2:0][7:0] bytes_q;
  logic [1:0]                   in_flight_q;

  always_ff @(posedge clk_i) begin
    if (result_valid && result_channel != LastChannel) bytes_q[result_channel] <= result;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) in_flight_q <= '0;
    else         in_flight_q <= in_flight_q + 2'(reserve_o) - 2'(write_o);
  end

  assign write_o        = result_valid && result_channel == LastChannel;
  assign write_data_o   = {result, bytes_q};
  assign group_issued_o = group_issued;
  assign busy_o         = in_flight_q != '0;

  `EYRIE_ASSERT_WHEN(WriteReserved, write_o, in_flight_q != '0, "a word without reserved space")
  `EYRIE_ASSERT_WHEN(InFlightFits, reserve_o && !write_o, in_flight_q != '1,
      "more words in flight than can be counted")
  `EYRIE_ASSERT_WHEN(SumsWait, second_q, sums_valid_i && parameters_valid && enable_i,
      "sums or parameters leave within a channel")
  `EYRIE_ASSERT_WHEN(WithinPixels, second_q, pixel_q < pixels_i, "a sum beyond its group's pixels")
  `EYRIE_ASSERT_WHEN(ConfigHolds, second_q || busy_o, $stable({cfg_i, pixels_i}),
      "configuration changes with words in flight")
  `EYRIE_COVER(WaitRoom, enable_i && sums_valid_i && parameters_valid && channel_q == '0 && full_i)
  `EYRIE_COVER(WaitParameters, enable_i && sums_valid_i && !parameters_valid)

endmodule
