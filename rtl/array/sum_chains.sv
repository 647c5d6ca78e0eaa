// SPDX-License-Identifier: Apache-2.0
// The sum chains of the array: how the PEs of a column hang together, where beats enter, and where
// the sums come out.
//
// Along a column a chain runs from the top of a joined stretch of sets to its bottom: ln[row] of
// drain_i joins row to row + 1 (always set within a set). Beats enter at the top of the set that
// they name, in all columns in use, and come out at sums_*, in order, after the PEs they name have
// added their sums. pe_in_* go into each PE, pe_* come out of it. drain_i.ln and drain_i.columns
// change only while drain_empty_o.

`include "assertions.svh"

module sum_chains
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // of PEs, in sets of three
  parameter int unsigned COLS = 8,  // of PEs
  localparam int unsigned Sets = ROWS / SetRows
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,

  input  drain_feed_t                       drain_i,
  input  sum_t         [COLS-1:0]           drain_sums_i,   // where the chain starts: ipsum or 0
  output logic                              drain_ready_o,
  output logic                              drain_empty_o,

  output logic         [ROWS-1:0][COLS-1:0] pe_in_valid_o,
  input  logic         [ROWS-1:0][COLS-1:0] pe_in_ready_i,
  output chain_phase_t [ROWS-1:0][COLS-1:0] pe_in_phase_o,
  output sum_t         [ROWS-1:0][COLS-1:0] pe_in_sum_o,
  input  logic         [ROWS-1:0][COLS-1:0] pe_valid_i,
  output logic         [ROWS-1:0][COLS-1:0] pe_ready_o,
  input  chain_phase_t [ROWS-1:0][COLS-1:0] pe_phase_i,
  input  sum_t         [ROWS-1:0][COLS-1:0] pe_sum_i,

  output logic                              sums_valid_o,
  input  logic                              sums_ready_i,
  output sum_t         [COLS-1:0]           sums_o,
  output drain_beat_t                       sums_beat_o
);

  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1;

  logic [Sets-1:0][COLS-1:0] head_valid, head_ready, end_valid, end_ready;
  sum_t [Sets-1:0][COLS-1:0] end_sum;
  logic [COLS-1:0]           fork_valid, fork_ready;
  logic                      fork_done, note_ready, beat_valid;
  logic [SetWidth-1:0]       head_set, end_set;

  // Sets joined to the one above: their chains start higher up.
  logic [Sets-1:0] joined;
  assign joined[0] = 1'b0;
  for (genvar set = 1; set < Sets; set++) begin : gen_joined
    assign joined[set] = drain_i.ln[set*SetRows-1];
  end

  assign head_set = SetWidth'(drain_i.set);

  // A beat that enters at a set leaves at the last set of its stretch.
  always_comb begin : find_end
    end_set = head_set;
    for (int unsigned set = 1; set < Sets; set++) begin
      if (SetWidth'(set - 1) == end_set && joined[set]) end_set = SetWidth'(set);
    end
  end

  assign beat_valid    = drain_i.valid && note_ready;
  assign drain_ready_o = note_ready && fork_done;

  multicast_fork #(.TARGETS(COLS)) u_fork (
    .clk_i, .rst_ni,
    .valid_i  (beat_valid),
    .ready_o  (fork_done),
    .targets_i(drain_i.columns[COLS-1:0]),
    .valid_o  (fork_valid),
    .ready_i  (fork_ready)
  );

  always_comb begin : select_head
    head_valid = '0;
    head_valid[head_set] = fork_valid;
  end
  assign fork_ready = head_ready[head_set];

  for (genvar col = 0; col < COLS; col++) begin : gen_chain
    for (genvar row = 0; row < ROWS; row++) begin : gen_link
      localparam int unsigned Set = row / SetRows;
      localparam bit Top = row % SetRows == 0;
      localparam bit Bottom = row % SetRows == SetRows - 1;

      // Into the row: from the row above, or at the head of a stretch.
      if (row == 0) begin : gen_first
        assign pe_in_valid_o[row][col] = head_valid[Set][col];
        assign pe_in_phase_o[row][col] = drain_i.phase;
        assign pe_in_sum_o[row][col]   = drain_sums_i[col];
      end else if (Top) begin : gen_top
        assign pe_in_valid_o[row][col] =
            joined[Set] ? pe_valid_i[row-1][col] : head_valid[Set][col];
        assign pe_in_phase_o[row][col] = joined[Set] ? pe_phase_i[row-1][col] : drain_i.phase;
        assign pe_in_sum_o[row][col]   = joined[Set] ? pe_sum_i[row-1][col] : drain_sums_i[col];
      end else begin : gen_inner
        assign pe_in_valid_o[row][col] = pe_valid_i[row-1][col];
        assign pe_in_phase_o[row][col] = pe_phase_i[row-1][col];
        assign pe_in_sum_o[row][col]   = pe_sum_i[row-1][col];
      end
      if (Top) begin : gen_head
        assign head_ready[Set][col] = !joined[Set] && pe_in_ready_i[row][col];
      end

      // Out of the row: to the row below, or out of the array.
      if (Bottom && row == ROWS - 1) begin : gen_last
        assign pe_ready_o[row][col] = end_ready[Set][col];
        assign end_valid[Set][col]  = pe_valid_i[row][col];
      end else if (Bottom) begin : gen_bottom
        assign pe_ready_o[row][col] =
            joined[Set+1] ? pe_in_ready_i[row+1][col] : end_ready[Set][col];
        assign end_valid[Set][col]  = pe_valid_i[row][col] && !joined[Set+1];
      end else begin : gen_out
        assign pe_ready_o[row][col] = pe_in_ready_i[row+1][col];
      end
      if (Bottom) begin : gen_end
        assign end_sum[Set][col] = pe_sum_i[row][col];
      end
    end
  end

  gather_network #(.SETS(Sets), .COLS(COLS)) u_gather (
    .clk_i, .rst_ni,
    .note_valid_i (beat_valid && fork_done),
    .note_ready_o (note_ready),
    .note_set_i   (end_set),
    .note_beat_i  (drain_i.beat),
    .empty_o      (drain_empty_o),
    .columns_i    (drain_i.columns[COLS-1:0]),
    .chain_valid_i(end_valid),
    .chain_ready_o(end_ready),
    .chain_sum_i  (end_sum),
    .sums_valid_o, .sums_ready_i, .sums_o,
    .beat_o       (sums_beat_o)
  );

  logic unused_signals;  // the joints within a set; phases end with the chain
  assign unused_signals = ^{drain_i, pe_phase_i};

  `EYRIE_ASSERT_NEXT(JointsHold, !drain_empty_o, $stable({drain_i.ln, drain_i.columns}),
      "chains changed with beats in them")
  // Within a set the chain is always joined.
  for (genvar row = 0; row < ROWS - 1; row++) begin : gen_ln_check
    if (row % SetRows != SetRows - 1) begin : gen_within
      `EYRIE_ASSERT_WHEN(LnWithinSet, drain_i.valid, drain_i.ln[row],
          $sformatf("sum chain of row %0d is cut within a set", row))
    end
  end

endmodule
