// SPDX-License-Identifier: Apache-2.0
// Delivers depthwise filters and quantisation parameters to the columns in use, one cycle after
// they enter at the earliest.
//
// Words come in runs of SetRows. The tag is 4 times the number of the run in its group, plus the
// place in the run. The first group_taps_i runs are taps: each has one for every row of a set. The
// words of later runs are quantisation parameters for the SUPERs.

`include "assertions.svh"

module depthwise_network
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,  // PE columns
  parameter int unsigned WIDTH = 66,  // bits of the data of a transfer
  localparam int unsigned Sets = ROWS / SetRows
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      swap_i,
  input  logic [ROWS-1:0][COLS-1:0] active_i,  // PEs in use in the next pass, sampled by swap_i

  input  logic                      valid_i,
  output logic                      ready_o,
  input  logic [9:0]                tag_i,
  input  group_taps_t               group_taps_i,
  input  logic [WIDTH-1:0]          data_i,

  output logic [ROWS-1:0][COLS-1:0] tap_valid_o,
  input  logic [ROWS-1:0][COLS-1:0] tap_ready_i,
  output logic [Sets-1:0][COLS-1:0] parameters_valid_o,
  input  logic [Sets-1:0][COLS-1:0] parameters_ready_i,
  output logic [WIDTH-1:0]          data_o
);

  logic [ROWS-1:0][COLS-1:0] active_q, tap_target;
  logic [Sets-1:0][COLS-1:0] parameters_target;
  logic [1:0]                place;
  logic                      is_tap;

  assign place  = tag_i[1:0];
  assign is_tap = tag_i[9:2] < 8'(group_taps_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= '0;
    else if (swap_i) active_q <= active_i;
  end

  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    assign tap_target[row] = (is_tap && place == 2'(row % SetRows)) ? active_q[row] : '0;
  end
  for (genvar set = 0; set < Sets; set++) begin : gen_set
    assign parameters_target[set] = is_tap ? '0 : active_q[set*SetRows+SetRows-1];
  end

  multicast_delivery #(.TARGETS((ROWS + Sets) * COLS), .WIDTH(WIDTH)) u_delivery (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .data_o,
    .targets_i     ({parameters_target, tap_target}),
    .target_valid_o({parameters_valid_o, tap_valid_o}),
    .target_ready_i({parameters_ready_i, tap_ready_i})
  );

  `EYRIE_STABLE(Transfer, valid_i, ready_o, {tag_i, group_taps_i, data_i})
  `EYRIE_ASSERT(SwapBetweenTransfers, !(swap_i && valid_i), "columns swapped during a transfer")

endmodule
