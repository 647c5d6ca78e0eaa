// SPDX-License-Identifier: Apache-2.0
// A synchronous first-in first-out queue of any depth, with valid/ready on both sides.
//
// Data leaves in order. A word is visible at the output one cycle after it enters, at the earliest
// (no fall-through). in_ready_o depends on registers only: a full queue accepts no word in the
// cycle in which one leaves, so that no handshake path runs through the queue. out_data_o is valid
// only with out_valid_o. count_o is the number of stored words.

`include "assertions.svh"

module fifo #(
  parameter int unsigned WIDTH = 32,  // bits of a word
  parameter int unsigned DEPTH = 2,   // number of words
  localparam int unsigned CountWidth = $clog2(DEPTH + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [WIDTH-1:0]      in_data_i,

  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [WIDTH-1:0]      out_data_o,

  output logic [CountWidth-1:0] count_o
);

  localparam int unsigned PointerWidth = (DEPTH > 1) ? $clog2(DEPTH) : 1;
  localparam logic [PointerWidth-1:0] LastSlot = PointerWidth'(DEPTH - 1);

  logic [WIDTH-1:0]        words_q [DEPTH];
  logic [PointerWidth-1:0] head_q, tail_q;
  logic [CountWidth-1:0]   count_q;
  logic                    push, pop;

  assign in_ready_o  = count_q != CountWidth'(DEPTH);
  assign out_valid_o = count_q != '0;
  assign out_data_o  = words_q[head_q];
  assign count_o     = count_q;

  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  // DEPTH need not be a power of two, so pointers wrap by comparison.
  function automatic logic [PointerWidth-1:0] next_slot(logic [PointerWidth-1:0] slot);
    return (slot == LastSlot) ? '0 : slot + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      count_q <= '0;
    end else begin
      if (pop) head_q <= next_slot(head_q);
      if (push) tail_q <= next_slot(tail_q);
      if (push != pop) count_q <= push ? count_q + 1'b1 : count_q - 1'b1;
    end
  end

  // The words need no reset: count_q tells which of them are valid.
  always_ff @(posedge clk_i) begin
    if (push) words_q[tail_q] <= in_data_i;
  end

  `EYRIE_STATIC(DepthPositive, DEPTH > 0, "DEPTH is 0")
  `EYRIE_ASSERT(CountInRange, count_q <= CountWidth'(DEPTH), "more words than DEPTH")
  `EYRIE_STABLE(OutStable, out_valid_o, out_ready_i, out_data_o)

endmodule
