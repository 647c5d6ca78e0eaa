// SPDX-License-Identifier: Apache-2.0
// Shifts the row and column IDs of the shadow descriptor into the scan chains of the array, one of
// each a cycle, the last PE's first.

`include "assertions.svh"

module id_scanner
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // of PEs, in sets of three
  parameter int unsigned COLS = 8   // of PEs
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       start_i,
  output logic                       busy_o,
  input  row_id_t [ROWS-1:0]         row_ids_i,
  input  column_id_t [ROWS*COLS-1:0] column_ids_i,
  output id_scan_t                   scan_o
);

  localparam int unsigned Width = $clog2(ROWS * COLS);
  localparam int unsigned RowWidth = $clog2(ROWS);

  logic             busy_q;
  logic [Width-1:0] left_q;  // column IDs still to go, less one; also the index of the next

  assign busy_o = busy_q;
  assign scan_o = '{
    row_valid:    busy_q && left_q < Width'(ROWS),
    row:          row_ids_i[RowWidth'(left_q)],
    column_valid: busy_q,
    column:       column_ids_i[left_q]
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      left_q <= '0;
    end else if (start_i) begin
      busy_q <= 1'b1;
      left_q <= Width'(ROWS * COLS - 1);
    end else if (busy_q) begin
      busy_q <= left_q != '0;
      left_q <= left_q - Width'(1);
    end
  end

  `EYRIE_ASSERT_WHEN(StartIdle, start_i, !busy_q, "a scan started within a scan")
  `EYRIE_ASSERT_NEXT(IdsHold, busy_q, $stable({row_ids_i, column_ids_i}),
      "IDs changed while they were scanned")

endmodule
