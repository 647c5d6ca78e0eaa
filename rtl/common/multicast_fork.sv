// SPDX-License-Identifier: Apache-2.0
// Sends one transfer to a set of targets. It remembers the targets that have accepted the transfer,
// so that a stalled target delays only the next transfer. ready_o is high when all targets have
// accepted it. A transfer without targets is dropped.

`include "assertions.svh"

module multicast_fork #(
  parameter int unsigned TARGETS = 8  // number of targets
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
