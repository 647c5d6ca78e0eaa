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
  parameter pe_sizes_t   SIZES,     // of PEs and SUPERs
  parameter int unsigned ROWS = 6,  // of PEs, in sets of three
  parameter int unsigned COLS = 8,  // of PEs
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
  output logic                  surplus_o,      // more words came for a pass than it takes

  output logic                  sums_valid_o,
  input  logic                  sums_ready_i,
  output sum_t [1:0][COLS-1:0]  sums_o,         // of a pixel, or of two
  output drain_beat_t           sums_beat_o,

  // Activity of some cycles before (see activity_totals).
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

  // A beat as it reaches the PEs: of each word a PE takes one half, as `half` says for odd and even
  // sets.
  typedef struct packed {
    logic            epoch;
    glb_word_t [1:0] data;
    logic [1:0]      lanes;
    logic            to_pixels;
    logic [1:0]      half;
  } ifmap_words_t;
  typedef struct packed {
    logic                               epoch;
    glb_word_t [SIZES.filter_lanes-1:0] data;
    logic [SIZES.filter_lanes-1:0]      lanes;
    logic [1:0]                         half;
  } filter_words_t;
  typedef struct packed {
    logic       epoch;
    glb_word_t  data;
    logic [1:0] half;
  } depthwise_word_t;

  // Where sets split a word, odd ones take the high half.
  function automatic logic [1:0] halves(logic by_set, logic half);
    return by_set ? 2'b10 : {2{half}};
  endfunction

  ifmap_words_t    ifmap;
  filter_words_t   filter;
  depthwise_word_t depthwise;

  multicast_network #(
    .ROWS(ROWS), .COLS(COLS),
    .ROW_ID_WIDTH($bits(scan_i.row.ifmap)), .COLUMN_ID_WIDTH($bits(scan_i.column.ifmap)),
    .WIDTH($bits(ifmap_words_t))
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
    .data_i           ({ifmap_i.epoch, ifmap_i.data, ifmap_i.lanes, ifmap_i.to_pixels,
                        halves(ifmap_i.half_by_set, ifmap_i.tag.half)}),
    .target_valid_o   (ifmap_valid),
    .target_ready_i   (ifmap_ready),
    .data_o           (ifmap)
  );

  multicast_network #(
    .ROWS(ROWS), .COLS(COLS),
    .ROW_ID_WIDTH($bits(scan_i.row.filter)), .COLUMN_ID_WIDTH($bits(scan_i.column.filter)),
    .WIDTH($bits(filter_words_t))
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
    .data_i           ({filter_i.epoch, filter_i.data[SIZES.filter_lanes-1:0],
                        filter_i.lanes[SIZES.filter_lanes-1:0],
                        halves(filter_i.half_by_set, filter_i.tag.half)}),
    .target_valid_o   (filter_valid),
    .target_ready_i   (filter_ready),
    .data_o           (filter)
  );

  for (genvar row = 0; row < ROWS; row++) begin : gen_takes_part
    for (genvar col = 0; col < COLS; col++) begin : gen_column
      assign takes_part[row][col] = next_ifmap_ids[row][col] != 6'(NoColumn);
    end
  end

  depthwise_network #(
    .ROWS(ROWS), .COLS(COLS), .WIDTH($bits(depthwise_word_t))
  ) u_depthwise_network (
    .clk_i, .rst_ni,
    .swap_i       (depthwise_i.swap),
    .takes_part_i (takes_part),
    .valid_i      (depthwise_i.valid),
    .ready_o      (depthwise_ready_o),
    .row_tag_i    (depthwise_i.tag.row),
    .data_i       ({depthwise_i.epoch, depthwise_i.data[0],
                    halves(depthwise_i.half_by_set, depthwise_i.tag.half)}),
    .tap_valid_o  (tap_valid),
    .tap_ready_i  (tap_ready),
    .table_valid_o(table_valid),
    .table_ready_i(table_ready),
    .data_o       (depthwise)
  );

  // ---- Sets ----

  array_passes_t passes;
  array_passes u_passes (.clk_i, .rst_ni, .cfg_i, .cfg_epoch_i, .passes_o(passes));

  logic         [Sets-1:0][COLS-1:0] set_taken, set_surplus;
  chain_beat_t  [Sets-1:0][COLS-1:0] chain_in, chain_out;
  logic         [Sets-1:0][COLS-1:0] chain_in_ready, chain_out_ready;
  pe_activity_t [ROWS-1:0][COLS-1:0] activity;

  for (genvar set = 0; set < Sets; set++) begin : gen_set
    localparam int unsigned Top = set * SetRows;   // its first row
    localparam int unsigned Odd = set % 2;

    ifmap_offer_t  ifmap_offer;  // the set's words, offered to each PE by the network
    filter_offer_t filter_offer;
    tap_offer_t    tap_offer;
    table_offer_t  table_offer;

    always_comb begin : take_halves
      ifmap_offer  = '{valid: 1'b0, epoch: ifmap.epoch, lanes: ifmap.lanes,
                       to_pixels: ifmap.to_pixels, data: '0};
      filter_offer = '{valid: 1'b0, epoch: filter.epoch, lanes: 2'(filter.lanes), data: '0};
      tap_offer    = '{valid: 1'b0, epoch: depthwise.epoch, data: depthwise.data[31:0]};
      table_offer  = '{valid: 1'b0, epoch: depthwise.epoch, half: depthwise.half[Odd],
                       data: depthwise.data};
      for (int unsigned lane = 0; lane < 2; lane++) begin
        ifmap_offer.data[lane] =
            ifmap.half[Odd] ? ifmap.data[lane][63:32] : ifmap.data[lane][31:0];
      end
      for (int unsigned lane = 0; lane < SIZES.filter_lanes; lane++) begin
        filter_offer.data[lane] =
            filter.half[Odd] ? filter.data[lane][63:32] : filter.data[lane][31:0];
      end
      if (depthwise.half[Odd]) tap_offer.data = depthwise.data[63:32];
    end

    for (genvar col = 0; col < COLS; col++) begin : gen_column
      logic            [SetRows-1:0] enable;
      operands_t       [SetRows-1:0] operands;
      operands_ready_t [SetRows-1:0] operands_ready;
      pe_activity_t    [SetRows-1:0] set_activity;
      table_offer_t                  set_table;

      always_comb begin : offer_to_set
        set_table       = table_offer;
        set_table.valid = table_valid[set][col];
        for (int unsigned n = 0; n < SetRows; n++) begin
          operands[n]              = '{ifmap: ifmap_offer, filter: filter_offer, tap: tap_offer};
          operands[n].ifmap.valid  = ifmap_valid[Top+n][col];
          operands[n].filter.valid = filter_valid[Top+n][col];
          operands[n].tap.valid    = tap_valid[Top+n][col];
        end
      end

      for (genvar n = 0; n < SetRows; n++) begin : gen_row
        assign enable[n]                = takes_part[Top+n][col];
        assign ifmap_ready[Top+n][col]  = operands_ready[n].ifmap;
        assign filter_ready[Top+n][col] = operands_ready[n].filter;
        assign tap_ready[Top+n][col]    = operands_ready[n].tap;
        assign activity[Top+n][col]     = set_activity[n];
      end

      pe_set #(.SIZES(SIZES)) u_set (
        .clk_i, .rst_ni,
        .passes_i        (passes),
        .enable_i        (enable),
        .taken_o         (set_taken[set][col]),
        .operands_i      (operands),
        .operands_ready_o(operands_ready),
        .table_i         (set_table),
        .table_ready_o   (table_ready[set][col]),
        .chain_i         (chain_in[set][col]),
        .chain_ready_o   (chain_in_ready[set][col]),
        .chain_o         (chain_out[set][col]),
        .chain_ready_i   (chain_out_ready[set][col]),
        .surplus_o       (set_surplus[set][col]),
        .activity_o      (set_activity)
      );
    end
  end

  assign taken_o   = set_taken == '1;
  assign surplus_o = set_surplus != '0;

  // ---- Sum chains ----

  sum_chains #(.ROWS(ROWS), .COLS(COLS)) u_sum_chains (
    .clk_i, .rst_ni, .drain_i, .drain_sums_i, .drain_ready_o, .drain_empty_o,
    .set_in_o       (chain_in),
    .set_in_ready_i (chain_in_ready),
    .set_out_i      (chain_out),
    .set_out_ready_o(chain_out_ready),
    .sums_valid_o, .sums_ready_i, .sums_o, .sums_beat_o
  );

  // ---- Activity ----

  activity_totals #(.ROWS(ROWS), .COLS(COLS)) u_activity (
    .clk_i, .rst_ni,
    .activity_i(activity),
    .macs_o, .gated_o, .waits_o, .behind_o
  );

  logic unused_signals;
  assign unused_signals = ^{depthwise_i.lanes, depthwise_i.data[1], next_filter_ids,
                            depthwise_i.tag.column, filter_i.tag.column};

  `EYRIE_ASSERT_NEXT(OfferStands, !taken_o, $stable({cfg_i, cfg_epoch_i}),
      "a pass changed before all PEs had taken it")
  `EYRIE_ASSERT_WHEN(ScansTaken, scan_i.row_valid || scan_i.column_valid, taken_o,
      "IDs are scanned under a pass that not all PEs have taken")

endmodule
