// SPDX-License-Identifier: Apache-2.0
// Runs processing passes: keeps the shadow descriptor, scans IDs, offers each pass to the units,
// and moves the data: streams from the GLB into the array, sums through the chains, words from the
// PPU back into the GLB.
//
// A PASS scans changed IDs into the array, then toggles the epoch; every unit takes the descriptor
// when it is done with the pass before (docs/machine.md, "Passes overlap"). CONFIG words are taken
// only while no pass is being offered. The ifmap stream of a pass waits until passes_done_i has
// reached the PASS command's wait_passes. pass_done_o: sums drained and ofmap written.

`include "assertions.svh"

module pass_controller
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,          // of PEs, in sets of three
  parameter int unsigned COLS = 8,          // of PEs
  parameter int unsigned FILTER_LANES = 1,  // filter words a cycle: 1 or 2
  localparam int unsigned Sets = ROWS / SetRows,
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  // From the tiling controller.
  input  logic                         config_valid_i,
  output logic                         config_ready_o,
  input  logic [6:0]                   config_index_i,
  input  logic [63:0]                  config_data_i,
  input  logic                         pass_valid_i,
  output logic                         pass_ready_o,
  input  logic [15:0]                  pass_wait_passes_i,
  input  logic [15:0]                  passes_done_i,
  input  logic [15:0]                  chunks_loaded_i,
  output logic                         pass_done_o,
  output logic                         chunk_freed_o,
  output logic                         ifmap_waits_o,   // for passes_done_i
  output logic                         filter_waits_o,  // for chunks_loaded_i

  // GLB clients, one per stream.
  output logic         [Streams-1:0]   request_valid_o,
  input  logic         [Streams-1:0]   request_ready_i,
  output glb_request_t [Streams-1:0]   request_o,
  input  logic         [Streams-1:0]   read_valid_i,
  input  glb_word_t [Streams-1:0][1:0] read_data_i,

  // Array.
  output array_config_t                array_cfg_o,
  output logic                         epoch_o,
  input  logic                         array_taken_i,
  output logic                         row_scan_o,
  output row_id_t                      row_id_o,
  output logic                         column_scan_o,
  output column_id_t                   column_id_o,
  output logic                         ifmap_swap_o,
  output logic                         ifmap_valid_o,
  input  logic                         ifmap_ready_i,
  output ifmap_beat_t                  ifmap_o,
  output logic                         filter_swap_o,
  output logic                         filter_valid_o,
  input  logic                         filter_ready_i,
  output filter_beat_t                 filter_o,
  output logic                         depthwise_swap_o,
  output logic                         depthwise_valid_o,
  input  logic                         depthwise_ready_i,
  output filter_beat_t                 depthwise_o,
  output logic [ROWS-2:0]              ln_o,
  output logic [COLS-1:0]              drain_columns_o,
  input  logic                         drain_empty_i,
  output logic                         drain_valid_o,
  input  logic                         drain_ready_i,
  output logic [SetWidth-1:0]          drain_set_o,
  output chain_phase_t                 drain_phase_o,
  output drain_beat_t                  drain_beat_o,
  output sum_t [COLS-1:0]              drain_sums_o,

  // PPU.
  output ppu_config_t                  ppu_cfg_o,
  output ppu_addend_t                  ppu_add_first_o,
  output ppu_addend_t                  ppu_add_second_o,
  output ppu_add_result_t              ppu_add_result_o,
  output logic [4:0]                   ppu_columns_o,
  output logic                         ppu_used_o,
  input  logic                         ppu_taken_i,
  output logic                         table_valid_o,
  input  logic                         table_ready_i,
  output glb_word_t                    table_o,
  output logic                         residual_valid_o,
  input  logic                         residual_ready_i,
  output glb_word_t                    residual_o,
  input  logic                         word_valid_i,
  output logic                         word_ready_o,
  input  glb_word_t                    word_i
);

  // ---- Descriptor and offer ----

  typedef enum logic [1:0] {StIdle, StScan, StOffer, StTaking} state_e;

  state_e                     state_d, state_q;
  logic                       epoch_q, ids_changed_q, ids_written, scan_start, scan_busy;
  drain_t                     drain_cfg;
  row_id_t [ROWS-1:0]         row_ids;
  column_id_t [ROWS*COLS-1:0] column_ids;
  stream_config_t             stream_cfg [Streams];
  logic [Streams-1:0]         stream_epoch;
  logic                       drain_epoch, all_taken;

  descriptor #(.ROWS(ROWS), .COLS(COLS)) u_descriptor (
    .clk_i, .rst_ni,
    .write_i         (config_valid_i && config_ready_o),
    .index_i         (config_index_i),
    .data_i          (config_data_i),
    .ids_written_o   (ids_written),
    .array_o         (array_cfg_o),
    .drain_o         (drain_cfg),
    .ppu_o           (ppu_cfg_o),
    .ppu_add_first_o, .ppu_add_second_o, .ppu_add_result_o,
    .row_ids_o       (row_ids),
    .column_ids_o    (column_ids),
    .streams_o       (stream_cfg)
  );

  assign all_taken = array_taken_i && ppu_taken_i && drain_epoch == epoch_q &&
                     stream_epoch == {Streams{epoch_q}};

  always_comb begin : offer_fsm
    state_d    = state_q;
    scan_start = 1'b0;
    unique case (state_q)
      StIdle: begin
        if (pass_valid_i) begin
          scan_start = ids_changed_q;
          state_d    = ids_changed_q ? StScan : StOffer;
        end
      end
      StScan:  if (!scan_busy) state_d = StOffer;
      StOffer: state_d = StTaking;
      default: if (all_taken) state_d = StIdle;
    endcase
  end

  assign config_ready_o = state_q == StIdle;
  assign pass_ready_o   = state_q == StOffer;
  assign epoch_o        = epoch_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q       <= StIdle;
      epoch_q       <= 1'b0;
      ids_changed_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_q == StOffer) epoch_q <= !epoch_q;
      if (ids_written) ids_changed_q <= 1'b1;
      else if (scan_start) ids_changed_q <= 1'b0;
    end
  end

  id_scanner #(.ROWS(ROWS), .COLS(COLS)) u_id_scanner (
    .clk_i, .rst_ni,
    .start_i     (scan_start),
    .busy_o      (scan_busy),
    .row_ids_i   (row_ids),
    .column_ids_i(column_ids),
    .row_scan_o, .row_id_o, .column_scan_o, .column_id_o
  );

  // ---- Tokens of the ifmap stream ----

  logic [15:0] wait_offered_q, wait_ifmap_q;
  logic        ifmap_go;

  always_ff @(posedge clk_i) begin
    if (pass_valid_i && pass_ready_o) wait_offered_q <= pass_wait_passes_i;
    if (ifmap_swap_o) wait_ifmap_q <= wait_offered_q;
  end
  assign ifmap_go = token_reached(passes_done_i, wait_ifmap_q);

  // ---- Streams into the array and the PPU ----

  glb_word_t [1:0]    ifmap_data;
  logic [1:0]         ifmap_lanes;
  tag_t               ifmap_tag;
  stream_options_t    ifmap_options;
  logic               unused_ifmap_freed;

  read_stream #(.LANES(2)) u_ifmap_stream (
    .clk_i, .rst_ni,
    .cfg_i          (stream_cfg[StreamIfmap]),
    .cfg_epoch_i    (epoch_q),
    .cfg_epoch_o    (stream_epoch[StreamIfmap]),
    .swap_o         (ifmap_swap_o),
    .go_i           (ifmap_go),
    .chunks_loaded_i('0),
    .chunk_freed_o  (unused_ifmap_freed),
    .waiting_o      (ifmap_waits_o),
    .request_valid_o(request_valid_o[StreamIfmap]),
    .request_ready_i(request_ready_i[StreamIfmap]),
    .request_o      (request_o[StreamIfmap]),
    .read_valid_i   (read_valid_i[StreamIfmap]),
    .read_data_i    (read_data_i[StreamIfmap]),
    .valid_o        (ifmap_valid_o),
    .ready_i        (ifmap_ready_i),
    .data_o         (ifmap_data),
    .lanes_o        (ifmap_lanes),
    .tag_o          (ifmap_tag),
    .options_o      (ifmap_options)
  );

  assign ifmap_o = '{
    data:        ifmap_data,
    lanes:       ifmap_lanes,
    to_pixels:   ifmap_options.to_pixels,
    half_by_set: ifmap_options.half_by_set,
    tag:         ifmap_tag
  };

  // The streams of single words: filters (two at a time, if the port is that wide), depthwise,
  // tables, ipsum, residual.
  localparam int unsigned Words = 5;
  localparam int unsigned WordStream [Words] =
      '{StreamFilter, StreamDepthwise, StreamTable, StreamIpsum, StreamResidual};
  localparam int unsigned Filter = 0, Depthwise = 1, Table = 2, Ipsum = 3, Residual = 4;

  logic            [Words-1:0] word_valid, word_ready, word_swap, word_freed, word_waits;
  logic            [Words-1:0][1:0] word_lanes;
  glb_word_t       [Words-1:0][1:0] word_data;
  tag_t            [Words-1:0] word_tag;
  stream_options_t [Words-1:0] word_options;

  for (genvar n = 0; n < Words; n++) begin : gen_word_stream
    localparam int unsigned S = WordStream[n];
    localparam int unsigned Lanes = (n == Filter) ? FILTER_LANES : 1;
    glb_word_t [Lanes-1:0] data;
    logic [Lanes-1:0]      lanes;

    read_stream #(.LANES(Lanes)) u_stream (
      .clk_i, .rst_ni, .chunks_loaded_i,
      .cfg_i          (stream_cfg[S]),
      .cfg_epoch_i    (epoch_q),
      .cfg_epoch_o    (stream_epoch[S]),
      .swap_o         (word_swap[n]),
      .go_i           (1'b1),
      .chunk_freed_o  (word_freed[n]),
      .waiting_o      (word_waits[n]),
      .request_valid_o(request_valid_o[S]),
      .request_ready_i(request_ready_i[S]),
      .request_o      (request_o[S]),
      .read_valid_i   (read_valid_i[S]),
      .read_data_i    (read_data_i[S]),
      .valid_o        (word_valid[n]),
      .ready_i        (word_ready[n]),
      .data_o         (data),
      .lanes_o        (lanes),
      .tag_o          (word_tag[n]),
      .options_o      (word_options[n])
    );
    assign word_data[n]  = 128'(data);
    assign word_lanes[n] = 2'(lanes);
  end

  // Only filters come in chunks.
  assign chunk_freed_o  = word_freed[Filter];
  assign filter_waits_o = word_waits[Filter];

  assign filter_swap_o        = word_swap[Filter];
  assign filter_valid_o       = word_valid[Filter];
  assign word_ready[Filter]   = filter_ready_i;
  assign filter_o             = '{data: word_data[Filter], lanes: word_lanes[Filter],
                                  tag: word_tag[Filter],
                                  half_by_set: word_options[Filter].half_by_set};
  assign depthwise_swap_o      = word_swap[Depthwise];
  assign depthwise_valid_o     = word_valid[Depthwise];
  assign word_ready[Depthwise] = depthwise_ready_i;
  assign depthwise_o           = '{data: word_data[Depthwise], lanes: word_lanes[Depthwise],
                                   tag: word_tag[Depthwise],
                                   half_by_set: word_options[Depthwise].half_by_set};
  assign table_valid_o        = word_valid[Table];
  assign word_ready[Table]    = table_ready_i;
  assign table_o              = word_data[Table][0];
  assign residual_valid_o     = word_valid[Residual];
  assign word_ready[Residual] = residual_ready_i;
  assign residual_o           = word_data[Residual][0];

  // ---- Sums out of the array, words into the GLB ----

  logic drain_done, ofmap_done;

  drain_sequencer #(.ROWS(ROWS), .COLS(COLS)) u_drain_sequencer (
    .clk_i, .rst_ni,
    .cfg_i        (drain_cfg),
    .loops_i      (array_cfg_o.loops),
    .pixels_i     (array_cfg_o.shape.pixels),
    .cfg_epoch_i  (epoch_q),
    .cfg_epoch_o  (drain_epoch),
    .done_o       (drain_done),
    .ipsum_valid_i(word_valid[Ipsum]),
    .ipsum_ready_o(word_ready[Ipsum]),
    .ipsum_i      (word_data[Ipsum][0]),
    .ln_o,
    .columns_o    (drain_columns_o),
    .empty_i      (drain_empty_i),
    .valid_o      (drain_valid_o),
    .ready_i      (drain_ready_i),
    .set_o        (drain_set_o),
    .phase_o      (drain_phase_o),
    .beat_o       (drain_beat_o),
    .sums_o       (drain_sums_o)
  );

  write_stream u_ofmap_stream (
    .clk_i, .rst_ni,
    .cfg_i          (stream_cfg[StreamOfmap]),
    .cfg_epoch_i    (epoch_q),
    .cfg_epoch_o    (stream_epoch[StreamOfmap]),
    .done_o         (ofmap_done),
    .word_valid_i, .word_ready_o, .word_i,
    .request_valid_o(request_valid_o[StreamOfmap]),
    .request_ready_i(request_ready_i[StreamOfmap]),
    .request_o      (request_o[StreamOfmap])
  );

  assign ppu_columns_o = drain_cfg.columns;
  assign ppu_used_o    = drain_cfg.to_ppu;

  // A pass is done when both have finished it; each can be a pass or two ahead of the other.
  logic [1:0] drains_q, ofmaps_q;

  assign pass_done_o = drains_q != '0 && ofmaps_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drains_q <= '0;
      ofmaps_q <= '0;
    end else begin
      drains_q <= drains_q + 2'(drain_done) - 2'(pass_done_o);
      ofmaps_q <= ofmaps_q + 2'(ofmap_done) - 2'(pass_done_o);
    end
  end

  logic unused_signals;
  assign unused_signals = ^{word_swap, word_freed, word_waits, word_lanes, word_data, word_tag,
                            word_options, ifmap_options,
                            read_valid_i[StreamOfmap], read_data_i[StreamOfmap]};

  `EYRIE_ASSERT_WHEN(OffersTaken, state_q == StOffer, all_taken,
      "a pass was offered before the last one was taken")
  `EYRIE_ASSERT(NoDoneOverflow,
      !(drains_q == 2'd3 && drain_done) && !(ofmaps_q == 2'd3 && ofmap_done),
      "more passes done than offered")

endmodule
