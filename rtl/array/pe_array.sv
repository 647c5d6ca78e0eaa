// SPDX-License-Identifier: Apache-2.0
// The PE array: rows of PEs in sets of three, the bottom row of each set SUPERs; the networks that
// bring ifmap, filters and depthwise tables; the sum chains and the gather network that takes sums
// out.
//
// Columns are independent of each other. Along them run the sum chains, see sum_chains; how they
// are joined (drain_i.ln, drain_i.columns) changes only while drain_empty_o.
//
// Each PE and SUPER takes cfg_i by itself when it is done with its pass; taken_o: all have taken
// the configuration of epoch cfg_epoch_i. IDs are shifted in behind those in use; each network
// swaps (swap) when its stream goes on to the next pass.

`include "assertions.svh"

module pe_array
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,                 // of PEs, in sets of three
  parameter int unsigned COLS = 8,                 // of PEs
  parameter int unsigned MULTIPLIERS = 4,          // of a PE: 4 or 1
  parameter int unsigned IFMAP_WORDS = 9,          // words of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,        // words of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 8,          // words of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,         // sums in each half of a PE
  parameter int unsigned WORD_BUFFER_WORDS = 256,  // depthwise words that a SUPER keeps
  parameter int unsigned FILTER_LANES = 1,         // filter words a cycle: 1 or 2
  localparam int unsigned Sets = ROWS / SetRows
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  array_config_t         cfg_i,
  input  logic                  cfg_epoch_i,
  output logic                  taken_o,
  input  id_scan_t              scan_i,

  input  ifmap_feed_t           ifmap_i,
  output logic                  ifmap_ready_o,
  input  filter_feed_t          filter_i,
  output logic                  filter_ready_o,
  input  filter_feed_t          depthwise_i,
  output logic                  depthwise_ready_o,

  input  drain_feed_t           drain_i,
  input  sum_t [COLS-1:0]       drain_sums_i,   // where the chain starts: ipsum or 0
  output logic                  drain_ready_o,
  output logic                  drain_empty_o,

  output logic                  sums_valid_o,
  input  logic                  sums_ready_i,
  output sum_t [COLS-1:0]       sums_o,
  output drain_beat_t           sums_beat_o,

  output pe_count_t             macs_o,
  output pe_count_t             gated_o,
  output pe_count_t [PeWaits-1:0] waits_o,       // PEs waiting, by reason
  output pe_count_t             behind_o        // PEs in the pass before that of cfg_epoch_i
);

  // ---- Networks ----

  logic [ROWS-1:0][COLS-1:0]      ifmap_valid, ifmap_ready, filter_valid, filter_ready;
  logic [ROWS-1:0][COLS-1:0]      tap_valid, tap_ready, takes_part;
  logic [Sets-1:0][COLS-1:0]      table_valid, table_ready;
  logic [ROWS-1:0][COLS-1:0][5:0] next_ifmap_ids;
  logic [ROWS-1:0][COLS-1:0][1:0] next_filter_ids;

  multicast_network #(
    .ROWS(ROWS), .COLS(COLS),
    .ROW_ID_WIDTH($bits(scan_i.row.ifmap)), .COLUMN_ID_WIDTH($bits(scan_i.column.ifmap))
  ) u_ifmap_network (
    .clk_i, .rst_ni,
    .row_scan_i       (scan_i.row_valid),
    .column_scan_i    (scan_i.column_valid),
    .row_id_i         (scan_i.row.ifmap),
    .column_id_i      (scan_i.column.ifmap),
    .swap_i           (ifmap_i.swap),
    .next_column_ids_o(next_ifmap_ids),
    .valid_i          (ifmap_i.valid),
    .ready_o          (ifmap_ready_o),
    .row_tag_i        (ifmap_i.tag.row),
    .column_tag_i     (ifmap_i.tag.column),
    .target_valid_o   (ifmap_valid),
    .target_ready_i   (ifmap_ready)
  );

  multicast_network #(
    .ROWS(ROWS), .COLS(COLS),
    .ROW_ID_WIDTH($bits(scan_i.row.filter)), .COLUMN_ID_WIDTH($bits(scan_i.column.filter))
  ) u_filter_network (
    .clk_i, .rst_ni,
    .row_scan_i       (scan_i.row_valid),
    .column_scan_i    (scan_i.column_valid),
    .row_id_i         (scan_i.row.filter),
    .column_id_i      (scan_i.column.filter),
    .swap_i           (filter_i.swap),
    .next_column_ids_o(next_filter_ids),
    .valid_i          (filter_i.valid),
    .ready_o          (filter_ready_o),
    .row_tag_i        (filter_i.tag.row),
    .column_tag_i     (filter_i.tag.column[1:0]),
    .target_valid_o   (filter_valid),
    .target_ready_i   (filter_ready)
  );

  for (genvar row = 0; row < ROWS; row++) begin : gen_takes_part
    for (genvar col = 0; col < COLS; col++) begin : gen_column
      assign takes_part[row][col] = next_ifmap_ids[row][col] != 6'(NoColumn);
    end
  end

  depthwise_network #(.ROWS(ROWS), .COLS(COLS)) u_depthwise_network (
    .clk_i, .rst_ni,
    .swap_i       (depthwise_i.swap),
    .takes_part_i (takes_part),
    .valid_i      (depthwise_i.valid),
    .ready_o      (depthwise_ready_o),
    .row_tag_i    (depthwise_i.tag.row),
    .tap_valid_o  (tap_valid),
    .tap_ready_i  (tap_ready),
    .table_valid_o(table_valid),
    .table_ready_i(table_ready)
  );

  // ---- Columns of PEs ----

  logic         [ROWS-1:0][COLS-1:0] epoch_taken, pe_epoch;
  logic         [ROWS-1:0][COLS-1:0] chain_in_valid, chain_in_ready, chain_valid, chain_ready;
  chain_phase_t [ROWS-1:0][COLS-1:0] chain_in_phase, chain_phase;
  sum_t         [ROWS-1:0][COLS-1:0] chain_in_sum, chain_sum;
  logic         [ROWS-1:0][COLS-1:0] dw_valid, dw_ready;
  dw_sums_t     [ROWS-1:0][COLS-1:0] dw_sums;
  logic         [ROWS-1:0][COLS-1:0] word_valid, word_ready;
  word_t        [Sets-1:0][COLS-1:0] word_data;
  logic         [ROWS-1:0][COLS-1:0][2:0] macs, gated;
  pe_wait_e     [ROWS-1:0][COLS-1:0] waits;

  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    localparam int unsigned Set = row / SetRows;
    localparam int unsigned SetRow = row % SetRows;
    localparam bit SetOdd = Set % 2 == 1;  // takes the high half of a word, where sets split it

    word_t [1:0] ifmap_words;
    word_t [FILTER_LANES-1:0] filter_words;
    word_t       tap_word;
    logic        ifmap_half, filter_half, tap_half;

    assign ifmap_half  = ifmap_i.half_by_set ? SetOdd : ifmap_i.tag.half;
    assign filter_half = filter_i.half_by_set ? SetOdd : filter_i.tag.half;
    assign tap_half    = depthwise_i.half_by_set ? SetOdd : depthwise_i.tag.half;
    assign tap_word    = tap_half ? depthwise_i.data[0][63:32] : depthwise_i.data[0][31:0];
    for (genvar lane = 0; lane < FILTER_LANES; lane++) begin : gen_filter_lane
      assign filter_words[lane] =
          filter_half ? filter_i.data[lane][63:32] : filter_i.data[lane][31:0];
    end
    for (genvar lane = 0; lane < 2; lane++) begin : gen_lane
      assign ifmap_words[lane] = ifmap_half ? ifmap_i.data[lane][63:32] : ifmap_i.data[lane][31:0];
    end

    for (genvar col = 0; col < COLS; col++) begin : gen_column
      if (SetRow == SetRows - 1) begin : gen_super
        logic [1:0] epoch;

        super_pe #(
          .MULTIPLIERS(MULTIPLIERS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
          .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS),
          .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS), .FILTER_LANES(FILTER_LANES)
        ) u_super_pe (
          .clk_i, .rst_ni, .cfg_i, .cfg_epoch_i,
          .cfg_epoch_o      (epoch),
          .enable_i         (takes_part[row][col]),
          .ifmap_valid_i    (ifmap_valid[row][col]),
          .ifmap_ready_o    (ifmap_ready[row][col]),
          .ifmap_lanes_i    (ifmap_i.lanes),
          .ifmap_to_pixels_i(ifmap_i.to_pixels),
          .ifmap_data_i     (ifmap_words),
          .filter_valid_i   (filter_valid[row][col]),
          .filter_ready_o   (filter_ready[row][col]),
          .filter_lanes_i   (filter_i.lanes[FILTER_LANES-1:0]),
          .filter_data_i    (filter_words),
          .tap_valid_i      (tap_valid[row][col]),
          .tap_ready_o      (tap_ready[row][col]),
          .tap_data_i       (tap_word),
          .table_valid_i    (table_valid[Set][col]),
          .table_ready_o    (table_ready[Set][col]),
          .table_data_i     (depthwise_i.data[0]),
          .table_half_i     (tap_half),
          .word_valid_o     ({word_valid[row-1][col], word_valid[row-2][col]}),
          .word_ready_i     ({word_ready[row-1][col], word_ready[row-2][col]}),
          .word_data_o      (word_data[Set][col]),
          .dw_valid_i       (dw_valid[row-1][col]),
          .dw_ready_o       (dw_ready[row-1][col]),
          .dw_sums_i        (dw_sums[row-1][col]),
          .chain_valid_i    (chain_in_valid[row][col]),
          .chain_ready_o    (chain_in_ready[row][col]),
          .chain_phase_i    (chain_in_phase[row][col]),
          .chain_sum_i      (chain_in_sum[row][col]),
          .chain_valid_o    (chain_valid[row][col]),
          .chain_ready_i    (chain_ready[row][col]),
          .chain_phase_o    (chain_phase[row][col]),
          .chain_sum_o      (chain_sum[row][col]),
          .macs_o           (macs[row][col]),
          .gated_o          (gated[row][col]),
          .wait_o           (waits[row][col])
        );
        assign pe_epoch[row][col]    = epoch[0];
        assign epoch_taken[row][col] = epoch == {2{cfg_epoch_i}};
        // The bottom row sends no depthwise sums or words further.
        assign dw_valid[row][col]   = 1'b0;
        assign dw_ready[row][col]   = 1'b0;
        assign dw_sums[row][col]    = '0;
        assign word_valid[row][col] = 1'b0;
        assign word_ready[row][col] = 1'b0;
      end else begin : gen_pe
        logic     epoch, dw_in_valid;
        dw_sums_t dw_in_sums;
        logic     dw_in_ready;

        if (SetRow == 0) begin : gen_top
          logic unused_ready;
          assign dw_in_valid  = 1'b1;
          assign dw_in_sums   = '0;
          assign unused_ready = dw_in_ready;
        end else begin : gen_below
          assign dw_in_valid          = dw_valid[row-1][col];
          assign dw_in_sums           = dw_sums[row-1][col];
          assign dw_ready[row-1][col] = dw_in_ready;
        end

        pe #(
          .MULTIPLIERS(MULTIPLIERS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
          .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .FILTER_LANES(FILTER_LANES),
          .ROW(2'(SetRow))
        ) u_pe (
          .clk_i, .rst_ni, .cfg_i, .cfg_epoch_i,
          .cfg_epoch_o      (epoch),
          .enable_i         (takes_part[row][col]),
          .ifmap_valid_i    (ifmap_valid[row][col]),
          .ifmap_ready_o    (ifmap_ready[row][col]),
          .ifmap_lanes_i    (ifmap_i.lanes),
          .ifmap_to_pixels_i(ifmap_i.to_pixels),
          .ifmap_data_i     (ifmap_words),
          .filter_valid_i   (filter_valid[row][col]),
          .filter_ready_o   (filter_ready[row][col]),
          .filter_lanes_i   (filter_i.lanes[FILTER_LANES-1:0]),
          .filter_data_i    (filter_words),
          .tap_valid_i      (tap_valid[row][col]),
          .tap_ready_o      (tap_ready[row][col]),
          .tap_data_i       (tap_word),
          .word_valid_i     (word_valid[row][col]),
          .word_ready_o     (word_ready[row][col]),
          .word_data_i      (word_data[Set][col]),
          .dw_valid_i       (dw_in_valid),
          .dw_ready_o       (dw_in_ready),
          .dw_sums_i        (dw_in_sums),
          .dw_valid_o       (dw_valid[row][col]),
          .dw_ready_i       (dw_ready[row][col]),
          .dw_sums_o        (dw_sums[row][col]),
          .chain_valid_i    (chain_in_valid[row][col]),
          .chain_ready_o    (chain_in_ready[row][col]),
          .chain_phase_i    (chain_in_phase[row][col]),
          .chain_sum_i      (chain_in_sum[row][col]),
          .chain_valid_o    (chain_valid[row][col]),
          .chain_ready_i    (chain_ready[row][col]),
          .chain_phase_o    (chain_phase[row][col]),
          .chain_sum_o      (chain_sum[row][col]),
          .macs_o           (macs[row][col]),
          .gated_o          (gated[row][col]),
          .wait_o           (waits[row][col])
        );
        assign pe_epoch[row][col]    = epoch;
        assign epoch_taken[row][col] = epoch == cfg_epoch_i;
      end
    end
  end

  assign taken_o = epoch_taken == '1;

  // ---- Sum chains ----

  sum_chains #(.ROWS(ROWS), .COLS(COLS)) u_sum_chains (
    .clk_i, .rst_ni, .drain_i, .drain_sums_i, .drain_ready_o, .drain_empty_o,
    .pe_in_valid_o(chain_in_valid),
    .pe_in_ready_i(chain_in_ready),
    .pe_in_phase_o(chain_in_phase),
    .pe_in_sum_o  (chain_in_sum),
    .pe_valid_i   (chain_valid),
    .pe_ready_o   (chain_ready),
    .pe_phase_i   (chain_phase),
    .pe_sum_i     (chain_sum),
    .sums_valid_o, .sums_ready_i, .sums_o, .sums_beat_o
  );

  // ---- Activity ----

  always_comb begin : count_macs
    macs_o  = '0;
    gated_o = '0;
    waits_o  = '0;
    behind_o = '0;
    for (int unsigned row = 0; row < ROWS; row++) begin
      for (int unsigned col = 0; col < COLS; col++) begin
        macs_o  += pe_count_t'(macs[row][col]);
        gated_o += pe_count_t'(gated[row][col]);
        for (int unsigned reason = 0; reason < PeWaits; reason++) begin
          waits_o[reason] += pe_count_t'(waits[row][col] == pe_wait_e'(3'(reason + 1)));
        end
        behind_o += pe_count_t'(pe_epoch[row][col] != cfg_epoch_i && waits[row][col] != WaitPass);
      end
    end
  end

  logic unused_signals;
  assign unused_signals = ^{filter_i.lanes, depthwise_i.lanes, depthwise_i.data[1], filter_i.data,
                            next_filter_ids, depthwise_i.tag.column, filter_i.tag.column,
                            dw_valid, dw_ready, dw_sums, word_valid, word_ready};

  `EYRIE_ASSERT_NEXT(OfferStands, !taken_o, $stable({cfg_i, cfg_epoch_i}),
      "a pass changed before all PEs had taken it")

endmodule
