// SPDX-License-Identifier: Apache-2.0
// Hands one beat to a set of targets. Those that have taken it are remembered, so that one that
// stalls holds back only the next beat; ready_o comes when all have it. No target: the beat is
// dropped.

`include "assertions.svh"

module multicast_fork #(
  parameter int unsigned TARGETS = 8  // number of them
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               valid_i,
  output logic               ready_o,
  input  logic [TARGETS-1:0] targets_i,
  output logic [TARGETS-1:0] valid_o,
  input  logic [TARGETS-1:0] ready_i
);

  logic [TARGETS-1:0] sent_q;

  assign valid_o = {TARGETS{valid_i}} & targets_i & ~sent_q;
  assign ready_o = (~targets_i | sent_q | ready_i) == '1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sent_q <= '0;
    else if (valid_i) sent_q <= ready_o ? '0 : sent_q | (targets_i & ready_i);
  end

  `EYRIE_STABLE(Targets, valid_i, ready_o, targets_i)

endmodule
