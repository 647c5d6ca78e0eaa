// SPDX-License-Identifier: Apache-2.0
// Steps through the words of a pointwise or convolution group, outermost loop first:
//
//   pointwise: filter m, pixel f
//   convolution: pixel f, filter m, tap s
//
// The psum index is m * F + f. available_o: the operands of the next word are in the queues.
// step_i: the word is multiplied.

`include "assertions.svh"

module psum_sequencer
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned IFMAP_WORDS = 16,   // depth of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // depth of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,   // depth of a PE's pixel queue
  localparam int unsigned IfmapWidth  = $clog2(IFMAP_WORDS + 1),
  localparam int unsigned FilterWidth = $clog2(FILTER_WORDS + 1),
  localparam int unsigned PixelWidth  = $clog2(PIXEL_WORDS + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  array_shape_t           shape_i,
  input  logic [8:0]             filters_i,      // filters of this PE

  input  logic [IfmapWidth-1:0]  ifmap_count_i,
  output logic [IfmapWidth-1:0]  ifmap_offset_o,
  output logic [IfmapWidth-1:0]  ifmap_pop_o,
  input  logic [FilterWidth-1:0] filter_count_i,
  output logic [FilterWidth-1:0] filter_offset_o,
  output logic [FilterWidth-1:0] filter_pop_o,
  input  logic [PixelWidth-1:0]  pixel_count_i,
  output logic [PixelWidth-1:0]  pixel_offset_o,
  output logic [PixelWidth-1:0]  pixel_pop_o,

  output logic                   ready_o,        // all pixels of a pointwise group are queued
  output logic                   busy_o,         // a group is in progress
  output logic                   between_o,      // pointwise: before the first pixel of a filter
  output logic                   available_o,
  output logic                   filter_available_o, // the filter word is queued
  input  logic                   step_i,
  output logic                   first_o,        // first word of a psum in the group
  output logic                   group_last_o,   // last word of the group
  output psum_index_t            index_o
);

  typedef enum logic {
    StIdle,  // between groups
    StGroup  // within one
  } state_e;

  state_e                 state_d, state_q;
  logic [8:0]             pixel_q, filter_q;
  logic [1:0]             tap_q;
  logic [FilterWidth-1:0] filter_offset_q;
  psum_index_t            index_q;
  logic                   convolution, tap_last, pixel_last, filter_last;
  logic [IfmapWidth-1:0]  window, stride;
  logic                   ifmap_available;

  assign convolution = shape_i.mode == ArrayConvolution;
  assign window      = IfmapWidth'(shape_i.taps);
  assign stride      = shape_i.stride_2 ? IfmapWidth'(2) : IfmapWidth'(1);
  assign tap_last    = tap_q == shape_i.taps[1:0] - 2'd1;
  assign pixel_last  = pixel_q == shape_i.pixels - 9'd1;
  assign filter_last = filter_q == filters_i - 9'd1;

  // ---- Operands ----

  // The words that a pixel removes must be queued, too.
  assign ifmap_available    = ifmap_count_i >= window && (pixel_last || ifmap_count_i >= stride);
  assign filter_available_o = filter_count_i > filter_offset_o;
  assign available_o        = filter_available_o && (ifmap_available || !convolution);
  assign ready_o            = convolution || 9'(pixel_count_i) >= shape_i.pixels;

  assign ifmap_offset_o  = IfmapWidth'(tap_q);
  // The last pixel removes each filter word as it is used, so that the next word is at the head.
  assign filter_offset_o = (convolution && !pixel_last) ? filter_offset_q : '0;
  assign pixel_offset_o  = PixelWidth'(pixel_q);

  always_comb begin : use_up
    ifmap_pop_o  = '0;
    filter_pop_o = '0;
    pixel_pop_o  = '0;
    if (step_i && pixel_last) filter_pop_o = FilterWidth'(1);
    if (step_i && convolution) begin
      if (filter_last && tap_last) ifmap_pop_o = pixel_last ? window : stride;
    end else if (step_i) begin
      if (group_last_o) pixel_pop_o = PixelWidth'(shape_i.pixels);
    end
  end

  // ---- Loops ----

  assign busy_o       = state_q == StGroup;
  assign between_o    = pixel_q == '0;
  assign first_o      = !convolution || tap_q == '0;
  assign group_last_o = pixel_last && filter_last && (tap_last || !convolution);
  assign index_o      = index_q;

  always_comb begin : next_state
    state_d = state_q;
    if (step_i) state_d = group_last_o ? StIdle : StGroup;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q         <= StIdle;
      pixel_q         <= '0;
      filter_q        <= '0;
      tap_q           <= '0;
      filter_offset_q <= '0;
      index_q         <= '0;
    end else begin
      state_q <= state_d;
      if (step_i && convolution) begin
        tap_q           <= tap_last ? '0 : tap_q + 2'd1;
        filter_offset_q <= filter_offset_q + FilterWidth'(1);
        if (tap_last) begin
          filter_q <= filter_last ? '0 : filter_q + 9'd1;
          index_q  <= index_q + psum_index_t'(shape_i.pixels);
          if (filter_last) begin
            filter_offset_q <= '0;
            pixel_q         <= pixel_last ? '0 : pixel_q + 9'd1;
            index_q         <= pixel_last ? '0 : psum_index_t'(pixel_q + 9'd1);
          end
        end
      end else if (step_i) begin
        pixel_q <= pixel_last ? '0 : pixel_q + 9'd1;
        if (pixel_last) filter_q <= filter_last ? '0 : filter_q + 9'd1;
        index_q <= group_last_o ? '0 : index_q + 8'd1;
      end
    end
  end

  logic unused_fields;
  assign unused_fields = ^{shape_i.ifmap_offset, shape_i.word_offset, shape_i.filters_0,
                           shape_i.filters_1, shape_i.filters_2, shape_i.rotation,
                           shape_i.filter_zero_point,
                           shape_i.depthwise_zero_point};

  `EYRIE_ASSERT_WHEN(StepsOnOperands, step_i, available_o, "a word without its operands")
  `EYRIE_ASSERT_WHEN(WithinLoops, step_i, pixel_q < shape_i.pixels && filter_q < filters_i,
      "a word beyond the pixels or filters of its group")

endmodule
