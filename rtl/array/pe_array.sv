// SPDX-License-Identifier: Apache-2.0
// The PE array: rows of PEs in sets of three, whose bottom row are SUPERs; the networks for ifmap,
// filters and depthwise words; the adder chains; and the gather network for finished sums.
//
// Columns are independent. Adder chains run down the columns (adder_chains). Their links and the
// columns in use (drain_i.link_enable, drain_i.columns) change only while drain_empty_o is high.
//
// Each PE and SUPER accepts cfg_i on its own when it has finished its pass. accepted_o: all have
// accepted the pass of pass_phase_i. New IDs are shifted in while the current ones stay in use.
// Each network swaps its IDs (swap) when its stream starts the next pass.

`include "assertions.svh"

module pe_array
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter pe_sizes_t   SIZES,     // sizes of PEs and SUPERs
  parameter int unsigned ROWS = 6,  // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,  // PE columns
  localparam int unsigned Sets = ROWS / SetRows
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  array_config_t         cfg_i,
  input  logic                  pass_phase_i,
  output logic                  accepted_o,
  input  id_scan_t              scan_i,

  input  ifmap_stream_t         ifmap_i,
  output logic                  ifmap_ready_o,
  input  filter_stream_t        filter_i,
  output logic                  filter_ready_o,
  input  filter_stream_t        depthwise_i,
  output logic                  depthwise_ready_o,

  input  drain_stream_t         drain_i,
  input  sum_t [COLS-1:0]       drain_sums_i,   // start value of the chains: ipsum or 0
  output logic                  drain_ready_o,
  output logic                  drain_empty_o,
  output logic                  overrun_o,      // a pass receives more words than it uses

  output logic                  sums_valid_o,
  input  logic                  sums_ready_i,
  output sum_t [1:0][COLS-1:0]  sums_o,         // sums of one pixel or of two
  output drain_flags_t          sums_flags_o,

  // Activity, ActivityDelay cycles late (activity_totals).
  output pe_count_t             macs_o,
  output pe_count_t             zero_skipped_o,
  output pe_count_t [PeWaits-1:0] waits_o,       // waiting PEs by reason
  output pe_count_t             behind_o        // PEs that still run the pass before
);

  array_passes_t passes;
  array_passes u_passes (.clk_i, .rst_ni, .cfg_i, .pass_phase_i, .passes_o(passes));

  // ---- Networks ----

  logic [ROWS-1:0][COLS-1:0]      ifmap_valid, ifmap_ready, filter_valid, filter_ready;
  logic [ROWS-1:0][COLS-1:0]      tap_valid, tap_ready, active;
  logic [Sets-1:0][COLS-1:0]      parameters_valid, parameters_ready;
  logic [ROWS-1:0][COLS-1:0][5:0] next_ifmap_ids;
  logic [ROWS-1:0][COLS-1:0][1:0] next_filter_ids;

  // A transfer as it reaches the PEs. A PE uses one half of each word; `half` selects it for even
  // and odd sets.
  typedef struct packed {
    logic            pass_phase;
    glb_word_t [1:0] data;
    logic [1:0]      lanes;
    logic            to_pixels;
    logic [1:0]      half;
  } ifmap_words_t;
  typedef struct packed {
    logic                               pass_phase;
    glb_word_t [SIZES.filter_lanes-1:0] data;
    logic [SIZES.filter_lanes-1:0]      lanes;
    logic [1:0]                         half;
  } filter_words_t;
  typedef struct packed {
    logic       pass_phase;
    glb_word_t  data;
    logic [1:0] half;
  } depthwise_word_t;

  // If the sets split a word, odd sets use the high half.
  function automatic logic [1:0] halves(logic by_set, logic half);
    return by_set ? 2'b10 : {2{half}};
  endfunction

  ifmap_words_t    ifmap;
  filter_words_t   filter;
  depthwise_word_t depthwise;

  // With several bands, a PE gets the row of its ID and the rows SetRows and 2 x SetRows below it.
  localparam int unsigned Bands = 3;
  localparam int unsigned IdWidth = $bits(scan_i.column.ifmap);
  logic [Bands-1:0]              band_valid;
  logic [Bands-1:0][IdWidth-1:0] band_tag;

  assign band_tag[0]   = ifmap_i.tag.column;
  assign band_valid[0] = 1'b1;
  for (genvar band = 1; band < Bands; band++) begin : gen_band
    assign band_tag[band]   = ifmap_i.tag.column - IdWidth'(SetRows * band);
    assign band_valid[band] = ifmap_i.more_bands >= 2'(band) &&
                              ifmap_i.tag.column >= IdWidth'(SetRows * band);
  end

  multicast_network #(
    .ROWS(ROWS), .COLS(COLS),
    .ROW_ID_WIDTH($bits(scan_i.row.ifmap)), .COLUMN_ID_WIDTH(IdWidth), .COLUMN_TAGS(Bands),
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
    .column_tag_valid_i(band_valid),
    .column_tag_i     (band_tag),
    .data_i           ({ifmap_i.pass_phase, ifmap_i.data, ifmap_i.lanes, ifmap_i.to_pixels,
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
    .column_tag_valid_i(1'b1),
    .column_tag_i     (filter_i.tag.column[1:0]),
    .data_i           ({filter_i.pass_phase, filter_i.data[SIZES.filter_lanes-1:0],
                        filter_i.lanes[SIZES.filter_lanes-1:0],
                        halves(filter_i.half_by_set, filter_i.tag.half)}),
    .target_valid_o   (filter_valid),
    .target_ready_i   (filter_ready),
    .data_o           (filter)
  );

  for (genvar row = 0; row < ROWS; row++) begin : gen_active
    for (genvar col = 0; col < COLS; col++) begin : gen_column
      assign active[row][col] = next_ifmap_ids[row][col] != 6'(NoColumn);
    end
  end

  depthwise_network #(
    .ROWS(ROWS), .COLS(COLS), .WIDTH($bits(depthwise_word_t))
  ) u_depthwise_network (
    .clk_i, .rst_ni,
    .swap_i            (depthwise_i.swap),
    .active_i          (active),
    .valid_i           (depthwise_i.valid),
    .ready_o           (depthwise_ready_o),
    .tag_i             ({depthwise_i.tag.row, depthwise_i.tag.column}),
    .group_taps_i      (passes.group_taps[depthwise_i.pass_phase]),
    .data_i            ({depthwise_i.pass_phase, depthwise_i.data[0],
                         halves(depthwise_i.half_by_set, depthwise_i.tag.half)}),
    .tap_valid_o       (tap_valid),
    .tap_ready_i       (tap_ready),
    .parameters_valid_o(parameters_valid),
    .parameters_ready_i(parameters_ready),
    .data_o            (depthwise)
  );

  // ---- Sets ----

  logic            [Sets-1:0][COLS-1:0] set_accepted, set_overrun;
  chain_transfer_t [Sets-1:0][COLS-1:0] chain_in, chain_out;
  logic            [Sets-1:0][COLS-1:0] chain_in_ready, chain_out_ready;
  pe_activity_t    [ROWS-1:0][COLS-1:0] activity;

  for (genvar set = 0; set < Sets; set++) begin : gen_set
    localparam int unsigned Top = set * SetRows;   // first row of the set
    localparam int unsigned Odd = set % 2;

    ifmap_request_t      ifmap_request;  // words of the set; valid is set per PE
    filter_request_t     filter_request;
    tap_request_t        tap_request;
    parameters_request_t parameters_request;

    always_comb begin : select_halves
      ifmap_request      = '{valid: 1'b0, pass_phase: ifmap.pass_phase, lanes: ifmap.lanes,
                             to_pixels: ifmap.to_pixels, data: '0};
      filter_request     = '{valid: 1'b0, pass_phase: filter.pass_phase, lanes: 2'(filter.lanes),
                             data: '0};
      tap_request        = '{valid: 1'b0, pass_phase: depthwise.pass_phase,
                             data: depthwise.data[31:0]};
      parameters_request = '{valid: 1'b0, pass_phase: depthwise.pass_phase,
                             half: depthwise.half[Odd], data: depthwise.data};
      for (int unsigned lane = 0; lane < 2; lane++) begin
        ifmap_request.data[lane] =
            ifmap.half[Odd] ? ifmap.data[lane][63:32] : ifmap.data[lane][31:0];
      end
      for (int unsigned lane = 0; lane < SIZES.filter_lanes; lane++) begin
        filter_request.data[lane] =
            filter.half[Odd] ? filter.data[lane][63:32] : filter.data[lane][31:0];
      end
      if (depthwise.half[Odd]) tap_request.data = depthwise.data[63:32];
    end

    for (genvar col = 0; col < COLS; col++) begin : gen_column
      logic            [SetRows-1:0] enable;
      operands_t       [SetRows-1:0] operands;
      operands_ready_t [SetRows-1:0] operands_ready;
      pe_activity_t    [SetRows-1:0] set_activity;
      parameters_request_t           set_parameters;

      always_comb begin : request_to_set
        set_parameters       = parameters_request;
        set_parameters.valid = parameters_valid[set][col];
        for (int unsigned n = 0; n < SetRows; n++) begin
          operands[n]              = '{ifmap: ifmap_request, filter: filter_request,
                                     tap: tap_request};
          operands[n].ifmap.valid  = ifmap_valid[Top+n][col];
          operands[n].filter.valid = filter_valid[Top+n][col];
          operands[n].tap.valid    = tap_valid[Top+n][col];
        end
      end

      for (genvar n = 0; n < SetRows; n++) begin : gen_row
        assign enable[n]                = active[Top+n][col];
        assign ifmap_ready[Top+n][col]  = operands_ready[n].ifmap;
        assign filter_ready[Top+n][col] = operands_ready[n].filter;
        assign tap_ready[Top+n][col]    = operands_ready[n].tap;
        assign activity[Top+n][col]     = set_activity[n];
      end

      pe_set #(.SIZES(SIZES)) u_set (
        .clk_i, .rst_ni,
        .passes_i          (passes),
        .enable_i          (enable),
        .accepted_o        (set_accepted[set][col]),
        .operands_i        (operands),
        .operands_ready_o  (operands_ready),
        .parameters_i      (set_parameters),
        .parameters_ready_o(parameters_ready[set][col]),
        .chain_i           (chain_in[set][col]),
        .chain_ready_o     (chain_in_ready[set][col]),
        .chain_o           (chain_out[set][col]),
        .chain_ready_i     (chain_out_ready[set][col]),
        .overrun_o         (set_overrun[set][col]),
        .activity_o        (set_activity)
      );
    end
  end

  assign accepted_o = set_accepted == '1;
  assign overrun_o  = set_overrun != '0;

  // ---- Adder chains ----

  adder_chains #(.ROWS(ROWS), .COLS(COLS)) u_adder_chains (
    .clk_i, .rst_ni, .drain_i, .drain_sums_i, .drain_ready_o, .drain_empty_o,
    .set_in_o       (chain_in),
    .set_in_ready_i (chain_in_ready),
    .set_out_i      (chain_out),
    .set_out_ready_o(chain_out_ready),
    .sums_valid_o, .sums_ready_i, .sums_o, .sums_flags_o
  );

  // ---- Activity ----

  activity_totals #(.ROWS(ROWS), .COLS(COLS)) u_activity (
    .clk_i, .rst_ni,
    .activity_i(activity),
    .macs_o, .zero_skipped_o, .waits_o, .behind_o
  );

  logic unused_signals;
  assign unused_signals = ^{depthwise_i.lanes, depthwise_i.data[1], next_filter_ids,
                            filter_i.tag.column};

  `EYRIE_ASSERT_NEXT(RequestHolds, !accepted_o, $stable({cfg_i, pass_phase_i}),
      "a pass changes before all PEs have accepted it")
  `EYRIE_ASSERT_WHEN(ScansAccepted, scan_i.row_valid || scan_i.column_valid, accepted_o,
      "IDs are scanned before all PEs have accepted the pass")

endmodule
