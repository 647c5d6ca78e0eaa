// SPDX-License-Identifier: Apache-2.0
// Delivers a transfer to every PE whose row ID equals its row tag, and whose column ID equals one of
// its valid column tags, when it enters, one cycle later at the earliest. A transfer without targets
// is dropped.
//
// The column IDs form one scan chain, row by row: the first ID shifted in ends at the last PE. The
// row IDs form another chain.

`include "assertions.svh"

module multicast_network #(
  parameter int unsigned ROWS = 6,            // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,            // PE columns
  parameter int unsigned ROW_ID_WIDTH = 4,    // bits of a row ID
  parameter int unsigned COLUMN_ID_WIDTH = 6, // bits of a column ID
  parameter int unsigned COLUMN_TAGS = 1,     // column tags of a transfer
  parameter int unsigned WIDTH = 64           // bits of the data of a transfer
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,

  input  logic                                     row_scan_i,
  input  logic [ROW_ID_WIDTH-1:0]                  row_id_i,
  input  logic                                     column_scan_i,
  input  logic [COLUMN_ID_WIDTH-1:0]               column_id_i,
  input  logic                                     swap_i,
  output logic [ROWS-1:0][COLS-1:0][COLUMN_ID_WIDTH-1:0] next_column_ids_o,  // after the next swap

  input  logic                                     valid_i,
  output logic                                     ready_o,
  input  logic [ROW_ID_WIDTH-1:0]                  row_tag_i,
  input  logic [COLUMN_TAGS-1:0]                   column_tag_valid_i,
  input  logic [COLUMN_TAGS-1:0][COLUMN_ID_WIDTH-1:0] column_tag_i,
  input  logic [WIDTH-1:0]                         data_i,

  output logic [ROWS-1:0][COLS-1:0]                target_valid_o,
  input  logic [ROWS-1:0][COLS-1:0]                target_ready_i,
  output logic [WIDTH-1:0]                         data_o
);

  logic [ROWS:0][ROW_ID_WIDTH-1:0]         row_chain;
  logic [ROWS*COLS:0][COLUMN_ID_WIDTH-1:0] column_chain;
  logic [ROWS-1:0]                         row_match;
  logic [ROWS-1:0][COLS-1:0]               column_match, target;

  assign row_chain[0]    = row_id_i;
  assign column_chain[0] = column_id_i;

  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    multicast_controller #(.ID_WIDTH(ROW_ID_WIDTH)) u_row (
      .clk_i, .rst_ni, .swap_i,
      .scan_enable_i(row_scan_i),
      .scan_id_i    (row_chain[row]),
      .scan_id_o    (row_chain[row+1]),
      .tag_valid_i  (1'b1),
      .tag_i        (row_tag_i),
      .match_o      (row_match[row])
    );

    for (genvar col = 0; col < COLS; col++) begin : gen_column
      multicast_controller #(.ID_WIDTH(COLUMN_ID_WIDTH), .TAGS(COLUMN_TAGS)) u_column (
        .clk_i, .rst_ni, .swap_i,
        .scan_enable_i(column_scan_i),
        .scan_id_i    (column_chain[row*COLS+col]),
        .scan_id_o    (column_chain[row*COLS+col+1]),
        .tag_valid_i  (column_tag_valid_i),
        .tag_i        (column_tag_i),
        .match_o      (column_match[row][col])
      );
      assign next_column_ids_o[row][col] = column_chain[row*COLS+col+1];
    end

    assign target[row] = {COLS{row_match[row]}} & column_match[row];
  end

  logic unused_chain_end;
  assign unused_chain_end = ^row_chain[ROWS];

  multicast_delivery #(.TARGETS(ROWS * COLS), .WIDTH(WIDTH)) u_delivery (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .target_valid_o, .target_ready_i, .data_o,
    .targets_i(target)
  );

  `EYRIE_STABLE(Transfer, valid_i, ready_o, {row_tag_i, column_tag_valid_i, column_tag_i, data_i})
  `EYRIE_ASSERT(SwapBetweenTransfers, !(swap_i && valid_i), "IDs swapped during a transfer")

endmodule
