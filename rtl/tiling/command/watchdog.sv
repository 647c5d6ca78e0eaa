// SPDX-License-Identifier: Apache-2.0
// Says when nothing has moved for limit_i cycles (0: never), and which command is to blame.
// progress_i: something moved in this cycle; it is seen in the next, since it comes from
// everywhere.
//
// To blame is the first command of the list that has not come through: all before it have, so that
// what it waits for never comes. Commands lie at rising addresses, which tells the older of the
// oldest transfer and the oldest PASS; where both have come through it is the command being
// decoded. Only a PASS that waits for a filter chunk may rely on commands behind it: then the
// transfer that has not brought the chunk, or is in the way of the one that would, is to blame.

`include "assertions.svh"

module watchdog
  import encoding_pkg::*;
  import tiling_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,
  input  logic        progress_i,
  input  logic [31:0] limit_i,

  input  pending_t    transfer_i,     // the oldest not done
  input  pending_t    pass_i,         // likewise
  input  logic        wants_chunk_i,  // a PASS waits for a filter chunk
  input  logic [31:0] command_i,      // being decoded

  output fault_t      fault_o
);

  logic [31:0] idle_q;
  logic        progress_q, expired, blame_pass;

  assign expired    = enable_i && limit_i != '0 && idle_q >= limit_i;
  assign blame_pass = pass_i.valid &&
                      (!transfer_i.valid ||
                       (pass_i.command < transfer_i.command && !wants_chunk_i));

  always_comb begin : blame
    fault_o.code    = expired ? ErrorWatchdog : ErrorNone;
    fault_o.command = command_i;
    if (blame_pass)            fault_o.command = pass_i.command;
    else if (transfer_i.valid) fault_o.command = transfer_i.command;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      progress_q <= 1'b0;
      idle_q     <= '0;
    end else begin
      progress_q <= progress_i;
      if (progress_q || !enable_i) idle_q <= '0;
      else if (idle_q != '1)       idle_q <= idle_q + 32'd1;
    end
  end

  `EYRIE_ASSERT_NEXT(ProgressCounts, progress_q, !expired, "expired though something moved")
  `EYRIE_COVER(BlamesPass, expired && blame_pass)
  `EYRIE_COVER(BlamesTransfer, expired && !blame_pass && transfer_i.valid)
  `EYRIE_COVER(BlamesDecoded, expired && !pass_i.valid && !transfer_i.valid)

endmodule
