// SPDX-License-Identifier: Apache-2.0
// A queue of 32-bit operand words that can be read at an offset from its head. It serves words that
// are used several times before they leave.
//
// Up to PUSH adjacent words enter per cycle; push_lanes_i marks the words that count. All of them
// enter or none; push_ready_o: the queue has space for them. pop_i removes any number up to
// count_o. read_data_o is the word at read_offset_i after the head and valid if count_o >
// read_offset_i.
//
// count_o counts the words of the current pass of the PE (push_own_i). Words of the next pass can
// be queued after them. When the PE accepts the next pass (accept_i), these words become its own.

`include "assertions.svh"

module operand_queue
  import eyrie_pkg::*;
#(
  parameter int unsigned DEPTH = 8,  // number of words
  parameter int unsigned PUSH = 1,   // maximum number of words pushed per cycle
  localparam int unsigned CountWidth = $clog2(DEPTH + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  accept_i,
  input  logic                  push_valid_i,
  output logic                  push_ready_o,
  input  logic                  push_own_i,
  input  logic [PUSH-1:0]       push_lanes_i,
  input  word_t [PUSH-1:0]      push_data_i,

  output logic [CountWidth-1:0] count_o,
  input  logic [CountWidth-1:0] read_offset_i,
  output word_t                 read_data_o,
  input  logic [CountWidth-1:0] pop_i
);

  localparam logic [CountWidth-1:0] Depth = CountWidth'(DEPTH);
  localparam int unsigned SlotWidth = $clog2(DEPTH);

  word_t                 words_q [DEPTH];
  logic [SlotWidth-1:0]  head_d, head_q;
  logic [CountWidth-1:0] count_d, count_q, own_d, own_q, pushed;
  logic [SlotWidth-1:0]  lane_slot [PUSH];

  // Slot at `offset` words after `slot` in the circular buffer.
  function automatic logic [SlotWidth-1:0] advance(logic [SlotWidth-1:0] slot,
                                                   logic [CountWidth-1:0] offset);
    logic [CountWidth:0] sum;
    sum = (CountWidth + 1)'(slot) + {1'b0, offset};
    return (sum >= {1'b0, Depth}) ? SlotWidth'(sum - {1'b0, Depth}) : SlotWidth'(sum);
  endfunction

  always_comb begin : place_lanes
    pushed = '0;
    for (int unsigned lane = 0; lane < PUSH; lane++) begin
      lane_slot[lane] = advance(head_q, count_q + pushed);
      pushed += CountWidth'(push_lanes_i[lane]);
    end
  end

  assign push_ready_o = pushed <= Depth - count_q;
  assign count_o      = own_q;
  assign read_data_o  = words_q[advance(head_q, read_offset_i)];

  always_comb begin : next_state
    head_d  = advance(head_q, pop_i);
    count_d = count_q - pop_i;
    own_d   = (accept_i ? count_q : own_q) - pop_i;
    if (push_valid_i && push_ready_o) begin
      count_d += pushed;
      if (accept_i || push_own_i) own_d += pushed;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      count_q <= '0;
      own_q   <= '0;
    end else begin
      head_q  <= head_d;
      count_q <= count_d;
      own_q   <= own_d;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < PUSH; lane++) begin
      if (push_valid_i && push_ready_o && push_lanes_i[lane]) begin
        words_q[lane_slot[lane]] <= push_data_i[lane];
      end
    end
  end

  `EYRIE_ASSERT(PopWithinCount, pop_i <= own_q,
      $sformatf("%0d words popped, %0d stored", pop_i, own_q))
  `EYRIE_ASSERT(OwnAmongAll, own_q <= count_q, "more words of the pass than words in all")

endmodule
