// SPDX-License-Identifier: Apache-2.0
// Decides which word a PE multiplies in each cycle.
//
// Work is divided into groups: depthwise groups (depthwise_sequencer), and pointwise or convolution
// groups (psum_sequencer). The sequencer selects the kind of group in every cycle, so that no cycle
// is lost between groups. A depthwise group has priority once all its operands are in the queues,
// even between two filters of a pointwise group. This keeps the ifmap stream moving and overlaps
// the requantisation of a group with the pointwise work of the group before. A depthwise group
// pauses before a pixel without a slot in depthwise_sums. Between two bands of a depthwise group
// the PE goes on with pointwise work until the operands are there.
//
// A PE accepts a pass in one cycle, if running_o is low and the pending phase bit differs from its
// own. A PE that is not in use (enable_i low or no filters) only stores the phase bit.

`include "assertions.svh"

module pe_sequencer
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned IFMAP_WORDS = 16,   // depth of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // depth of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,   // depth of a PE's pixel queue
  parameter int unsigned TAP_WORDS = 10,     // depth of a PE's tap queue
  parameter int unsigned PSUM_WORDS = 128,   // psums in a half of a PE's psum buffer
  localparam int unsigned IfmapWidth  = $clog2(IFMAP_WORDS + 1),
  localparam int unsigned FilterWidth = $clog2(FILTER_WORDS + 1),
  localparam int unsigned PixelWidth  = $clog2(PIXEL_WORDS + 1),
  localparam int unsigned TapWidth    = $clog2(TAP_WORDS + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  // Pass configuration
  input  array_passes_t          passes_i,
  output logic                   pass_phase_o,
  input  logic                   enable_i,
  input  logic [1:0]             row_i,            // row in the set
  output logic                   running_o,
  output logic                   accept_o,           // the pending pass is accepted
  output array_mode_e            mode_o,

  // Operand queues
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

  // Destinations of results
  input  logic                   dw_sums_room_i,   // space for another pixel
  input  logic [1:0]             half_reserved_i,  // psum halves in use
  output logic                   half_reserve_o,   // a tile starts in half issue_o.half

  // The word to multiply
  output logic                   issue_valid_o,
  input  logic                   issue_ready_i,
  output logic                   issue_pixel_o,    // the activation is a pointwise pixel
  output logic                   issue_offset_o,   // the activation is read as q ^ 0x80
  output logic signed [7:0]      issue_zero_point_o,  // zero point of the filter
  output product_t               issue_o,

  output pe_wait_e               wait_o            // reason why no word is multiplied
);

  typedef enum logic [1:0] {OpNone, OpDepthwise, OpPsum} op_e;

  array_shape_t shape;
  array_loops_t loops;
  logic [8:0]   filters, filters_next;
  logic         running_q, pass_phase_q, dw_done_q, half_q;
  logic         accept, start, issue, step, work_last;
  op_e          op;
  logic         group_first, group_last, replay_last, tile_last, outer_last;
  logic         dw_replay_last, dw_outer_last;

  // ---- Pass ----

  logic [SetRows-1:0][8:0] filters_by_row, pending_by_row;
  logic [1:0]              first_row;  // row with the first filter of the tile

  always_comb begin : assign_rows
    unique case (first_row)
      2'd1:    filters_by_row = {shape.filters_1, shape.filters_0, shape.filters_2};
      2'd2:    filters_by_row = {shape.filters_0, shape.filters_2, shape.filters_1};
      default: filters_by_row = {shape.filters_2, shape.filters_1, shape.filters_0};
    endcase
  end

  assign pending_by_row =
      {passes_i.pending.filters_2, passes_i.pending.filters_1, passes_i.pending.filters_0};

  assign shape        = passes_i.held[pass_phase_q].shape;
  assign loops        = passes_i.held[pass_phase_q].loops;
  assign filters      = filters_by_row[row_i];
  assign filters_next = pending_by_row[row_i];

  assign accept = !running_q && passes_i.pass_phase != pass_phase_q;
  assign start  = accept && enable_i &&
                  (filters_next != '0 || passes_i.pending.mode == ArrayDepthwise);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q    <= 1'b0;
      pass_phase_q <= 1'b0;
      dw_done_q    <= 1'b0;
    end else begin
      if (accept) pass_phase_q <= passes_i.pass_phase;
      if (start) begin
        running_q <= 1'b1;
        dw_done_q <= passes_i.pending.mode != ArrayFused && passes_i.pending.mode != ArrayDepthwise;
      end else if (step) begin
        if (op == OpDepthwise && dw_replay_last && dw_outer_last) dw_done_q <= 1'b1;
        if (work_last) running_q <= 1'b0;
      end
    end
  end

  assign pass_phase_o = pass_phase_q;
  assign running_o    = running_q;
  assign accept_o     = accept;
  assign mode_o       = array_mode_e'(shape.mode);

  // ---- Groups ----

  pass_loops u_loops (
    .clk_i, .rst_ni,
    .loops_i      (loops),
    .start_i      (start),
    .step_i       (step && op == OpPsum),
    .group_first_o(group_first),
    .group_last_o (group_last),
    .replay_last_o(replay_last),
    .tile_last_o  (tile_last),
    .outer_last_o (outer_last)
  );

  filter_round_robin u_round_robin (
    .clk_i, .rst_ni,
    .rotation_i (shape.rotation),
    .start_i    (start),
    .tile_end_i (step && op == OpPsum && replay_last),
    .tile_last_i(tile_last),
    .row_o      (first_row)
  );

  logic unused_dw_group_first, unused_dw_group_last, unused_dw_tile_last;
  pass_loops #(.TILES(1'b0)) u_depthwise_loops (
    .clk_i, .rst_ni,
    .loops_i      (loops),
    .start_i      (start),
    .step_i       (step && op == OpDepthwise),
    .group_first_o(unused_dw_group_first),
    .group_last_o (unused_dw_group_last),
    .replay_last_o(dw_replay_last),
    .tile_last_o  (unused_dw_tile_last),
    .outer_last_o (dw_outer_last)
  );

  assign work_last = (op == OpDepthwise)
      ? (mode_o == ArrayDepthwise && dw_replay_last && dw_outer_last)
      : (replay_last && tile_last && outer_last);

  // ---- Words within a group ----

  logic                  dw_ready, dw_busy, dw_first, dw_last, dw_band_last;
  logic                  dw_pixel_end, dw_group_last;
  logic                  psum_ready, psum_busy, psum_between, psum_available, filter_available;
  logic                  psum_first, psum_group_last;
  logic [IfmapWidth-1:0] dw_ifmap_offset, dw_ifmap_pop, psum_ifmap_offset, psum_ifmap_pop;
  psum_index_t           psum_index;

  depthwise_sequencer #(.IFMAP_WORDS(IFMAP_WORDS), .TAP_WORDS(TAP_WORDS)) u_depthwise (
    .clk_i, .rst_ni,
    .shape_i       (shape),
    .bands_i       (loops.bands),
    .group_words_i (passes_i.group_words[pass_phase_q]),
    .ifmap_count_i,
    .ifmap_offset_o(dw_ifmap_offset),
    .ifmap_pop_o   (dw_ifmap_pop),
    .tap_count_i, .tap_offset_o, .tap_pop_o,
    .ready_o       (dw_ready),
    .busy_o        (dw_busy),
    .step_i        (issue && issue_ready_i && op == OpDepthwise),
    .first_o       (dw_first),
    .last_o        (dw_last),
    .pixel_end_o   (dw_pixel_end),
    .band_last_o   (dw_band_last),
    .group_last_o  (dw_group_last)
  );

  psum_sequencer #(
    .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS), .PIXEL_WORDS(PIXEL_WORDS)
  ) u_psum (
    .clk_i, .rst_ni,
    .shape_i           (shape),
    .filters_i         (filters),
    .ifmap_count_i,
    .ifmap_offset_o    (psum_ifmap_offset),
    .ifmap_pop_o       (psum_ifmap_pop),
    .filter_count_i, .filter_offset_o, .filter_pop_o,
    .pixel_count_i, .pixel_offset_o, .pixel_pop_o,
    .ready_o           (psum_ready),
    .busy_o            (psum_busy),
    .between_o         (psum_between),
    .available_o       (psum_available),
    .filter_available_o(filter_available),
    .step_i            (issue && issue_ready_i && op == OpPsum),
    .first_o           (psum_first),
    .group_last_o      (psum_group_last),
    .index_o           (psum_index)
  );

  // A pass uses ifmap words for one kind of group only.
  assign ifmap_offset_o = (mode_o == ArrayConvolution) ? psum_ifmap_offset : dw_ifmap_offset;
  assign ifmap_pop_o    = (mode_o == ArrayConvolution) ? psum_ifmap_pop : dw_ifmap_pop;

  // ---- Choice of the operation ----

  // A depthwise pixel needs a slot for its sum. Without one, pointwise work continues, since the
  // words that occupy the slots may depend on it.
  logic dw_slot, dw_may_go, psum_may_start, half_missing;

  assign dw_slot        = !dw_first || dw_sums_room_i;
  assign dw_may_go      = dw_slot && (dw_busy || (!dw_done_q && dw_ready));
  assign half_missing   = group_first && half_reserved_i[half_q];
  assign psum_may_start = mode_o != ArrayDepthwise && !half_missing && psum_ready;

  always_comb begin : choose_operation
    op = OpNone;
    if (running_q) begin
      if (dw_may_go && !(psum_busy && !psum_between)) op = OpDepthwise;
      else if (psum_busy || psum_may_start) op = OpPsum;
    end
  end

  assign issue = op == OpDepthwise || (op == OpPsum && psum_available);
  assign step  = issue && issue_ready_i &&
                 ((op == OpDepthwise) ? dw_group_last : psum_group_last);

  // ---- Psum halves ----

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) half_q <= 1'b0;
    else if (step && op == OpPsum && group_last) half_q <= !half_q;
  end

  assign half_reserve_o = issue && issue_ready_i && op == OpPsum && !psum_busy && group_first;

  // ---- The word to multiply ----

  assign issue_valid_o  = issue;
  assign issue_pixel_o  = op == OpPsum && mode_o != ArrayConvolution;
  assign issue_offset_o = issue_pixel_o ? shape.word_offset : shape.ifmap_offset;
  assign issue_zero_point_o =
      (op == OpDepthwise) ? shape.depthwise_zero_point : shape.filter_zero_point;
  assign issue_o = '{
    depthwise: op == OpDepthwise,
    first:     (op == OpDepthwise) ? dw_first : psum_first && group_first,
    last:      dw_last,
    pixel_end: dw_pixel_end,
    again:     dw_band_last,
    tile_last: op == OpPsum && group_last && psum_group_last,
    half:      half_q,
    index:     psum_index
  };

  // ---- Reason to wait ----

  always_comb begin : find_wait
    wait_o = WaitNone;
    if (!issue_ready_i) wait_o = WaitNone;  // the multiplier is busy
    else if (!running_q) wait_o = WaitPass;
    else if (!issue) begin
      if (op == OpPsum) wait_o = filter_available ? WaitIfmap : WaitFilter;
      else if (mode_o == ArrayDepthwise) wait_o = WaitIfmap;
      else if (half_missing) wait_o = WaitPsum;
      else if (!dw_done_q && dw_slot) wait_o = WaitIfmap;
      else wait_o = WaitWords;
    end
  end

  logic unused_fields;  // used by the SUPER
  assign unused_fields = ^{passes_i, shape};

  `EYRIE_ASSERT_WHEN(PsumFits, start && passes_i.pending.mode != ArrayDepthwise,
      16'(passes_i.pending.pixels) * 16'(filters_next) <= 16'(PSUM_WORDS),
      $sformatf("%0d pixels x %0d filters exceed the psum buffer",
                passes_i.pending.pixels, filters_next))

endmodule
