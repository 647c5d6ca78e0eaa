// SPDX-License-Identifier: Apache-2.0
// Shifts the row and column IDs of the shadow descriptor into the scan chains of the array, one of
// each per cycle, beginning with the last PE. Column IDs are read in pairs of words from the memory
// of the descriptor, one cycle ahead.

`include "assertions.svh"

module id_scanner
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, a multiple of 3
  parameter int unsigned COLS = 8   // PE columns
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  output logic               busy_o,
  output logic               read_o,
  output config_pair_t       read_pair_o,
  input  glb_word_t [1:0]    read_words_i,
  input  row_id_t [ROWS-1:0] row_ids_i,
  output id_scan_t           scan_o
);

  localparam int unsigned Pes = ROWS * COLS;
  localparam int unsigned Width = $clog2(Pes);
  localparam int unsigned PairIds = 2 * IdsPerWord;
  localparam int unsigned PlaceWidth = $clog2(PairIds);

  logic             busy_q, send_q;
  logic [Width-1:0] left_q;  // column IDs left to read minus one; index of the next
  logic [Width-1:0] sent_q;  // index of the ID at the output
  row_id_t          row_id;

  assign busy_o      = busy_q || send_q;
  assign read_o      = busy_q;
  assign read_pair_o = config_pair_t'(ColumnIdsIndex / 2) +
                       config_pair_t'(8'(left_q) >> PlaceWidth);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      send_q <= 1'b0;
      left_q <= '0;
      sent_q <= '0;
    end else begin
      send_q <= busy_q;
      sent_q <= left_q;
      if (start_i) begin
        busy_q <= 1'b1;
        left_q <= Width'(Pes - 1);
      end else if (busy_q) begin
        busy_q <= left_q != '0;
        left_q <= left_q - Width'(1);
      end
    end
  end

  always_comb begin : choose_row
    row_id = '0;
    for (int unsigned row = 0; row < ROWS; row++) begin
      if (32'(sent_q) == row) row_id = row_ids_i[row];
    end
  end

  logic [PairIds-1:0][ColumnIdWidth-1:0] ids;
  assign ids = read_words_i;

  assign scan_o = '{
    row_valid:    send_q && 32'(sent_q) < ROWS,
    row:          row_id,
    column_valid: send_q,
    column:       ids[PlaceWidth'(sent_q)]
  };

  `EYRIE_ASSERT_WHEN(StartIdle, start_i, !busy_o, "a scan starts within a scan")
  `EYRIE_ASSERT_NEXT(IdsHold, busy_o, $stable(row_ids_i), "IDs change during a scan")

endmodule
