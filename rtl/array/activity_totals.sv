// SPDX-License-Identifier: Apache-2.0
// Adds up the activity of all PEs: over each row into a register, then over the rows into a
// register. The registers keep paths from the PEs' decisions out of the performance counters.
//
// All totals belong to one cycle, two cycles before activity_i. activity_i is one cycle late
// itself; ActivityDelay is the sum. After a reset the totals are the totals of PEs without a pass.
// PEs finish long before a run ends, so the delay loses no cycle of a run.

`include "assertions.svh"

module activity_totals
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE columns
  parameter int unsigned COLS = 8,  // PE columns
  localparam int unsigned CountWidth = $clog2(ROWS * COLS * WordChannels + 1)
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  pe_activity_t     [ROWS-1:0][COLS-1:0]   activity_i,
  output pe_count_t                               macs_o,           // MACs
  output pe_count_t                               zero_skipped_o,   // MACs that are zero-skipped
  output pe_count_t [PeWaits-1:0]                 waits_o,          // waiting PEs by reason
  output pe_count_t                               behind_o          // PEs in the pass before
);

  localparam int unsigned RowWidth = $clog2(COLS * WordChannels + 1);
  localparam int unsigned Idle = 32'(WaitPass) - 1;  // index of PEs without a pass

  typedef struct packed {
    logic [RowWidth-1:0]              words;
    logic [RowWidth-1:0]              zero_skipped;
    logic [PeWaits-1:0][RowWidth-1:0] waits;
    logic [RowWidth-1:0]              behind;
  } row_t;
  typedef struct packed {
    logic [CountWidth-1:0]              words;
    logic [CountWidth-1:0]              zero_skipped;
    logic [PeWaits-1:0][CountWidth-1:0] waits;
    logic [CountWidth-1:0]              behind;
  } total_t;

  row_t [ROWS-1:0] row_d, row_q;
  total_t          total_d, total_q;

  always_comb begin : add_columns
    row_d = '0;
    for (int unsigned row = 0; row < ROWS; row++) begin
      for (int unsigned col = 0; col < COLS; col++) begin
        row_d[row].words        += RowWidth'(activity_i[row][col].multiplies);
        row_d[row].zero_skipped += RowWidth'(activity_i[row][col].zero_skipped);
        row_d[row].behind       += RowWidth'(activity_i[row][col].behind);
        for (int unsigned       reason = 0; reason < PeWaits; reason++) begin
          row_d[row].waits[reason] +=
              RowWidth'(activity_i[row][col].waits == pe_wait_e'(3'(reason + 1)));
        end
      end
    end
  end

  always_comb begin : add_rows
    total_d = '0;
    for (int unsigned row = 0; row < ROWS; row++) begin
      total_d.words        += CountWidth'(row_q[row].words);
      total_d.zero_skipped += CountWidth'(row_q[row].zero_skipped);
      total_d.behind       += CountWidth'(row_q[row].behind);
      for (int unsigned reason = 0; reason < PeWaits; reason++) begin
        total_d.waits[reason] += CountWidth'(row_q[row].waits[reason]);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_q   <= '0;
      total_q <= '0;
      for (int unsigned row = 0; row < ROWS; row++) row_q[row].waits[Idle] <= RowWidth'(COLS);
      total_q.waits[Idle] <= CountWidth'(ROWS * COLS);
    end else begin
      row_q   <= row_d;
      total_q <= total_d;
    end
  end

  assign macs_o         = pe_count_t'(total_q.words) * pe_count_t'(WordChannels);
  assign zero_skipped_o = pe_count_t'(total_q.zero_skipped);
  assign behind_o       = pe_count_t'(total_q.behind);
  for (genvar reason = 0; reason < PeWaits; reason++) begin : gen_reason
    assign waits_o[reason] = pe_count_t'(total_q.waits[reason]);
  end

  `EYRIE_ASSERT(SkippedAreMacs, zero_skipped_o <= macs_o, "more MACs skipped than issued")

endmodule
