// SPDX-License-Identifier: Apache-2.0
// The column adder chains of the array: they connect the sets of a column, feed transfers in and
// collect the sums at the end.
//
// link_enable[row] of drain_i links row to row + 1 and is always set within a set. Linked sets form
// a chain from the top row of the first set to the bottom row of the last set. A transfer enters at
// the top of the set that it names, in all columns in use. It leaves at sums_*, in order, after the
// selected PEs have added their sums. set_in_o enters each set, set_out_i leaves it.
// drain_i.link_enable and drain_i.columns change only while drain_empty_o is high.

`include "assertions.svh"

module adder_chains
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,  // PE columns
  localparam int unsigned Sets = ROWS / SetRows
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,

  input  drain_stream_t                         drain_i,
  input  sum_t         [COLS-1:0]               drain_sums_i,   // chain input: ipsum or 0;
                                                            // the second pixel starts at 0
  output logic                                  drain_ready_o,
  output logic                                  drain_empty_o,

  output chain_transfer_t  [Sets-1:0][COLS-1:0] set_in_o,
  input  logic             [Sets-1:0][COLS-1:0] set_in_ready_i,
  input  chain_transfer_t  [Sets-1:0][COLS-1:0] set_out_i,
  output logic             [Sets-1:0][COLS-1:0] set_out_ready_o,

  output logic                                  sums_valid_o,
  input  logic                                  sums_ready_i,
  output sum_t    [1:0][COLS-1:0]               sums_o,         // sums of one pixel or of two
  output drain_flags_t                          sums_flags_o
);

  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1;

  logic [Sets-1:0][COLS-1:0] first_valid, first_ready, last_valid, last_ready;
  sum_t [Sets-1:0][1:0][COLS-1:0] last_sums;
  logic [COLS-1:0]           fork_valid, fork_ready;
  logic                      fork_done, note_ready, transfer_valid;
  logic [SetWidth-1:0]       first_set, last_set;

  // Sets that are linked to the set above continue its chain.
  logic [Sets-1:0] linked;
  assign linked[0] = 1'b0;
  for (genvar set = 1; set < Sets; set++) begin : gen_linked
    assign linked[set] = drain_i.link_enable[set*SetRows-1];
  end

  assign first_set = SetWidth'(drain_i.set);

  // A transfer leaves at the last set of its chain.
  always_comb begin : find_last
    last_set = first_set;
    for (int unsigned set = 1; set < Sets; set++) begin
      if (SetWidth'(set - 1) == last_set && linked[set]) last_set = SetWidth'(set);
    end
  end

  assign transfer_valid = drain_i.valid && note_ready;
  assign drain_ready_o  = note_ready && fork_done;

  multicast_fork #(.TARGETS(COLS)) u_fork (
    .clk_i, .rst_ni,
    .valid_i  (transfer_valid),
    .ready_o  (fork_done),
    .targets_i(drain_i.columns[COLS-1:0]),
    .valid_o  (fork_valid),
    .ready_i  (fork_ready)
  );

  always_comb begin : select_first
    first_valid = '0;
    first_valid[first_set] = fork_valid;
  end
  assign fork_ready = first_ready[first_set];

  for (genvar col = 0; col < COLS; col++) begin : gen_chain
    for (genvar set = 0; set < Sets; set++) begin : gen_link
      chain_transfer_t first;
      assign first = '{valid: first_valid[set][col], control: drain_i.control,
                       sums: {sum_t'(0), drain_sums_i[col]}};

      // Input of a set: the set above, or a new transfer in the first set of a chain.
      if (set == 0) begin : gen_top
        assign set_in_o[set][col] = first;
      end else begin : gen_not_top
        assign set_in_o[set][col] = linked[set] ? set_out_i[set-1][col] : first;
      end
      assign first_ready[set][col] = !linked[set] && set_in_ready_i[set][col];

      // Output of a set: the set below, or out of the array.
      if (set == Sets - 1) begin : gen_bottom
        assign set_out_ready_o[set][col] = last_ready[set][col];
        assign last_valid[set][col]      = set_out_i[set][col].valid;
      end else begin : gen_not_bottom
        assign set_out_ready_o[set][col] =
            linked[set+1] ? set_in_ready_i[set+1][col] : last_ready[set][col];
        assign last_valid[set][col]      = set_out_i[set][col].valid && !linked[set+1];
      end
      for (genvar pixel = 0; pixel < 2; pixel++) begin : gen_pixel
        assign last_sums[set][pixel][col] = set_out_i[set][col].sums[pixel];
      end
    end
  end

  // More than a chain through all rows holds without stalls.
  localparam int unsigned Transfers = 2 * ROWS + 4;

  gather_network #(.SETS(Sets), .COLS(COLS), .TRANSFERS(Transfers)) u_gather (
    .clk_i, .rst_ni,
    .note_valid_i (transfer_valid && fork_done),
    .note_ready_o (note_ready),
    .note_set_i   (last_set),
    .note_flags_i (drain_i.flags),
    .empty_o      (drain_empty_o),
    .columns_i    (drain_i.columns[COLS-1:0]),
    .chain_valid_i(last_valid),
    .chain_ready_o(last_ready),
    .chain_sums_i (last_sums),
    .sums_valid_o, .sums_ready_i, .sums_o,
    .flags_o      (sums_flags_o)
  );

  logic unused_signals;  // links within a set; control bits at the end of the chain
  assign unused_signals = ^{drain_i, set_out_i};

  `EYRIE_ASSERT_NEXT(LinksHold, !drain_empty_o, $stable({drain_i.link_enable, drain_i.columns}),
      "links change while the chains hold transfers")
  // Rows of a set are always linked.
  for (genvar row = 0; row < ROWS - 1; row++) begin : gen_link_check
    if (row % SetRows != SetRows - 1) begin : gen_within
      `EYRIE_ASSERT_WHEN(LinkedWithinSet, drain_i.valid, drain_i.link_enable[row],
          $sformatf("adder chain of row %0d is cut within a set", row))
    end
  end

endmodule
