// SPDX-License-Identifier: Apache-2.0
// Processing element (PE). It multiplies 32-bit words of 4 int8 channels, one word per cycle, and
// keeps its partial sums (psums) until they are final.
//
// Four queues hold operands: ifmap words (convolution and depthwise), pixels (pointwise), filters
// and depthwise taps. Pixels come from the ifmap network or, in a fused pass, from the SUPER of the
// column. The sequencer picks a pair of operands. The sum of their products is added to the psum
// buffer two cycles later. Depthwise products are added per channel over the taps (depthwise_sums)
// and then joined with the sums of the other rows. The SUPER returns a depthwise word only after
// its sums have left the PEs, so the PE never receives a word of a pass that it has not begun.
//
// The PE uses only words of its current pass. Words of the next pass can be queued after them.
// overrun_o: a pass receives more words than it uses.
//
// Adder chain: a transfer from the PE above moves on in the next cycle. If its control bits select
// the row of this PE, the PE waits until the psum half is complete and adds its sum, or the sums of
// two adjacent pixels. The control bit free marks the last use of the half.

`include "assertions.svh"

module pe
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter pe_sizes_t  SIZES,      // sizes of a PE; it does not use the word buffer size
  parameter logic [1:0] ROW = 2'd0  // row in its set
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  array_passes_t   passes_i,
  output logic            pass_phase_o,
  input  logic            enable_i,

  input  operands_t       operands_i,        // operands from the networks
  output operands_ready_t operands_ready_o,
  input  word_request_t   word_i,            // depthwise words from the SUPER
  output logic            word_ready_o,
  output dw_request_t     dw_o,              // depthwise sums of this row
  input  logic            dw_ready_i,
  input  chain_transfer_t chain_i,           // adder chain from the PE above
  output logic            chain_ready_o,
  output chain_transfer_t chain_o,           // adder chain to the PE below
  input  logic            chain_ready_i,

  output logic            overrun_o,
  output pe_activity_t    activity_o         // activity of the previous cycle
);

  localparam int unsigned TapWords = 10;    // at least a row's 7 taps; 10: both bands of 5x5
  localparam int unsigned DwSumsDepth = 4;  // pixels in depthwise_sums

  // ---- Operand queues ----

  logic [$clog2(SIZES.ifmap_words+1)-1:0]  ifmap_count, ifmap_offset, ifmap_pop;
  logic [$clog2(SIZES.filter_words+1)-1:0] filter_count, filter_offset, filter_pop;
  logic [$clog2(SIZES.pixel_words+1)-1:0]  pixel_count, pixel_offset, pixel_pop;
  logic [$clog2(TapWords+1)-1:0]           tap_count, tap_offset, tap_pop;
  word_t        ifmap_word, filter_word, pixel_word, tap_word;
  logic         ifmap_ready, pixel_valid, pixel_ready;
  logic [1:0]   pixel_lanes;
  word_t [1:0]  pixel_data;
  logic         running, accept, fused, pointwise;
  array_mode_e  mode;

  assign fused     = running && mode == ArrayFused;
  assign pointwise = running && mode == ArrayPointwise;

  operand_queue #(.DEPTH(SIZES.ifmap_words), .PUSH(2)) u_ifmap_queue (
    .clk_i, .rst_ni,
    .accept_i     (accept),
    .push_valid_i (operands_i.ifmap.valid && !operands_i.ifmap.to_pixels),
    .push_ready_o (ifmap_ready),
    .push_own_i   (operands_i.ifmap.pass_phase == pass_phase_o),
    .push_lanes_i (operands_i.ifmap.lanes),
    .push_data_i  (operands_i.ifmap.data),
    .count_o      (ifmap_count),
    .read_offset_i(ifmap_offset),
    .read_data_o  (ifmap_word),
    .pop_i        (ifmap_pop)
  );

  // The mode of the current pass selects the source of pixels.
  assign pixel_valid = fused
      ? word_i.valid
      : pointwise && operands_i.ifmap.valid && operands_i.ifmap.to_pixels;
  assign pixel_lanes = fused ? 2'b01 : operands_i.ifmap.lanes;
  assign pixel_data  = fused ? {word_t'(0), word_i.data} : operands_i.ifmap.data;

  assign operands_ready_o.ifmap =
      operands_i.ifmap.to_pixels ? (pointwise && pixel_ready) : ifmap_ready;
  assign word_ready_o = fused && pixel_ready;

  operand_queue #(.DEPTH(SIZES.pixel_words), .PUSH(2)) u_pixel_queue (
    .clk_i, .rst_ni,
    .accept_i     (accept),
    .push_valid_i (pixel_valid),
    .push_ready_o (pixel_ready),
    .push_own_i   (fused || operands_i.ifmap.pass_phase == pass_phase_o),
    .push_lanes_i (pixel_lanes),
    .push_data_i  (pixel_data),
    .count_o      (pixel_count),
    .read_offset_i(pixel_offset),
    .read_data_o  (pixel_word),
    .pop_i        (pixel_pop)
  );

  operand_queue #(.DEPTH(SIZES.filter_words), .PUSH(SIZES.filter_lanes)) u_filter_queue (
    .clk_i, .rst_ni,
    .accept_i     (accept),
    .push_valid_i (operands_i.filter.valid),
    .push_ready_o (operands_ready_o.filter),
    .push_own_i   (operands_i.filter.pass_phase == pass_phase_o),
    .push_lanes_i (operands_i.filter.lanes[SIZES.filter_lanes-1:0]),
    .push_data_i  (operands_i.filter.data[SIZES.filter_lanes-1:0]),
    .count_o      (filter_count),
    .read_offset_i(filter_offset),
    .read_data_o  (filter_word),
    .pop_i        (filter_pop)
  );

  operand_queue #(.DEPTH(TapWords)) u_tap_queue (
    .clk_i, .rst_ni,
    .accept_i     (accept),
    .push_valid_i (operands_i.tap.valid),
    .push_ready_o (operands_ready_o.tap),
    .push_own_i   (operands_i.tap.pass_phase == pass_phase_o),
    .push_lanes_i (1'b1),
    .push_data_i  (operands_i.tap.data),
    .count_o      (tap_count),
    .read_offset_i(tap_offset),
    .read_data_o  (tap_word),
    .pop_i        (tap_pop)
  );

  // ---- Sequencer ----

  logic       issue_valid, issue_ready, issue_pixel, issue_offset;
  logic signed [7:0] issue_zero_point;
  product_t   issue;
  logic       half_reserve, dw_sums_room;
  logic [1:0] half_reserved;
  pe_wait_e   waits;

  pe_sequencer #(
    .IFMAP_WORDS (SIZES.ifmap_words),
    .FILTER_WORDS(SIZES.filter_words),
    .PIXEL_WORDS (SIZES.pixel_words),
    .TAP_WORDS   (TapWords),
    .PSUM_WORDS  (SIZES.psum_words)
  ) u_sequencer (
    .clk_i, .rst_ni, .passes_i, .pass_phase_o, .enable_i,
    .row_i          (ROW),
    .running_o      (running),
    .accept_o       (accept),
    .mode_o         (mode),
    .ifmap_count_i  (ifmap_count),
    .ifmap_offset_o (ifmap_offset),
    .ifmap_pop_o    (ifmap_pop),
    .filter_count_i (filter_count),
    .filter_offset_o(filter_offset),
    .filter_pop_o   (filter_pop),
    .pixel_count_i  (pixel_count),
    .pixel_offset_o (pixel_offset),
    .pixel_pop_o    (pixel_pop),
    .tap_count_i    (tap_count),
    .tap_offset_o   (tap_offset),
    .tap_pop_o      (tap_pop),
    .dw_sums_room_i (dw_sums_room),
    .half_reserved_i(half_reserved),
    .half_reserve_o (half_reserve),
    .issue_valid_o  (issue_valid),
    .issue_ready_i  (issue_ready),
    .issue_pixel_o  (issue_pixel),
    .issue_offset_o (issue_offset),
    .issue_zero_point_o(issue_zero_point),
    .issue_o        (issue),
    .wait_o         (waits)
  );

  // ---- Overrun: words left in the queues or pending ----

  logic overrun_ifmap, overrun_filter, overrun_tap;

  assign overrun_ifmap =
      operands_i.ifmap.valid && operands_i.ifmap.lanes != '0 &&
      is_overrun(operands_i.ifmap.pass_phase, pass_phase_o, passes_i.pass_phase, running);
  assign overrun_filter =
      operands_i.filter.valid && operands_i.filter.lanes != '0 &&
      is_overrun(operands_i.filter.pass_phase, pass_phase_o, passes_i.pass_phase, running);
  assign overrun_tap =
      operands_i.tap.valid &&
      is_overrun(operands_i.tap.pass_phase, pass_phase_o, passes_i.pass_phase, running);
  assign overrun_o = overrun_ifmap || overrun_filter || overrun_tap ||
                     (!running && (ifmap_count != '0 || pixel_count != '0 ||
                                   filter_count != '0 || tap_count != '0));

  // ---- Multiply ----

  word_t                           activation_word, weight_word;
  logic        [WordChannels-1:0][8:0]  activations, weights;
  logic                            product_valid;
  logic signed [WordChannels-1:0][16:0] products;
  logic signed [18:0]              dot;
  product_t                        product_q;

  assign activation_word = issue_pixel ? pixel_word : ifmap_word;
  assign weight_word     = issue.depthwise ? tap_word : filter_word;

  for (genvar lane = 0; lane < WordChannels; lane++) begin : gen_activation
    logic [7:0] q;
    assign q = activation_word[8*lane +: 8];
    assign activations[lane] = issue_offset ? {1'b0, !q[7], q[6:0]} : {q[7], q};
  end

  // The filter zero point is subtracted here, so that queues and networks carry bytes.
  for (genvar lane = 0; lane < WordChannels; lane++) begin : gen_weight
    assign weights[lane] = 9'($signed(weight_word[8*lane +: 8])) - 9'(issue_zero_point);
  end

  dot4 #(.MULTIPLIERS(SIZES.multipliers)) u_dot4 (
    .clk_i, .rst_ni,
    .valid_i       (issue_valid),
    .ready_o       (issue_ready),
    .activations_i (activations),
    .weights_i     (weights),
    .valid_o       (product_valid),
    .products_o    (products),
    .sum_o         (dot),
    .counted_o     (activity_o.multiplies),
    .zero_skipped_o(activity_o.zero_skipped)
  );

  always_ff @(posedge clk_i) begin
    if (issue_valid && issue_ready) product_q <= issue;
  end

  // ---- Accumulate ----

  logic chain_accept, chain_free, selected, releases;
  logic half_full;
  sum_t [1:0] own_sums;

  psum_buffer #(.WORDS(SIZES.psum_words)) u_psum_buffer (
    .clk_i, .rst_ni,
    .reserve_i     (half_reserve),
    .reserve_half_i(issue.half),
    .reserved_o    (half_reserved),
    .add_valid_i   (product_valid && !product_q.depthwise),
    .add_i         (product_q),
    .add_value_i   (dot),
    .full_o        (half_full),
    .read_i        (chain_accept && selected),
    .read_index_i  (chain_i.control.index),
    .read_two_i    (chain_i.control.two_pixels),
    .sums_o        (own_sums),
    .drained_i     (chain_accept && releases),
    .free_i        (chain_free)
  );

  // ---- Depthwise sums ----

  depthwise_sums #(.DEPTH(DwSumsDepth)) u_dw_sums (
    .clk_i, .rst_ni,
    .room_o     (dw_sums_room),
    .reserve_i  (issue_valid && issue_ready && issue.depthwise && issue.first),
    .add_valid_i(product_valid && product_q.depthwise),
    .add_first_i(product_q.first),
    .add_last_i (product_q.last),
    .add_end_i  (product_q.pixel_end),
    .add_again_i(product_q.again),
    .products_i (products),
    .sums_o     (dw_o),
    .ready_i    (dw_ready_i)
  );

  // ---- Adder chain: own sums are read one cycle after a transfer is accepted ----

  logic           chain_valid_q;
  chain_control_t chain_control_q;
  sum_t [1:0]     chain_sums_q;

  assign selected      = chain_i.control.add[ROW];
  assign releases      = chain_i.control.free[ROW];
  assign chain_ready_o = (!chain_valid_q || chain_ready_i) &&
                         (!(selected || releases) || half_full);
  assign chain_accept  = chain_i.valid && chain_ready_o;
  assign chain_free    = chain_valid_q && chain_ready_i && chain_control_q.free[ROW];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) chain_valid_q <= 1'b0;
    else if (chain_accept) chain_valid_q <= 1'b1;
    else if (chain_ready_i) chain_valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (chain_accept) begin
      chain_control_q <= chain_i.control;
      chain_sums_q    <= chain_i.sums;
    end
  end

  always_comb begin : add_own
    chain_o = '{valid: chain_valid_q, control: chain_control_q, sums: chain_sums_q};
    if (chain_control_q.add[ROW]) begin
      for (int unsigned n = 0; n < 2; n++) chain_o.sums[n] = chain_sums_q[n] + own_sums[n];
    end
  end

  // ---- Activity, one cycle late ----

  pe_wait_e waits_q;
  logic     behind_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q  <= WaitPass;
      behind_q <= 1'b0;
    end else begin
      waits_q  <= waits;
      behind_q <= pass_phase_o != passes_i.pass_phase && waits != WaitPass;
    end
  end

  assign activity_o.waits  = waits_q;
  assign activity_o.behind = behind_q;

  logic unused_lanes;  // lanes beyond FILTER_LANES
  assign unused_lanes = ^operands_i.filter;

  `EYRIE_ASSERT_WHEN(WorksOrWaits, activity_o.multiplies, activity_o.waits == WaitNone,
      "a PE multiplies and waits in one cycle")
  `EYRIE_STABLE(Chain, chain_o.valid, chain_ready_i, {chain_o.control, chain_o.sums})

endmodule
