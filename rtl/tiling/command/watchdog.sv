// SPDX-License-Identifier: Apache-2.0
// The watchdog: reports a fault after limit_i cycles without progress (0: never), with the command
// that is stuck. progress_i comes from all units and is registered first.
//
// The stuck command is the first command of the list that is not done: all commands before it are
// done, so its wait never ends. Commands have rising addresses, so the older of the oldest transfer
// and the oldest PASS is the one with the lower address. If both kinds are done, it is the command
// in the decoder. Only a PASS that waits for a filter chunk may depend on later commands. In this
// case the oldest transfer is reported: it has not loaded the chunk, or it blocks the transfer that
// would.

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

  input  pending_t    transfer_i,     // oldest transfer that is not done
  input  pending_t    pass_i,         // oldest PASS that is not done
  input  logic        wants_chunk_i,  // a PASS waits for a filter chunk
  input  logic [31:0] command_i,      // command in the decoder

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

  `EYRIE_ASSERT_NEXT(ProgressCounts, progress_q, !expired, "the watchdog expires after progress")
  `EYRIE_COVER(BlamesPass, expired && blame_pass)
  `EYRIE_COVER(BlamesTransfer, expired && !blame_pass && transfer_i.valid)
  `EYRIE_COVER(BlamesDecoded, expired && !pass_i.valid && !transfer_i.valid)

endmodule
