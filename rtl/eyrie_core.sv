// SPDX-License-Identifier: Apache-2.0
// What runs passes: pass controller, PE array and PPU. The GLB is a client port per stream.

`include "assertions.svh"

module eyrie_core
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
  localparam int unsigned Sets = ROWS / SetRows,
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1,
  localparam int unsigned CountWidth = $clog2(ROWS * COLS * WordChannels + 1)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  // From the tiling controller (see pass_controller).
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

  // GLB clients, one per stream.
  output logic         [Streams-1:0]   request_valid_o,
  input  logic         [Streams-1:0]   request_ready_i,
  output glb_request_t [Streams-1:0]   request_o,
  input  logic         [Streams-1:0]   read_valid_i,
  input  glb_word_t [Streams-1:0][1:0] read_data_i,

  // Activity in this cycle, for the counters.
  output logic [CountWidth-1:0]        macs_o,
  output logic [CountWidth-1:0]        gated_o,
  output logic [PeWaits-1:0][CountWidth-1:0] waits_o,
  output logic [CountWidth-1:0]        behind_o,
  output logic                         ifmap_waits_o,
  output logic                         filter_waits_o,
  output logic                         ifmap_stall_o,
  output logic                         filter_stall_o,
  output logic                         drain_busy_o,
  output logic                         drain_stall_o
);

  array_config_t       array_cfg;
  logic                epoch, array_taken, ppu_epoch;
  logic                row_scan, column_scan;
  row_id_t             row_id;
  column_id_t          column_id;
  logic                ifmap_swap, ifmap_valid, ifmap_ready;
  ifmap_beat_t         ifmap;
  logic                filter_swap, filter_valid, filter_ready;
  filter_beat_t        filter;
  logic                depthwise_swap, depthwise_valid, depthwise_ready;
  filter_beat_t        depthwise;
  logic [ROWS-2:0]     ln;
  logic [COLS-1:0]     drain_columns;
  logic                drain_empty, drain_valid, drain_ready;
  logic [SetWidth-1:0] drain_set;
  chain_phase_t        drain_phase;
  drain_beat_t         drain_beat, sums_beat;
  sum_t [COLS-1:0]     drain_sums, sums;
  logic                sums_valid, sums_ready, ppu_sums_ready;
  ppu_config_t         ppu_cfg;
  ppu_addend_t         ppu_add_first, ppu_add_second;
  ppu_add_result_t     ppu_add_result;
  logic [4:0]          ppu_columns;
  logic                ppu_used, table_valid, table_ready, residual_valid, residual_ready;
  logic                word_valid, word_ready, unused_word_last;
  glb_word_t           table_word, residual, word;

  pass_controller #(.ROWS(ROWS), .COLS(COLS), .FILTER_LANES(FILTER_LANES)) u_pass_controller (
    .clk_i, .rst_ni,
    .config_valid_i, .config_ready_o, .config_index_i, .config_data_i,
    .pass_valid_i, .pass_ready_o, .pass_wait_passes_i, .passes_done_i, .chunks_loaded_i,
    .pass_done_o, .chunk_freed_o, .ifmap_waits_o, .filter_waits_o,
    .request_valid_o, .request_ready_i, .request_o, .read_valid_i, .read_data_i,
    .array_cfg_o      (array_cfg),
    .epoch_o          (epoch),
    .array_taken_i    (array_taken),
    .row_scan_o       (row_scan),
    .row_id_o         (row_id),
    .column_scan_o    (column_scan),
    .column_id_o      (column_id),
    .ifmap_swap_o     (ifmap_swap),
    .ifmap_valid_o    (ifmap_valid),
    .ifmap_ready_i    (ifmap_ready),
    .ifmap_o          (ifmap),
    .filter_swap_o    (filter_swap),
    .filter_valid_o   (filter_valid),
    .filter_ready_i   (filter_ready),
    .filter_o         (filter),
    .depthwise_swap_o (depthwise_swap),
    .depthwise_valid_o(depthwise_valid),
    .depthwise_ready_i(depthwise_ready),
    .depthwise_o      (depthwise),
    .ln_o             (ln),
    .drain_columns_o  (drain_columns),
    .drain_empty_i    (drain_empty),
    .drain_valid_o    (drain_valid),
    .drain_ready_i    (drain_ready),
    .drain_set_o      (drain_set),
    .drain_phase_o    (drain_phase),
    .drain_beat_o     (drain_beat),
    .drain_sums_o     (drain_sums),
    .ppu_cfg_o        (ppu_cfg),
    .ppu_add_first_o  (ppu_add_first),
    .ppu_add_second_o (ppu_add_second),
    .ppu_add_result_o (ppu_add_result),
    .ppu_columns_o    (ppu_columns),
    .ppu_used_o       (ppu_used),
    .ppu_taken_i      (ppu_epoch == epoch),
    .table_valid_o    (table_valid),
    .table_ready_i    (table_ready),
    .table_o          (table_word),
    .residual_valid_o (residual_valid),
    .residual_ready_i (residual_ready),
    .residual_o       (residual),
    .word_valid_i     (word_valid),
    .word_ready_o     (word_ready),
    .word_i           (word)
  );

  pe_array #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .IFMAP_WORDS(IFMAP_WORDS),
    .FILTER_WORDS(FILTER_WORDS), .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS),
    .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS), .FILTER_LANES(FILTER_LANES)
  ) u_pe_array (
    .clk_i, .rst_ni,
    .cfg_i            (array_cfg),
    .cfg_epoch_i      (epoch),
    .taken_o          (array_taken),
    .row_scan_i       (row_scan),
    .row_id_i         (row_id),
    .column_scan_i    (column_scan),
    .column_id_i      (column_id),
    .ifmap_swap_i     (ifmap_swap),
    .ifmap_valid_i    (ifmap_valid),
    .ifmap_ready_o    (ifmap_ready),
    .ifmap_i          (ifmap),
    .filter_swap_i    (filter_swap),
    .filter_valid_i   (filter_valid),
    .filter_ready_o   (filter_ready),
    .filter_i         (filter),
    .depthwise_swap_i (depthwise_swap),
    .depthwise_valid_i(depthwise_valid),
    .depthwise_ready_o(depthwise_ready),
    .depthwise_i      (depthwise),
    .ln_i             (ln),
    .drain_columns_i  (drain_columns),
    .drain_empty_o    (drain_empty),
    .drain_valid_i    (drain_valid),
    .drain_ready_o    (drain_ready),
    .drain_set_i      (drain_set),
    .drain_phase_i    (drain_phase),
    .drain_beat_i     (drain_beat),
    .drain_sums_i     (drain_sums),
    .sums_valid_o     (sums_valid),
    .sums_ready_i     (sums_ready),
    .sums_o           (sums),
    .sums_beat_o      (sums_beat),
    .macs_o, .gated_o, .waits_o, .behind_o
  );

  // Sums that are only looked at pass the PPU by.
  assign sums_ready = !sums_beat.to_ppu || ppu_sums_ready;

  ppu #(.COLS(COLS)) u_ppu (
    .clk_i, .rst_ni,
    .cfg_i           (ppu_cfg),
    .add_first_i     (ppu_add_first),
    .add_second_i    (ppu_add_second),
    .add_result_i    (ppu_add_result),
    .columns_i       (ppu_columns),
    .to_ppu_i        (ppu_used),
    .cfg_epoch_i     (epoch),
    .cfg_epoch_o     (ppu_epoch),
    .sums_valid_i    (sums_valid && sums_beat.to_ppu),
    .sums_ready_o    (ppu_sums_ready),
    .sums_i          (sums),
    .beat_i          (sums_beat),
    .table_valid_i   (table_valid),
    .table_ready_o   (table_ready),
    .table_i         (table_word),
    .residual_valid_i(residual_valid),
    .residual_ready_o(residual_ready),
    .residual_i      (residual),
    .word_valid_o    (word_valid),
    .word_ready_i    (word_ready),
    .word_o          (word),
    .word_last_o     (unused_word_last),
    .busy_o          (drain_busy_o),
    .stall_o         (drain_stall_o)
  );

  assign ifmap_stall_o  = ifmap_valid && !ifmap_ready;
  assign filter_stall_o = filter_valid && !filter_ready;

  // Time is accounted for by PE: it multiplies a word, or waits for one reason.
  `EYRIE_ASSERT(EachPeOnce,
      16'(macs_o) / 16'(WordChannels) + 16'(waits_o[0]) + 16'(waits_o[1]) + 16'(waits_o[2]) +
      16'(waits_o[3]) + 16'(waits_o[4]) <= 16'(ROWS * COLS), "a PE multiplies and waits")

endmodule
