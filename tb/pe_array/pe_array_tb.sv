// SPDX-License-Identifier: Apache-2.0
// The PE array with plain ports: configuration as its descriptor words, beats as their fields, and the
// activity summed up since the reset.
module pe_array_tb
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,
  parameter int unsigned COLS = 8,
  parameter int unsigned MULTIPLIERS = 4,
  parameter int unsigned IFMAP_WORDS = 16,
  parameter int unsigned FILTER_WORDS = 24,
  parameter int unsigned PIXEL_WORDS = 14,
  parameter int unsigned PSUM_WORDS = 128,
  parameter int unsigned WORD_BUFFER_WORDS = 256,
  parameter int unsigned FILTER_LANES = 1,
  localparam int unsigned Sets = ROWS / SetRows,
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic [63:0]         cfg_shape_i,
  input  logic [63:0]         cfg_loops_i,
  input  logic [63:0]         cfg_depthwise_i,
  input  logic                pass_phase_i,
  output logic                accepted_o,

  input  logic                row_scan_i,
  input  logic [7:0]          row_id_i,
  input  logic                column_scan_i,
  input  logic [7:0]          column_id_i,

  input  logic                ifmap_swap_i,
  input  logic                ifmap_valid_i,
  output logic                ifmap_ready_o,
  input  logic [127:0]        ifmap_data_i,
  input  logic [1:0]          ifmap_lanes_i,
  input  logic                ifmap_to_pixels_i,
  input  logic                ifmap_half_by_set_i,
  input  logic [1:0]          ifmap_more_bands_i,
  input  logic [10:0]         ifmap_tag_i,

  input  logic                filter_swap_i,
  input  logic                filter_valid_i,
  output logic                filter_ready_o,
  input  logic [64*FILTER_LANES-1:0] filter_data_i,
  input  logic [FILTER_LANES-1:0] filter_lanes_i,
  input  logic                filter_half_by_set_i,
  input  logic [10:0]         filter_tag_i,

  input  logic                depthwise_swap_i,
  input  logic                depthwise_valid_i,
  output logic                depthwise_ready_o,
  input  logic [63:0]         depthwise_data_i,
  input  logic                depthwise_half_by_set_i,
  input  logic [10:0]         depthwise_tag_i,

  input  logic [ROWS-2:0]     drain_link_enable_i,
  input  logic [COLS-1:0]     drain_columns_i,
  output logic                drain_empty_o,
  input  logic                drain_valid_i,
  output logic                drain_ready_o,
  input  logic [SetWidth-1:0] drain_set_i,
  input  logic [SetRows-1:0]  drain_add_i,
  input  logic [SetRows-1:0]  drain_free_i,
  input  logic [7:0]          drain_index_i,
  input  logic                drain_word_i,
  input  logic                drain_two_i,
  input  logic [8:0]          drain_note_i,
  input  logic [COLS*32-1:0]  drain_sums_i,

  output logic                sums_valid_o,
  input  logic                sums_ready_i,
  output logic [COLS*64-1:0]  sums_sums_o,  // of a pixel, then of the next one
  output logic [8:0]          sums_note_o,

  output logic                overrun_o,  // has come
  output logic [47:0]         macs_o,
  output logic [47:0]         zero_skipped_o
);

  array_config_t          cfg;
  id_scan_t               scan;
  ifmap_stream_t          ifmap;
  filter_stream_t         filter, depthwise;
  drain_stream_t          drain;
  pe_count_t              macs, zero_skipped;

  assign cfg.shape     = array_shape_t'(cfg_shape_i);
  assign cfg.loops     = array_loops_t'(cfg_loops_i);
  assign cfg.depthwise = depthwise_output_t'(cfg_depthwise_i);
  assign scan = '{row_valid: row_scan_i, row: row_id_i, column_valid: column_scan_i, column: column_id_i};
  // A stream takes all passes: its words are of the pass of the last swap.
  logic [2:0] pass_phase_q;
  logic       overrun;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pass_phase_q <= '0;
    else         pass_phase_q <= pass_phase_q ^ {depthwise_swap_i, filter_swap_i, ifmap_swap_i};
  end

  assign ifmap = '{swap: ifmap_swap_i, pass_phase: pass_phase_q[0], valid: ifmap_valid_i, data: ifmap_data_i,
                   lanes: ifmap_lanes_i, to_pixels: ifmap_to_pixels_i, half_by_set: ifmap_half_by_set_i,
                   more_bands: ifmap_more_bands_i, tag: ifmap_tag_i};
  assign filter = '{swap: filter_swap_i, pass_phase: pass_phase_q[1], valid: filter_valid_i, data: 128'(filter_data_i),
                    lanes: 2'(filter_lanes_i), half_by_set: filter_half_by_set_i, tag: filter_tag_i};
  assign depthwise = '{swap: depthwise_swap_i, pass_phase: pass_phase_q[2], valid: depthwise_valid_i,
                       data: 128'(depthwise_data_i), lanes: 2'b01, half_by_set: depthwise_half_by_set_i, tag: depthwise_tag_i};
  assign drain = '{
    valid:       drain_valid_i,
    set:         3'(drain_set_i),
    control:     '{add: drain_add_i, free: drain_free_i, index: drain_index_i, word: drain_word_i,
                   two_pixels: drain_two_i},
    flags:       drain_flags_t'(drain_note_i),
    link_enable: (MaxRows - 1)'(drain_link_enable_i),
    columns:     MaxCols'(drain_columns_i)
  };

  localparam pe_sizes_t Sizes = '{
    multipliers: MULTIPLIERS, ifmap_words: IFMAP_WORDS, filter_words: FILTER_WORDS,
    pixel_words: PIXEL_WORDS, psum_words: PSUM_WORDS, word_buffer_words: WORD_BUFFER_WORDS,
    filter_lanes: FILTER_LANES
  };

  pe_array #(.SIZES(Sizes), .ROWS(ROWS), .COLS(COLS)) u_dut (
    .clk_i, .rst_ni,
    .cfg_i           (cfg),
    .pass_phase_i, .accepted_o,
    .scan_i          (scan),
    .ifmap_i         (ifmap),
    .ifmap_ready_o,
    .filter_i        (filter),
    .filter_ready_o,
    .depthwise_i     (depthwise),
    .depthwise_ready_o,
    .drain_i         (drain),
    .drain_sums_i, .drain_ready_o, .drain_empty_o,
    .overrun_o       (overrun),
    .sums_valid_o, .sums_ready_i,
    .sums_o          (sums_sums_o),
    .sums_flags_o    (sums_note_o),
    .macs_o          (macs),
    .zero_skipped_o  (zero_skipped),
    .waits_o         (),
    .behind_o        ()
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      macs_o         <= '0;
      zero_skipped_o <= '0;
      overrun_o      <= 1'b0;
    end else begin
      macs_o         <= macs_o + 48'(macs);
      zero_skipped_o <= zero_skipped_o + 48'(zero_skipped);
      overrun_o      <= overrun_o || overrun;
    end
  end

endmodule
