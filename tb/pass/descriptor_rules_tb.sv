// SPDX-License-Identifier: Apache-2.0
// The rules of descriptors on words as the descriptor's memory holds them.
module descriptor_rules_tb
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,
  parameter int unsigned COLS = 8,
  parameter int unsigned IFMAP_WORDS = 16,
  parameter int unsigned FILTER_WORDS = 24,
  parameter int unsigned PIXEL_WORDS = 14,
  parameter int unsigned PSUM_WORDS = 128,
  parameter int unsigned FILTER_LANES = 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          write_i,
  input  config_index_t                 index_i,
  input  logic [63:0]                   data_i,
  output logic                          illegal_o
);

  pass_config_t pass;
  logic         ready, ids_written;
  row_id_t [ROWS-1:0] row_ids;
  glb_word_t [1:0]    words;

  descriptor #(.ROWS(ROWS), .COLS(COLS)) u_descriptor (
    .clk_i, .rst_ni,
    .ready_o      (ready),
    .write_i      (write_i && ready),
    .index_i, .data_i,
    .ids_written_o(ids_written),
    .pass_phase_i (1'b0),
    .pass_o       (pass),
    .row_ids_o    (row_ids),
    .read_i       (1'b0),
    .read_pair_i  ('0),
    .read_words_o (words)
  );

  descriptor_rules #(
    .ROWS(ROWS), .COLS(COLS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .FILTER_LANES(FILTER_LANES)
  ) u_dut (
    .pass_i   (pass),
    .illegal_o(illegal_o)
  );

endmodule
