// SPDX-License-Identifier: Apache-2.0
// Processing element: consumes 32-bit words of 4 int8 channels, one a cycle, and keeps its partial
// sums until they are final.
//
// Operands wait in four queues: ifmap words (convolution and depthwise), pixels (pointwise; from
// the ifmap network or, in a fused pass, from the SUPER of the column), filters, depthwise taps.
// The sequencer picks an operand pair; the sum of products goes to the psum buffer two cycles
// later. Depthwise products are summed per channel over the three taps and wait in a small queue,
// to be joined with those of the rows above (dw_*). A word comes back from the SUPER only after the
// sum it is made of has left here, so never one of a pass that this PE has not begun.
//
// Sum chain: a beat from above moves on in the next cycle; where its phase names this PE's row, the
// PE adds its sum, after waiting for the psum half to be complete. free: the half is drained.

`include "assertions.svh"

module pe
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned MULTIPLIERS = 4,    // of a PE: 4 or 1
  parameter int unsigned IFMAP_WORDS = 9,    // words of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // words of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 8,    // words of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,   // sums in each half of a PE
  parameter int unsigned FILTER_LANES = 1,   // filter words a cycle: 1 or 2
  parameter logic [1:0]  ROW = 2'd0          // of its set
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  input  array_config_t cfg_i,
  input  logic          cfg_epoch_i,
  output logic          cfg_epoch_o,
  input  logic          enable_i,

  input  logic          ifmap_valid_i,
  output logic          ifmap_ready_o,
  input  logic [1:0]    ifmap_lanes_i,
  input  logic          ifmap_to_pixels_i,
  input  word_t [1:0]   ifmap_data_i,

  input  logic          filter_valid_i,
  output logic          filter_ready_o,
  input  logic [FILTER_LANES-1:0]  filter_lanes_i,
  input  word_t [FILTER_LANES-1:0] filter_data_i,

  input  logic          tap_valid_i,
  output logic          tap_ready_o,
  input  word_t         tap_data_i,

  // Depthwise words from the SUPER.
  input  logic          word_valid_i,
  output logic          word_ready_o,
  input  word_t         word_data_i,

  // Depthwise sums: from the row above, to the row below.
  input  logic          dw_valid_i,
  output logic          dw_ready_o,
  input  dw_sums_t      dw_sums_i,
  output logic          dw_valid_o,
  input  logic          dw_ready_i,
  output dw_sums_t      dw_sums_o,

  // Sum chain.
  input  logic          chain_valid_i,
  output logic          chain_ready_o,
  input  chain_phase_t  chain_phase_i,
  input  sum_t          chain_sum_i,
  output logic          chain_valid_o,
  input  logic          chain_ready_i,
  output chain_phase_t  chain_phase_o,
  output sum_t          chain_sum_o,

  output logic [2:0]    macs_o,   // multiplications issued in this cycle
  output logic [2:0]    gated_o,  // of these, gated
  output pe_wait_e      wait_o    // why there are none
);

  localparam int unsigned TapWords = 4 * DepthwiseTaps;
  localparam int unsigned DwSumsDepth = 4;
  localparam int unsigned IndexWidth = $clog2(PSUM_WORDS);

  // ---- Operand queues ----

  logic [$clog2(IFMAP_WORDS+1)-1:0]  ifmap_count, ifmap_offset, ifmap_pop;
  logic [$clog2(FILTER_WORDS+1)-1:0] filter_count, filter_offset, filter_pop;
  logic [$clog2(PIXEL_WORDS+1)-1:0]  pixel_count, pixel_offset, pixel_pop;
  logic [$clog2(TapWords+1)-1:0]     tap_count, tap_offset, tap_pop;
  word_t       ifmap_word, filter_word, pixel_word, tap_word;
  logic        ifmap_ready, pixel_valid, pixel_ready;
  logic [1:0]  pixel_lanes;
  word_t [1:0] pixel_data;
  logic        running, fused, pointwise;
  array_mode_e mode;

  assign fused     = running && mode == ArrayFused;
  assign pointwise = running && mode == ArrayPointwise;

  operand_queue #(.DEPTH(IFMAP_WORDS), .PUSH(2)) u_ifmap_queue (
    .clk_i, .rst_ni,
    .push_valid_i (ifmap_valid_i && !ifmap_to_pixels_i),
    .push_ready_o (ifmap_ready),
    .push_lanes_i (ifmap_lanes_i),
    .push_data_i  (ifmap_data_i),
    .count_o      (ifmap_count),
    .read_offset_i(ifmap_offset),
    .read_data_o  (ifmap_word),
    .pop_i        (ifmap_pop)
  );

  // Pixels come from the network or from the SUPER, as the pass that runs says.
  assign pixel_valid   = fused ? word_valid_i : (pointwise && ifmap_valid_i && ifmap_to_pixels_i);
  assign pixel_lanes   = fused ? 2'b01 : ifmap_lanes_i;
  assign pixel_data    = fused ? {word_t'(0), word_data_i} : ifmap_data_i;
  assign ifmap_ready_o = ifmap_to_pixels_i ? (pointwise && pixel_ready) : ifmap_ready;
  assign word_ready_o  = fused && pixel_ready;

  operand_queue #(.DEPTH(PIXEL_WORDS), .PUSH(2)) u_pixel_queue (
    .clk_i, .rst_ni,
    .push_valid_i (pixel_valid),
    .push_ready_o (pixel_ready),
    .push_lanes_i (pixel_lanes),
    .push_data_i  (pixel_data),
    .count_o      (pixel_count),
    .read_offset_i(pixel_offset),
    .read_data_o  (pixel_word),
    .pop_i        (pixel_pop)
  );

  operand_queue #(.DEPTH(FILTER_WORDS), .PUSH(FILTER_LANES)) u_filter_queue (
    .clk_i, .rst_ni,
    .push_valid_i (filter_valid_i),
    .push_ready_o (filter_ready_o),
    .push_lanes_i (filter_lanes_i),
    .push_data_i  (filter_data_i),
    .count_o      (filter_count),
    .read_offset_i(filter_offset),
    .read_data_o  (filter_word),
    .pop_i        (filter_pop)
  );

  operand_queue #(.DEPTH(TapWords)) u_tap_queue (
    .clk_i, .rst_ni,
    .push_valid_i (tap_valid_i),
    .push_ready_o (tap_ready_o),
    .push_lanes_i (1'b1),
    .push_data_i  (tap_data_i),
    .count_o      (tap_count),
    .read_offset_i(tap_offset),
    .read_data_o  (tap_word),
    .pop_i        (tap_pop)
  );

  // ---- Sequencer ----

  typedef struct packed {
    logic                  depthwise;
    logic                  first;
    logic                  last;
    logic                  tile_last;
    logic                  half;
    logic [IndexWidth-1:0] index;
  } issue_t;

  logic       issue_valid, issue_ready, issue_pixel, issue_offset;
  issue_t     issue;
  logic       half_reserve, dw_sums_empty;
  logic [1:0] half_reserved_q, half_full_q;

  pe_sequencer #(
    .IFMAP_WORDS (IFMAP_WORDS),
    .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS (PIXEL_WORDS),
    .TAP_WORDS   (TapWords),
    .PSUM_WORDS  (PSUM_WORDS)
  ) u_sequencer (
    .clk_i, .rst_ni, .cfg_i, .cfg_epoch_i, .cfg_epoch_o, .enable_i,
    .row_i            (ROW),
    .running_o        (running),
    .mode_o           (mode),
    .ifmap_count_i    (ifmap_count),
    .ifmap_offset_o   (ifmap_offset),
    .ifmap_pop_o      (ifmap_pop),
    .filter_count_i   (filter_count),
    .filter_offset_o  (filter_offset),
    .filter_pop_o     (filter_pop),
    .pixel_count_i    (pixel_count),
    .pixel_offset_o   (pixel_offset),
    .pixel_pop_o      (pixel_pop),
    .tap_count_i      (tap_count),
    .tap_offset_o     (tap_offset),
    .tap_pop_o        (tap_pop),
    .dw_sums_empty_i  (dw_sums_empty),
    .half_reserved_i  (half_reserved_q),
    .half_reserve_o   (half_reserve),
    .issue_valid_o    (issue_valid),
    .issue_ready_i    (issue_ready),
    .issue_depthwise_o(issue.depthwise),
    .issue_pixel_o    (issue_pixel),
    .issue_offset_o   (issue_offset),
    .issue_first_o    (issue.first),
    .issue_last_o     (issue.last),
    .issue_tile_last_o(issue.tile_last),
    .issue_half_o     (issue.half),
    .issue_index_o    (issue.index),
    .wait_o
  );

  // ---- Multiply ----

  word_t                           activation_word, weight_word;
  logic        [WordChannels-1:0][8:0]  activations;
  logic                            product_valid;
  logic signed [WordChannels-1:0][16:0] products;
  logic signed [18:0]              dot;
  issue_t                          issue_q;

  assign activation_word = issue_pixel ? pixel_word : ifmap_word;
  assign weight_word     = issue.depthwise ? tap_word : filter_word;

  for (genvar lane = 0; lane < WordChannels; lane++) begin : gen_activation
    logic [7:0] q;
    assign q = activation_word[8*lane +: 8];
    assign activations[lane] = issue_offset ? {1'b0, !q[7], q[6:0]} : {q[7], q};
  end

  dot4 #(.MULTIPLIERS(MULTIPLIERS)) u_dot4 (
    .clk_i, .rst_ni,
    .valid_i      (issue_valid),
    .ready_o      (issue_ready),
    .activations_i(activations),
    .weights_i    (weight_word),
    .valid_o      (product_valid),
    .products_o   (products),
    .sum_o        (dot),
    .gated_o
  );

  assign macs_o = (issue_valid && issue_ready) ? 3'(WordChannels) : '0;

  always_ff @(posedge clk_i) begin
    if (issue_valid && issue_ready) issue_q <= issue;
  end

  // ---- Accumulate ----

  logic                  add_valid_q, add_half_q, add_first_q, add_tile_last_q;
  logic [IndexWidth-1:0] add_index_q;
  logic signed [18:0]    add_value_q;
  logic               drain_half_q;
  sum_t               own_sum;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) add_valid_q <= 1'b0;
    else         add_valid_q <= product_valid && !issue_q.depthwise;
  end

  always_ff @(posedge clk_i) begin
    if (product_valid) begin
      add_half_q      <= issue_q.half;
      add_first_q     <= issue_q.first;
      add_tile_last_q <= issue_q.tile_last;
      add_index_q     <= issue_q.index;
      add_value_q     <= dot;
    end
  end

  psum_buffer #(.WORDS(PSUM_WORDS)) u_psum_buffer (
    .clk_i,
    .add_valid_i (add_valid_q),
    .add_half_i  (add_half_q),
    .add_first_i (add_first_q),
    .add_index_i (add_index_q),
    .add_value_i (add_value_q),
    .read_half_i (drain_half_q),
    .read_index_i(chain_phase_i.index[IndexWidth-1:0]),
    .read_sum_o  (own_sum)
  );

  // ---- Depthwise sums ----

  dw_sums_t dw_partial_q, dw_total, dw_own;
  logic     dw_push, dw_push_ready, dw_own_valid;
  logic [$clog2(DwSumsDepth+1)-1:0] dw_count;

  always_comb begin : add_taps
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      dw_total[lane] = (issue_q.first ? '0 : dw_partial_q[lane]) +
                       DwSumWidth'($signed(products[lane]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (product_valid && issue_q.depthwise) dw_partial_q <= dw_total;
  end

  assign dw_push = product_valid && issue_q.depthwise && issue_q.last;

  fifo #(.WIDTH($bits(dw_sums_t)), .DEPTH(DwSumsDepth)) u_dw_sums (
    .clk_i, .rst_ni,
    .in_valid_i (dw_push),
    .in_ready_o (dw_push_ready),
    .in_data_i  (dw_total),
    .out_valid_o(dw_own_valid),
    .out_ready_i(dw_valid_i && dw_ready_i),
    .out_data_o (dw_own),
    .count_o    (dw_count)
  );

  // A group may start when the queue is empty and no sum is still on its way to it.
  logic dw_in_flight_q;
  assign dw_sums_empty = dw_count == '0 && !dw_in_flight_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) dw_in_flight_q <= 1'b0;
    else if (issue_valid && issue_ready && issue.depthwise && issue.last) dw_in_flight_q <= 1'b1;
    else if (dw_push) dw_in_flight_q <= 1'b0;
  end

  assign dw_valid_o = dw_valid_i && dw_own_valid;
  assign dw_ready_o = dw_ready_i && dw_own_valid;

  always_comb begin : add_rows
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      dw_sums_o[lane] = dw_sums_i[lane] + dw_own[lane];
    end
  end

  // ---- Sum chain ----

  logic         chain_valid_q, chain_take;
  chain_phase_t chain_phase_q;
  sum_t         chain_sum_q;
  logic         mine, frees;

  assign mine          = chain_phase_i.add[ROW];
  assign frees         = chain_phase_i.free[ROW];
  assign chain_ready_o = (!chain_valid_q || chain_ready_i) &&
                         (!(mine || frees) || half_full_q[drain_half_q]);
  assign chain_take    = chain_valid_i && chain_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      chain_valid_q <= 1'b0;
      drain_half_q  <= 1'b0;
    end else begin
      if (chain_take) chain_valid_q <= 1'b1;
      else if (chain_ready_i) chain_valid_q <= 1'b0;
      if (chain_take && frees) drain_half_q <= !drain_half_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (chain_take) begin
      chain_phase_q <= chain_phase_i;
      chain_sum_q   <= chain_sum_i + (mine ? own_sum : '0);
    end
  end

  assign chain_valid_o = chain_valid_q;
  assign chain_phase_o = chain_phase_q;
  assign chain_sum_o   = chain_sum_q;

  // A half is reserved from the first multiplication of its tile, full from the last addition, and
  // free again when the chain has taken its last sum.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      half_reserved_q <= '0;
      half_full_q     <= '0;
    end else begin
      if (half_reserve) half_reserved_q[issue.half] <= 1'b1;
      if (add_valid_q && add_tile_last_q) half_full_q[add_half_q] <= 1'b1;
      if (chain_take && frees) begin
        half_reserved_q[drain_half_q] <= 1'b0;
        half_full_q[drain_half_q]     <= 1'b0;
      end
    end
  end

  `EYRIE_ASSERT_WHEN(DwSumsFit, dw_push, dw_push_ready, "depthwise sum lost")
  `EYRIE_STABLE(Chain, chain_valid_o, chain_ready_i, {chain_phase_o, chain_sum_o})

endmodule
