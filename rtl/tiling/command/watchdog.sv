// SPDX-License-Identifier: Apache-2.0
// Says when nothing has moved for limit_i cycles (0: never). progress_i: something moved in this
// cycle.

`include "assertions.svh"

module watchdog (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,
  input  logic        progress_i,
  input  logic [31:0] limit_i,
  output logic        expired_o
);

  logic [31:0] idle_q;

  assign expired_o = enable_i && limit_i != '0 && idle_q >= limit_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)                       idle_q <= '0;
    else if (progress_i || !enable_i)  idle_q <= '0;
    else if (idle_q != '1)             idle_q <= idle_q + 32'd1;
  end

  `EYRIE_ASSERT_NEXT(ProgressCounts, progress_i, !expired_o, "expired though something moved")

endmodule
