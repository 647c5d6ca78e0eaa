// SPDX-License-Identifier: Apache-2.0
// The write queue of a GLB bank. A word waits until no client requests to read the bank
// (bank_free_i), or until it is urgent (urgent_o), which blocks readers. Words are urgent if the
// queue is full, or if they arrived before or in a cycle with settle_i. With write_o the bank
// writes word_o.
//
// Invariants: a full queue writes a word in every cycle, so that a pushed word (push_i) always has
// space. Words that are stored after a cycle with settle_i leave in the following cycles, one per
// cycle.

`include "assertions.svh"

module write_queue #(
  parameter int unsigned WIDTH = 82,  // bits of a word with its address
  parameter int unsigned DEPTH = 4    // number of words
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             push_i,
  input  logic [WIDTH-1:0] word_i,
  input  logic             settle_i,

  input  logic             bank_free_i,
  output logic             urgent_o,
  output logic             write_o,
  output logic [WIDTH-1:0] word_o
);

  localparam int unsigned PointerWidth = (DEPTH > 1) ? $clog2(DEPTH) : 1;
  localparam int unsigned CountWidth = $clog2(DEPTH + 1);

  typedef logic [PointerWidth-1:0] pointer_t;
  typedef logic [CountWidth-1:0]   count_t;

  logic [WIDTH-1:0] words_q [DEPTH];
  pointer_t         head_q, tail_q;
  count_t           count_q, count_d, settling_q;  // words; urgent after settle_i

  assign urgent_o = settling_q != '0 || count_q == count_t'(DEPTH);
  assign write_o  = urgent_o || (bank_free_i && count_q != '0);
  assign word_o   = words_q[head_q];
  assign count_d  = count_q + count_t'(push_i) - count_t'(write_o);

  // DEPTH need not be a power of two, so pointers wrap by comparison.
  function automatic pointer_t next_slot(pointer_t slot);
    return (slot == pointer_t'(DEPTH - 1)) ? '0 : slot + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q     <= '0;
      tail_q     <= '0;
      count_q    <= '0;
      settling_q <= '0;
    end else begin
      if (write_o) head_q <= next_slot(head_q);
      if (push_i)  tail_q <= next_slot(tail_q);
      count_q <= count_d;
      if (settle_i)                settling_q <= count_d;
      else if (settling_q != '0)   settling_q <= settling_q - 1'b1;
    end
  end

  // The words need no reset: count_q tells which of them are valid.
  always_ff @(posedge clk_i) begin
    if (push_i) words_q[tail_q] <= word_i;
  end

  `EYRIE_STATIC(DepthPositive, DEPTH > 0, "DEPTH is 0")
  `EYRIE_ASSERT(CountInRange, count_q <= count_t'(DEPTH), "more words than DEPTH")
  `EYRIE_ASSERT(SettlingThere, settling_q <= count_q, "more urgent words than words")
  `EYRIE_ASSERT_NEXT(Settles, settle_i, settling_q == count_q, "a word did not become urgent")
  `EYRIE_COVER(FullAndPushed, push_i && count_q == count_t'(DEPTH))
  `EYRIE_COVER(SettlesAgain, settle_i && settling_q != '0)

endmodule
