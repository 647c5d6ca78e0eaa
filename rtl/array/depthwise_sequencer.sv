// SPDX-License-Identifier: Apache-2.0
// Steps through the words of a depthwise group: band, pixel f, tap s. A kernel of more rows than a
// set has bands of SetRows rows, and each PE works on its row of one band after the other.
//
// ready_o: all ifmap words and taps of a band are in the queues, so that the band never waits for
// operands. step_i: the word at the offsets is multiplied.
//
// The last pixel of a band removes each tap as it is used, so that the taps of the next band can
// arrive.

`include "assertions.svh"

module depthwise_sequencer
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned IFMAP_WORDS = 16,  // depth of a PE's ifmap queue
  parameter int unsigned TAP_WORDS = 10,    // depth of a PE's tap queue
  localparam int unsigned IfmapWidth = $clog2(IFMAP_WORDS + 1),
  localparam int unsigned TapWidth   = $clog2(TAP_WORDS + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  array_shape_t          shape_i,
  input  logic [1:0]            bands_i,
  input  group_words_t          group_words_i,  // ifmap words per band

  input  logic [IfmapWidth-1:0] ifmap_count_i,
  output logic [IfmapWidth-1:0] ifmap_offset_o,
  output logic [IfmapWidth-1:0] ifmap_pop_o,
  input  logic [TapWidth-1:0]   tap_count_i,
  output logic [TapWidth-1:0]   tap_offset_o,
  output logic [TapWidth-1:0]   tap_pop_o,

  output logic                  ready_o,
  output logic                  busy_o,        // a band is in progress
  input  logic                  step_i,
  output logic                  first_o,       // first word of a sum
  output logic                  last_o,        // last word of a sum
  output logic                  pixel_end_o,   // last word of a pixel in a band
  output logic                  band_last_o,   // last word of a band that has another one after it
  output logic                  group_last_o   // last word of the group
);

  typedef enum logic {
    StIdle,  // between bands
    StBand   // within one
  } state_e;

  state_e     state_d, state_q;
  logic [1:0] band_q;
  logic [8:0] pixel_q;
  logic [2:0] tap_q;
  logic       tap_last, pixel_last, band_end, last_band;

  assign ready_o = tap_count_i >= TapWidth'(shape_i.taps) &&
                   group_words_t'(ifmap_count_i) >= group_words_i;

  assign tap_last     = tap_q == shape_i.taps - 3'd1;
  assign pixel_last   = pixel_q == shape_i.pixels - 9'd1;
  assign last_band    = band_q == bands_i - 2'd1;
  assign band_end     = tap_last && pixel_last;
  assign busy_o       = state_q == StBand;
  assign first_o      = tap_q == '0 && band_q == '0;
  assign last_o       = tap_last && last_band;
  assign pixel_end_o  = tap_last;
  assign band_last_o  = band_end && !last_band;
  assign group_last_o = band_end && last_band;

  assign ifmap_offset_o = IfmapWidth'(tap_q);
  assign tap_offset_o   = pixel_last ? '0 : TapWidth'(tap_q);

  // A pixel keeps the words that the next pixel starts with; the last pixel keeps none.
  always_comb begin : use_up
    ifmap_pop_o = '0;
    tap_pop_o   = '0;
    if (step_i && tap_last) begin
      ifmap_pop_o = shape_i.stride_2 ? IfmapWidth'(2) : IfmapWidth'(1);
      if (pixel_last) ifmap_pop_o = IfmapWidth'(shape_i.taps);
    end
    if (step_i && pixel_last) tap_pop_o = TapWidth'(1);
  end

  always_comb begin : next_state
    state_d = state_q;
    if (step_i) state_d = band_end ? StIdle : StBand;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      band_q  <= '0;
      pixel_q <= '0;
      tap_q   <= '0;
    end else begin
      state_q <= state_d;
      if (step_i) begin
        tap_q <= tap_last ? '0 : tap_q + 3'd1;
        if (tap_last) pixel_q <= pixel_last ? '0 : pixel_q + 9'd1;
        if (band_end) band_q <= last_band ? '0 : band_q + 2'd1;
      end
    end
  end

  logic unused_fields;
  assign unused_fields = ^{shape_i.mode, shape_i.ifmap_offset, shape_i.word_offset,
                           shape_i.filters_0, shape_i.filters_1, shape_i.filters_2,
                           shape_i.rotation, shape_i.filter_zero_point,
                           shape_i.depthwise_zero_point};

  `EYRIE_ASSERT_WHEN(StartsComplete, step_i && state_q == StIdle, ready_o,
      "a band of a depthwise group begins without all its words")

endmodule
