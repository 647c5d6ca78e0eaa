// SPDX-License-Identifier: Apache-2.0
// The sum chains of the array: how the sets of a column hang together, where beats enter, and where
// the sums come out.
//
// Along a column a chain runs from the top of a joined stretch of sets to its bottom: ln_i[row]
// joins row to row + 1 (always set within a set). Beats enter at the top of set drain_set_i, in all
// columns in use, and come out at sums_*, in order, after the PEs they name have added their sums.
// set_in_o goes into each set, set_out_i comes out of it. ln_i and drain_columns_i change only while
// drain_empty_o.

`include "assertions.svh"

module sum_chains
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // of PEs, in sets of three
  parameter int unsigned COLS = 8,  // of PEs
  localparam int unsigned Sets = ROWS / SetRows,
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,

  input  logic         [ROWS-2:0]           ln_i,
  input  logic         [COLS-1:0]           drain_columns_i,
  output logic                              drain_empty_o,
  input  logic                              drain_valid_i,
  output logic                              drain_ready_o,
  input  logic         [SetWidth-1:0]       drain_set_i,
  input  chain_phase_t                      drain_phase_i,
  input  drain_beat_t                       drain_beat_i,
  input  sum_t         [COLS-1:0]           drain_sums_i,   // where the chain starts: ipsum or 0

  output chain_beat_t  [Sets-1:0][COLS-1:0] set_in_o,
  input  logic         [Sets-1:0][COLS-1:0] set_in_ready_i,
  input  chain_beat_t  [Sets-1:0][COLS-1:0] set_out_i,
  output logic         [Sets-1:0][COLS-1:0] set_out_ready_o,

  output logic                              sums_valid_o,
  input  logic                              sums_ready_i,
  output sum_t         [COLS-1:0]           sums_o,
  output drain_beat_t                       sums_beat_o
);

  logic [Sets-1:0][COLS-1:0] head_valid, head_ready, end_valid, end_ready;
  sum_t [Sets-1:0][COLS-1:0] end_sum;
  logic [COLS-1:0]           fork_valid, fork_ready;
  logic                      fork_done, note_ready, beat_valid;
  logic [SetWidth-1:0]       end_set;

  // Sets joined to the one above: their chains start higher up.
  logic [Sets-1:0] joined;
  assign joined[0] = 1'b0;
  for (genvar set = 1; set < Sets; set++) begin : gen_joined
    assign joined[set] = ln_i[set*SetRows-1];
  end

  // A beat that enters at drain_set_i leaves at the last set of its stretch.
  always_comb begin : find_end
    end_set = drain_set_i;
    for (int unsigned set = 1; set < Sets; set++) begin
      if (SetWidth'(set - 1) == end_set && joined[set]) end_set = SetWidth'(set);
    end
  end

  assign beat_valid    = drain_valid_i && note_ready;
  assign drain_ready_o = note_ready && fork_done;

  multicast_fork #(.TARGETS(COLS)) u_fork (
    .clk_i, .rst_ni,
    .valid_i  (beat_valid),
    .ready_o  (fork_done),
    .targets_i(drain_columns_i),
    .valid_o  (fork_valid),
    .ready_i  (fork_ready)
  );

  always_comb begin : select_head
    head_valid = '0;
    head_valid[drain_set_i] = fork_valid;
  end
  assign fork_ready = head_ready[drain_set_i];

  for (genvar col = 0; col < COLS; col++) begin : gen_chain
    for (genvar set = 0; set < Sets; set++) begin : gen_link
      chain_beat_t head;
      assign head = '{valid: head_valid[set][col], phase: drain_phase_i, sum: drain_sums_i[col]};

      // Into the set: from the set above, or at the head of a stretch.
      if (set == 0) begin : gen_first
        assign set_in_o[set][col] = head;
      end else begin : gen_below
        assign set_in_o[set][col] = joined[set] ? set_out_i[set-1][col] : head;
      end
      assign head_ready[set][col] = !joined[set] && set_in_ready_i[set][col];

      // Out of the set: to the set below, or out of the array.
      if (set == Sets - 1) begin : gen_last
        assign set_out_ready_o[set][col] = end_ready[set][col];
        assign end_valid[set][col]       = set_out_i[set][col].valid;
      end else begin : gen_above
        assign set_out_ready_o[set][col] =
            joined[set+1] ? set_in_ready_i[set+1][col] : end_ready[set][col];
        assign end_valid[set][col]       = set_out_i[set][col].valid && !joined[set+1];
      end
      assign end_sum[set][col] = set_out_i[set][col].sum;
    end
  end

  // As many as a chain through all rows holds where nothing stalls, and some more.
  localparam int unsigned Beats = 2 * ROWS + 4;

  gather_network #(.SETS(Sets), .COLS(COLS), .BEATS(Beats)) u_gather (
    .clk_i, .rst_ni,
    .note_valid_i (beat_valid && fork_done),
    .note_ready_o (note_ready),
    .note_set_i   (end_set),
    .note_beat_i  (drain_beat_i),
    .empty_o      (drain_empty_o),
    .columns_i    (drain_columns_i),
    .chain_valid_i(end_valid),
    .chain_ready_o(end_ready),
    .chain_sum_i  (end_sum),
    .sums_valid_o, .sums_ready_i, .sums_o,
    .beat_o       (sums_beat_o)
  );

  logic unused_signals;  // the joints within a set; phases end with the chain
  assign unused_signals = ^{ln_i, set_out_i};

  `EYRIE_ASSERT_NEXT(JointsHold, !drain_empty_o, $stable({ln_i, drain_columns_i}),
      "chains changed with beats in them")
  // Within a set the chain is always joined.
  for (genvar row = 0; row < ROWS - 1; row++) begin : gen_ln_check
    if (row % SetRows != SetRows - 1) begin : gen_within
      `EYRIE_ASSERT_WHEN(LnWithinSet, drain_valid_i, ln_i[row],
          $sformatf("sum chain of row %0d is cut within a set", row))
    end
  end

endmodule
