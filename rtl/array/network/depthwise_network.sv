// SPDX-License-Identifier: Apache-2.0
// Delivers depthwise filters and quantisation parameters to the columns in use, one cycle after
// they enter at the earliest. A word with row tag 0 to 2 is a tap for that row of every set. A word
// with a higher row tag is a word of quantisation parameters for the SUPERs.

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
  input  logic [3:0]                row_tag_i,
  input  logic [WIDTH-1:0]          data_i,

  output logic [ROWS-1:0][COLS-1:0] tap_valid_o,
  input  logic [ROWS-1:0][COLS-1:0] tap_ready_i,
  output logic [Sets-1:0][COLS-1:0] parameters_valid_o,
  input  logic [Sets-1:0][COLS-1:0] parameters_ready_i,
  output logic [WIDTH-1:0]          data_o
);

  logic [ROWS-1:0][COLS-1:0] active_q, tap_target;
  logic [Sets-1:0][COLS-1:0] parameters_target;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) active_q <= '0;
    else if (swap_i) active_q <= active_i;
  end

  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    assign tap_target[row] = (row_tag_i == 4'(row % SetRows)) ? active_q[row] : '0;
  end
  for (genvar set = 0; set < Sets; set++) begin : gen_set
    assign parameters_target[set] =
        (row_tag_i >= 4'(SetRows)) ? active_q[set*SetRows+SetRows-1] : '0;
  end

  multicast_delivery #(.TARGETS((ROWS + Sets) * COLS), .WIDTH(WIDTH)) u_delivery (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i, .data_o,
    .targets_i     ({parameters_target, tap_target}),
    .target_valid_o({parameters_valid_o, tap_valid_o}),
    .target_ready_i({parameters_ready_i, tap_ready_i})
  );

  `EYRIE_STABLE(Transfer, valid_i, ready_o, {row_tag_i, data_i})
  `EYRIE_ASSERT(SwapBetweenTransfers, !(swap_i && valid_i), "columns swapped during a transfer")

endmodule
