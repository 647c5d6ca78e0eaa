// SPDX-License-Identifier: Apache-2.0
// The output stage of a network: stores a transfer with its targets in a skid buffer and delivers
// it to them.
//
// ready_o does not depend on the targets' ready. targets_i is sampled when the transfer enters, so
// that IDs may change while the transfer waits.

`include "assertions.svh"

module multicast_delivery #(
  parameter int unsigned TARGETS = 8,  // number of targets
  parameter int unsigned WIDTH = 64    // bits of the data of a transfer
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               valid_i,
  output logic               ready_o,
  input  logic [TARGETS-1:0] targets_i,
  input  logic [WIDTH-1:0]   data_i,

  output logic [TARGETS-1:0] target_valid_o,
  input  logic [TARGETS-1:0] target_ready_i,
  output logic [WIDTH-1:0]   data_o
);

  logic               valid, ready;
  logic [TARGETS-1:0] targets;

  skid_buffer #(.WIDTH(TARGETS + WIDTH)) u_skid (
    .clk_i, .rst_ni,
    .in_valid_i (valid_i),
    .in_ready_o (ready_o),
    .in_data_i  ({targets_i, data_i}),
    .out_valid_o(valid),
    .out_ready_i(ready),
    .out_data_o ({targets, data_o})
  );

  multicast_fork #(.TARGETS(TARGETS)) u_fork (
    .clk_i, .rst_ni,
    .valid_i  (valid),
    .ready_o  (ready),
    .targets_i(targets),
    .valid_o  (target_valid_o),
    .ready_i  (target_ready_i)
  );

  for (genvar t = 0; t < TARGETS; t++) begin : gen_target
    `EYRIE_STABLE(Transfer, target_valid_o[t], target_ready_i[t], data_o)
  end

endmodule
