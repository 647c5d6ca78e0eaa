// SPDX-License-Identifier: Apache-2.0
// A first-in first-out queue in a RAM, for 1,024 bits or more, with the interface and timing of
// fifo. Data leaves in order and is visible one cycle after it enters at the earliest, at up to one
// word per cycle. The handshakes depend on registers only. The output word comes from one of two
// registers.
//
// The RAM needs two cycles from a write to the read data. A word that finds the RAM empty and the
// output free therefore bypasses the RAM (`past_q`). The next word is read when the word before it
// leaves. A word is never read in the cycle of its write: the RAM is read only if it already held a
// word.

`include "assertions.svh"

module ram_fifo #(
  parameter int unsigned WIDTH = 32,  // bits of a word
  parameter int unsigned DEPTH = 32,  // number of words
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

  localparam int unsigned SlotWidth = (DEPTH > 1) ? $clog2(DEPTH) : 1;
  localparam logic [SlotWidth-1:0] LastSlot = SlotWidth'(DEPTH - 1);

  logic [SlotWidth-1:0]  head_q, tail_q;     // pointers of the words in the RAM
  logic [CountWidth-1:0] stored_q, count_q;  // words in the RAM; words in all
  logic                  valid_q, from_ram_q;
  logic [WIDTH-1:0]      past_q, ram_data;
  logic                  push, free, read, past, store;

  assign in_ready_o  = count_q != CountWidth'(DEPTH);
  assign out_valid_o = valid_q;
  assign out_data_o  = from_ram_q ? ram_data : past_q;
  assign count_o     = count_q;

  assign push  = in_valid_i && in_ready_o;
  assign free  = !valid_q || out_ready_i;    // the output can accept a word
  assign read  = free && stored_q != '0;
  assign past  = free && stored_q == '0 && push;
  assign store = push && !past;

  ram_1r1w #(.WORDS(DEPTH), .WIDTH(WIDTH)) u_ram (
    .clk_i,
    .write_i        (store),
    .write_address_i(tail_q),
    .write_data_i   (in_data_i),
    .read_i         (read),
    .read_address_i (head_q),
    .read_data_o    (ram_data)
  );

  // DEPTH need not be a power of two, so pointers wrap by comparison.
  function automatic logic [SlotWidth-1:0] next_slot(logic [SlotWidth-1:0] slot);
    return (slot == LastSlot) ? '0 : slot + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q     <= '0;
      tail_q     <= '0;
      stored_q   <= '0;
      count_q    <= '0;
      valid_q    <= 1'b0;
      from_ram_q <= 1'b0;
    end else begin
      if (read)  head_q <= next_slot(head_q);
      if (store) tail_q <= next_slot(tail_q);
      stored_q <= stored_q + CountWidth'(store) - CountWidth'(read);
      count_q  <= count_q + CountWidth'(push) - CountWidth'(valid_q && out_ready_i);
      if (free) begin
        valid_q    <= read || past;
        from_ram_q <= read;
      end
    end
  end

  // past_q needs no reset: valid_q tells whether it is valid.
  always_ff @(posedge clk_i) begin
    if (past) past_q <= in_data_i;
  end

  `EYRIE_STATIC(DepthPositive, DEPTH > 1, "DEPTH is less than 2")
  `EYRIE_ASSERT(CountInRange, count_q <= CountWidth'(DEPTH), "more words than DEPTH")
  `EYRIE_ASSERT(Counted, count_q == stored_q + CountWidth'(valid_q), "words miscounted")
  `EYRIE_ASSERT_WHEN(NotWhileWritten, read && store, head_q != tail_q || stored_q == '0,
      "a word is read in the cycle of its write")
  `EYRIE_STABLE(OutStable, out_valid_o, out_ready_i, out_data_o)
  `EYRIE_COVER(GoesPast, past && valid_q)
  `EYRIE_COVER(ReadsBehind, read && valid_q)

endmodule
