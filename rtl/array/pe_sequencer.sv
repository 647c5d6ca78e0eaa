// SPDX-License-Identifier: Apache-2.0
// Decides what a PE multiplies in each cycle.
//
// Work comes in operations: a depthwise group, a pointwise group, or a convolution group. Within an
// operation the loops are, outermost first:
//   depthwise: pixel f, tap s;  pointwise: filter m, pixel f;
//   convolution: pixel f, filter m, tap s.
// An operation is chosen in the cycle in which it starts, so that no cycle is lost between two. A
// depthwise group goes first as soon as all it needs is there, between two filters of a pointwise
// group too: the ifmap stream is never held up for long, and the requantisation of a group hides
// behind the pointwise work of the one before.
//
// A pass starts where running_o is low, the offered epoch differs and takes effect in one cycle; a
// PE that takes no part (enable_i low, or no filters) only notes the epoch.

`include "assertions.svh"

module pe_sequencer
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned IFMAP_WORDS = 9,    // words of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // words of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 8,    // words of a PE's pixel queue
  parameter int unsigned TAP_WORDS = 12,     // words of a PE's tap queue
  parameter int unsigned PSUM_WORDS = 128,   // sums in each half of a PE
  localparam int unsigned IfmapWidth  = $clog2(IFMAP_WORDS + 1),
  localparam int unsigned FilterWidth = $clog2(FILTER_WORDS + 1),
  localparam int unsigned PixelWidth  = $clog2(PIXEL_WORDS + 1),
  localparam int unsigned TapWidth    = $clog2(TAP_WORDS + 1),
  localparam int unsigned IndexWidth  = $clog2(PSUM_WORDS)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  // Pass configuration.
  input  array_config_t          cfg_i,
  input  logic                   cfg_epoch_i,
  output logic                   cfg_epoch_o,
  input  logic                   enable_i,
  input  logic [1:0]             row_i,        // of the set
  output logic                   running_o,
  output array_mode_e            mode_o,

  // Operand queues.
  input  logic [IfmapWidth-1:0]  ifmap_count_i,
  output logic [IfmapWidth-1:0]  ifmap_offset_o,
  output logic [IfmapWidth-1:0]  ifmap_pop_o,
  input  logic [FilterWidth-1:0] filter_count_i,
  output logic [FilterWidth-1:0] filter_offset_o,
  output logic [FilterWidth-1:0] filter_pop_o,
  input  logic [PixelWidth-1:0]  pixel_count_i,
  output logic [PixelWidth-1:0]  pixel_offset_o,
  output logic [PixelWidth-1:0]  pixel_pop_o,
  input  logic [TapWidth-1:0]    tap_count_i,
  output logic [TapWidth-1:0]    tap_offset_o,
  output logic [TapWidth-1:0]    tap_pop_o,

  // Where results go.
  input  logic                   dw_sums_empty_i,  // room for a depthwise group
  input  logic [1:0]             half_reserved_i,  // psum halves in use
  output logic                   half_reserve_o,   // a tile starts in half half_o

  // One word to multiply.
  output logic                   issue_valid_o,
  input  logic                   issue_ready_i,
  output logic                   issue_depthwise_o,
  output logic                   issue_pixel_o,     // the activation is a pointwise pixel
  output logic                   issue_offset_o,    // the activation is read as q ^ 0x80
  output logic                   issue_first_o,     // the sum starts here
  output logic                   issue_last_o,      // depthwise: the sum is complete
  output logic                   issue_tile_last_o, // the psum half is complete
  output logic                   issue_half_o,
  output logic [IndexWidth-1:0]  issue_index_o,

  output pe_wait_e               wait_o             // why no word is multiplied in this cycle
);

  typedef enum logic [1:0] {OpNone, OpDepthwise, OpPointwise, OpConvolution} op_e;

  array_shape_t shape_q;
  array_loops_t loops_q;
  logic         running_q, epoch_q;
  logic         take, start;

  op_e          op_q, op;
  logic         active_q;
  logic [8:0]   pixel_q, filter_q, filters_q, filters_next;
  logic [1:0]   tap_q;
  logic [FilterWidth-1:0] filter_offset_q;
  logic [IndexWidth-1:0]  index_q;
  logic         half_q;
  logic         dw_active_q;         // a depthwise group is under way
  logic [8:0]   dw_pixel_q;
  logic [1:0]   dw_tap_q;

  logic         issue, step;
  logic         tap_last, pixel_last, filter_last, dw_tap_last, dw_pixel_last, op_last;
  logic [3:0]   window, pixel_pop, group_words;
  logic         dw_ready, dw_done_q, group_ready;
  logic         group_first, group_last, replay_last, tile_last, outer_last;
  logic         dw_replay_last, dw_outer_last;
  logic         work_last;

  // ---- Pass ----

  always_comb begin : select_filters
    unique case (row_i)
      2'd0:    filters_next = cfg_i.shape.filters_0;
      2'd1:    filters_next = cfg_i.shape.filters_1;
      default: filters_next = cfg_i.shape.filters_2;
    endcase
  end

  assign take  = !running_q && cfg_epoch_i != epoch_q;
  assign start = take && enable_i &&
                 (filters_next != '0 || cfg_i.shape.mode == ArrayDepthwise);

  pass_loops u_loops (
    .clk_i, .rst_ni,
    .loops_i      (loops_q),
    .start_i      (start),
    .step_i       (step && op != OpDepthwise),
    .group_first_o(group_first),
    .group_last_o (group_last),
    .replay_last_o(replay_last),
    .tile_last_o  (tile_last),
    .outer_last_o (outer_last)
  );

  logic unused_dw_group_first, unused_dw_group_last, unused_dw_tile_last;
  pass_loops #(.TILES(1'b0)) u_depthwise_loops (
    .clk_i, .rst_ni,
    .loops_i      (loops_q),
    .start_i      (start),
    .step_i       (step && op == OpDepthwise),
    .group_first_o(unused_dw_group_first),
    .group_last_o (unused_dw_group_last),
    .replay_last_o(dw_replay_last),
    .tile_last_o  (unused_dw_tile_last),
    .outer_last_o (dw_outer_last)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      epoch_q   <= 1'b0;
      dw_done_q <= 1'b0;
    end else begin
      if (take) epoch_q <= cfg_epoch_i;
      if (start) begin
        running_q <= 1'b1;
        dw_done_q <= cfg_i.shape.mode != ArrayFused && cfg_i.shape.mode != ArrayDepthwise;
      end else if (step) begin
        if (op == OpDepthwise && dw_replay_last && dw_outer_last) dw_done_q <= 1'b1;
        if (work_last) running_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      shape_q <= cfg_i.shape;
      loops_q <= cfg_i.loops;
      filters_q <= filters_next;
    end
  end

  assign cfg_epoch_o = epoch_q;
  assign running_o   = running_q;
  assign mode_o      = array_mode_e'(shape_q.mode);

  // ---- Choice of the operation ----

  // Ifmap words a pixel needs, those it leaves behind, those of a whole depthwise group.
  assign window      = {2'b0, shape_q.taps};
  assign pixel_pop   = shape_q.stride_2 ? 4'd2 : 4'd1;
  assign group_words = 4'((shape_q.pixels - 9'd1) << shape_q.stride_2) + window;

  assign dw_ready = !dw_done_q && dw_sums_empty_i && tap_count_i >= TapWidth'(DepthwiseTaps) &&
                    4'(ifmap_count_i) >= group_words;

  assign group_ready = (!group_first || !half_reserved_i[half_q]) &&
                       (mode_o == ArrayConvolution || 9'(pixel_count_i) >= shape_q.pixels);

  always_comb begin : choose_operation
    op = OpNone;
    if (running_q) begin
      if (dw_active_q || (dw_ready && !(active_q && pixel_q != '0))) op = OpDepthwise;
      else if (active_q) op = op_q;
      else if (mode_o != ArrayDepthwise && group_ready) begin
        op = (mode_o == ArrayConvolution) ? OpConvolution : OpPointwise;
      end
    end
  end

  // ---- Loops within the operation ----

  assign tap_last    = tap_q == shape_q.taps - 2'd1;
  assign pixel_last  = pixel_q == shape_q.pixels - 9'd1;
  assign filter_last = filter_q == filters_q - 9'd1;
  assign dw_tap_last   = dw_tap_q == shape_q.taps - 2'd1;
  assign dw_pixel_last = dw_pixel_q == shape_q.pixels - 9'd1;

  always_comb begin : operation_step
    issue           = 1'b0;
    op_last         = 1'b0;
    ifmap_pop_o     = '0;
    filter_pop_o    = '0;
    pixel_pop_o     = '0;
    tap_pop_o       = '0;
    filter_offset_o = '0;
    unique case (op)
      OpDepthwise: begin
        issue   = 1'b1;
        op_last = dw_tap_last && dw_pixel_last;
        if (dw_tap_last) ifmap_pop_o = IfmapWidth'(dw_pixel_last ? window : pixel_pop);
        if (op_last) tap_pop_o = TapWidth'(DepthwiseTaps);
      end
      OpPointwise: begin
        issue   = filter_count_i != '0;
        op_last = filter_last && pixel_last;
        if (pixel_last) filter_pop_o = FilterWidth'(1);
        if (op_last) pixel_pop_o = PixelWidth'(shape_q.pixels);
      end
      OpConvolution: begin
        filter_offset_o = filter_offset_q;
        issue   = filter_count_i > filter_offset_q && 4'(ifmap_count_i) >= window &&
                  (pixel_last || 4'(ifmap_count_i) >= pixel_pop);
        op_last = pixel_last && filter_last && tap_last;
        if (filter_last && tap_last) begin
          ifmap_pop_o = IfmapWidth'(pixel_last ? window : pixel_pop);
        end
        if (op_last) filter_pop_o = filter_offset_q + FilterWidth'(1);
      end
      default: ;
    endcase
    if (!(issue && issue_ready_i)) begin
      ifmap_pop_o  = '0;
      filter_pop_o = '0;
      pixel_pop_o  = '0;
      tap_pop_o    = '0;
    end
  end

  assign step = issue && issue_ready_i && op_last;
  assign work_last = (op == OpDepthwise)
      ? (mode_o == ArrayDepthwise && dw_replay_last && dw_outer_last)
      : (replay_last && tile_last && outer_last);

  assign ifmap_offset_o = IfmapWidth'((op == OpDepthwise) ? dw_tap_q : tap_q);
  assign tap_offset_o   = TapWidth'(dw_tap_q);
  assign pixel_offset_o = PixelWidth'(pixel_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      dw_active_q     <= 1'b0;
      dw_pixel_q      <= '0;
      dw_tap_q        <= '0;
      active_q        <= 1'b0;
      op_q            <= OpNone;
      pixel_q         <= '0;
      filter_q        <= '0;
      tap_q           <= '0;
      filter_offset_q <= '0;
      index_q         <= '0;
    end else if (issue && issue_ready_i) begin
      if (op == OpDepthwise) begin
        dw_active_q <= !op_last;
      end else begin
        active_q <= !op_last;
        op_q     <= op;
      end
      unique case (op)
        OpDepthwise: begin
          dw_tap_q <= dw_tap_last ? '0 : dw_tap_q + 2'd1;
          if (dw_tap_last) dw_pixel_q <= dw_pixel_last ? '0 : dw_pixel_q + 9'd1;
        end
        OpPointwise: begin
          pixel_q <= pixel_last ? '0 : pixel_q + 9'd1;
          if (pixel_last) filter_q <= filter_last ? '0 : filter_q + 9'd1;
          index_q <= op_last ? '0 : index_q + IndexWidth'(1);
        end
        default: begin
          tap_q           <= tap_last ? '0 : tap_q + 2'd1;
          filter_offset_q <= filter_offset_q + FilterWidth'(1);
          if (tap_last) begin
            filter_q <= filter_last ? '0 : filter_q + 9'd1;
            index_q  <= index_q + IndexWidth'(shape_q.pixels);
            if (filter_last) begin
              filter_offset_q <= '0;
              pixel_q         <= pixel_last ? '0 : pixel_q + 9'd1;
              index_q         <= pixel_last ? '0 : IndexWidth'(pixel_q) + IndexWidth'(1);
            end
          end
        end
      endcase
    end
  end

  // ---- Psum halves ----

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) half_q <= 1'b0;
    else if (step && op != OpDepthwise && group_last) half_q <= !half_q;
  end

  assign half_reserve_o = issue && issue_ready_i && !active_q && op != OpDepthwise && group_first;

  // ---- The word ----

  assign issue_valid_o     = issue;
  assign issue_depthwise_o = op == OpDepthwise;
  assign issue_pixel_o     = op == OpPointwise;
  assign issue_offset_o    = (op == OpPointwise) ? shape_q.word_offset : shape_q.ifmap_offset;
  assign issue_first_o     = (op == OpDepthwise || op == OpConvolution)
      ? (op == OpDepthwise ? dw_tap_q == '0 : tap_q == '0 && group_first)
      : group_first;
  assign issue_last_o      = dw_tap_last;
  assign issue_tile_last_o = op != OpDepthwise && group_last && op_last;
  assign issue_half_o      = half_q;
  assign issue_index_o     = index_q;

  // ---- What is missing ----

  always_comb begin : find_wait
    wait_o = WaitNone;
    if (!issue_ready_i) begin
      wait_o = WaitNone;  // the multiplier is at work on the word before
    end else if (!running_q) begin
      wait_o = WaitPass;
    end else if (!issue) begin
      if (op == OpPointwise) wait_o = WaitFilter;
      else if (op == OpConvolution) begin
        wait_o = (filter_count_i > filter_offset_q) ? WaitIfmap : WaitFilter;
      end else if (mode_o == ArrayDepthwise) wait_o = WaitIfmap;
      else if (group_first && half_reserved_i[half_q]) wait_o = WaitPsum;
      else if (!dw_done_q && dw_sums_empty_i) wait_o = WaitIfmap;
      else wait_o = WaitWords;
    end
  end

  // The SUPER requantises depthwise words; of the filters, filters_q is this row's number.
  logic unused_fields;
  assign unused_fields = ^{cfg_i.depthwise, shape_q.filters_0, shape_q.filters_1,
                           shape_q.filters_2};

  `EYRIE_ASSERT_WHEN(PsumFits, start && cfg_i.shape.mode != ArrayDepthwise,
      16'(cfg_i.shape.pixels) * 16'(filters_next) <= 16'(PSUM_WORDS),
      $sformatf("%0d pixels x %0d filters do not fit the psum buffer",
                cfg_i.shape.pixels, filters_next))

endmodule
