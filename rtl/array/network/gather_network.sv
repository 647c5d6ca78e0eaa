// SPDX-License-Identifier: Apache-2.0
// Collects the sums that leave the adder chains. A transfer has one sum, or two, of each column in
// use.
//
// Chains end at the bottom row of a set. Transfers leave in the order in which they entered the
// chains: note_* records, for each transfer, the set at which it leaves and its flags for the PPU.

`include "assertions.svh"

module gather_network
  import eyrie_pkg::*;
#(
  parameter int unsigned SETS = 2,        // sets of PE rows
  parameter int unsigned COLS = 8,        // PE columns
  parameter int unsigned TRANSFERS = 16,  // transfers that the chains can hold
  localparam int unsigned SetWidth = (SETS > 1) ? $clog2(SETS) : 1
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,

  input  logic                       note_valid_i,
  output logic                       note_ready_o,
  input  logic [SetWidth-1:0]        note_set_i,
  input  drain_flags_t               note_flags_i,
  output logic                       empty_o,   // no transfer is in the chains

  input  logic [COLS-1:0]            columns_i,
  input  logic [SETS-1:0][COLS-1:0]  chain_valid_i,
  output logic [SETS-1:0][COLS-1:0]  chain_ready_o,
  input  sum_t [SETS-1:0][1:0][COLS-1:0] chain_sums_i,

  output logic                       sums_valid_o,
  input  logic                       sums_ready_i,
  output sum_t [1:0][COLS-1:0]       sums_o,
  output drain_flags_t               flags_o
);

  logic                note_valid;
  logic [$clog2(TRANSFERS+1)-1:0] unused_count;
  logic [SetWidth-1:0] set;
  logic                gathered_valid, gathered_ready;
  drain_flags_t        gathered_flags;

  fifo #(.WIDTH(SetWidth + $bits(drain_flags_t)), .DEPTH(TRANSFERS)) u_notes (
    .clk_i, .rst_ni,
    .in_valid_i (note_valid_i),
    .in_ready_o (note_ready_o),
    .in_data_i  ({note_set_i, note_flags_i}),
    .out_valid_o(note_valid),
    .out_ready_i(gathered_valid && gathered_ready),
    .out_data_o ({set, gathered_flags}),
    .count_o    (unused_count)
  );

  assign empty_o        = !note_valid;
  assign gathered_valid = note_valid && (chain_valid_i[set] | ~columns_i) == '1;

  // All columns of a transfer leave together.
  always_comb begin : accept
    chain_ready_o = '0;
    if (gathered_valid && gathered_ready) chain_ready_o[set] = '1;
  end

  skid_buffer #(.WIDTH(2 * COLS * $bits(sum_t) + $bits(drain_flags_t))) u_out (
    .clk_i, .rst_ni,
    .in_valid_i (gathered_valid),
    .in_ready_o (gathered_ready),
    .in_data_i  ({chain_sums_i[set], gathered_flags}),
    .out_valid_o(sums_valid_o),
    .out_ready_i(sums_ready_i),
    .out_data_o ({sums_o, flags_o})
  );

  `EYRIE_STABLE(Transfer, sums_valid_o, sums_ready_i, {sums_o, flags_o})
  `EYRIE_ASSERT(ChainsNoted, note_valid || chain_valid_i == '0,
      "a chain ends with a transfer that was not recorded")

endmodule
