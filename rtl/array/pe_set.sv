// SPDX-License-Identifier: Apache-2.0
// A PE set of one column: two PEs and the SUPER below them, and the connections between them: the
// depthwise sums down to the SUPER, the depthwise words up from it, and the adder chain. Row 0 is
// the top row.
//
// The depthwise sums of a pixel leave the queues of all rows together, when every row has its sum
// and the SUPER accepts the total. The adder chain enters at row 0 through a skid buffer and leaves
// at the SUPER.

`include "assertions.svh"

module pe_set
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter pe_sizes_t SIZES  // sizes of PEs and SUPER
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  array_passes_t                 passes_i,
  input  logic            [SetRows-1:0] enable_i,
  output logic                          accepted_o,    // by all PEs and the SUPER

  input  operands_t       [SetRows-1:0] operands_i,
  output operands_ready_t [SetRows-1:0] operands_ready_o,
  input  parameters_request_t           parameters_i,
  output logic                          parameters_ready_o,

  input  chain_transfer_t               chain_i,
  output logic                          chain_ready_o,
  output chain_transfer_t               chain_o,
  input  logic                          chain_ready_i,

  output logic                          overrun_o,  // a pass receives more words than it uses
  output pe_activity_t    [SetRows-1:0] activity_o
);

  localparam int unsigned Super = SetRows - 1;  // row of the SUPER

  logic        [SetRows-1:0] pass_phase, overrun;
  logic                      super_phase;
  word_request_t [Super-1:0] word;
  logic          [Super-1:0] word_ready;
  dw_request_t   [Super-1:0] dw;
  dw_request_t               upper_dw;
  logic                      upper_dw_ready;
  chain_transfer_t [Super:0] chain;       // input of each row
  logic            [Super:0] chain_ready;

  // The skid buffer ends the ready path at the set, since a column may have many sets.
  skid_buffer #(.WIDTH($bits(chain_control_t) + 2 * $bits(sum_t))) u_chain_in (
    .clk_i, .rst_ni,
    .in_valid_i (chain_i.valid),
    .in_ready_o (chain_ready_o),
    .in_data_i  ({chain_i.control, chain_i.sums}),
    .out_valid_o(chain[0].valid),
    .out_ready_i(chain_ready[0]),
    .out_data_o ({chain[0].control, chain[0].sums})
  );

  // The rows above the SUPER hand over their sums together.
  always_comb begin : join_upper_rows
    upper_dw = dw[0];
    for (int unsigned row = 1; row < Super; row++) begin
      upper_dw.valid = upper_dw.valid && dw[row].valid;
      upper_dw.sums  = add_dw_sums(upper_dw.sums, dw[row].sums);
    end
  end

  for (genvar row = 0; row < Super; row++) begin : gen_pe
    pe #(.SIZES(SIZES), .ROW(2'(row))) u_pe (
      .clk_i, .rst_ni, .passes_i,
      .pass_phase_o    (pass_phase[row]),
      .enable_i        (enable_i[row]),
      .operands_i      (operands_i[row]),
      .operands_ready_o(operands_ready_o[row]),
      .word_i          (word[row]),
      .word_ready_o    (word_ready[row]),
      .dw_o            (dw[row]),
      .dw_ready_i      (upper_dw.valid && upper_dw_ready),
      .chain_i         (chain[row]),
      .chain_ready_o   (chain_ready[row]),
      .chain_o         (chain[row+1]),
      .chain_ready_i   (chain_ready[row+1]),
      .overrun_o       (overrun[row]),
      .activity_o      (activity_o[row])
    );
  end

  super_pe #(.SIZES(SIZES)) u_super_pe (
    .clk_i, .rst_ni, .passes_i, .parameters_i, .parameters_ready_o, .chain_o, .chain_ready_i,
    .pass_phase_o    ({super_phase, pass_phase[Super]}),
    .enable_i        (enable_i[Super]),
    .operands_i      (operands_i[Super]),
    .operands_ready_o(operands_ready_o[Super]),
    .words_o         (word),
    .words_ready_i   (word_ready),
    .dw_i            (upper_dw),
    .dw_ready_o      (upper_dw_ready),
    .chain_i         (chain[Super]),
    .chain_ready_o   (chain_ready[Super]),
    .overrun_o       (overrun[Super]),
    .activity_o      (activity_o[Super])
  );

  assign accepted_o = {super_phase, pass_phase} == {SetRows + 1{passes_i.pass_phase}};
  assign overrun_o  = overrun != '0;

  `EYRIE_STABLE(UpperSums, upper_dw.valid, upper_dw_ready, upper_dw.sums)
  for (genvar row = 0; row < Super; row++) begin : gen_check
    `EYRIE_STABLE(Word, word[row].valid, word_ready[row], word[row].data)
  end

endmodule
