// SPDX-License-Identifier: Apache-2.0
// A register stage for a valid/ready channel that cuts valid, data and ready: no combinational path
// crosses it in either direction.
//
// Data leaves in order, one cycle later at the earliest, at up to one word per cycle. It has two
// slots. `main_q` drives the output. in_ready_o is a register and falls one cycle late, so `skid_q`
// catches the word that arrives in the cycle in which the output stalls.

`include "assertions.svh"

module skid_buffer #(
  parameter int unsigned WIDTH = 32  // bits of a word
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [WIDTH-1:0] in_data_i,

  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [WIDTH-1:0] out_data_o
);

  logic [WIDTH-1:0] main_q, skid_q;
  logic             main_full_q, skid_full_q;
  logic             push, main_free;

  assign in_ready_o  = !skid_full_q;
  assign out_valid_o = main_full_q;
  assign out_data_o  = main_q;

  assign push      = in_valid_i && in_ready_o;
  assign main_free = !main_full_q || out_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      main_full_q <= 1'b0;
      skid_full_q <= 1'b0;
    end else if (main_free) begin
      main_full_q <= skid_full_q || push;
      skid_full_q <= 1'b0;
    end else if (push) begin
      skid_full_q <= 1'b1;
    end
  end

  // The older word leaves first: no word enters while skid_q is full.
  always_ff @(posedge clk_i) begin
    if (main_free) main_q <= skid_full_q ? skid_q : in_data_i;
    else if (push) skid_q <= in_data_i;
  end

  `EYRIE_ASSERT_WHEN(SkidNeedsMain, skid_full_q, main_full_q, "skid_q is full and main_q is empty")
  `EYRIE_STABLE(OutStable, out_valid_o, out_ready_i, out_data_o)

endmodule
