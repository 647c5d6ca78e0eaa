// SPDX-License-Identifier: Apache-2.0
// The depthwise sums of a PE: adds the products of a pixel's taps channel by channel and holds up
// to DEPTH pixels until they are accepted.
//
// The slot of a pixel accumulates its sum and then holds it. The slot is reserved when the first
// word of the pixel is issued (reserve_i, only with room_o), so that every product has a slot.
// empty_o: no sum is stored or in flight.
//
// Products come pixel by pixel, in each of the bands of a kernel. add_end_i marks the last product
// of a pixel in a band: the next product belongs to the next slot, or with add_again_i to the first
// pixel, whose sum the next band goes on with. No sum leaves before the last band, so that the
// first pixel is at the head.

`include "assertions.svh"

module depthwise_sums
  import eyrie_pkg::*;
#(
  parameter int unsigned DEPTH = 4  // number of pixels
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,

  output logic                                room_o,
  output logic                                empty_o,
  input  logic                                reserve_i,

  input  logic                                add_valid_i,
  input  logic                                add_first_i,  // first product of a sum
  input  logic                                add_last_i,   // last product of a sum
  input  logic                                add_end_i,    // last product of a pixel in a band
  input  logic                                add_again_i,  // the first pixel is next
  input  logic signed [WordChannels-1:0][16:0] products_i,

  output dw_request_t                           sums_o,
  input  logic                                  ready_i
);

  localparam int unsigned SlotWidth = (DEPTH > 1) ? $clog2(DEPTH) : 1;
  localparam int unsigned CountWidth = $clog2(DEPTH + 1);
  localparam int unsigned RowSumWidth = 22;  // 21 products of up to 255 x 255

  typedef logic [WordChannels-1:0][RowSumWidth-1:0] row_sums_t;

  row_sums_t             sums_q [DEPTH];
  row_sums_t             total;
  logic [SlotWidth-1:0]  head_q, tail_q;
  logic [CountWidth-1:0] reserved_q, complete_q;
  logic                  complete, pop;

  assign room_o   = reserved_q != CountWidth'(DEPTH);
  assign empty_o  = reserved_q == '0;
  assign complete = add_valid_i && add_last_i;
  assign pop      = sums_o.valid && ready_i;

  // Wraps by comparison, since DEPTH need not be a power of two.
  function automatic logic [SlotWidth-1:0] next_slot(logic [SlotWidth-1:0] slot);
    return (slot == SlotWidth'(DEPTH - 1)) ? '0 : slot + 1'b1;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q     <= '0;
      tail_q     <= '0;
      reserved_q <= '0;
      complete_q <= '0;
    end else begin
      if (pop) head_q <= next_slot(head_q);
      if (add_valid_i && add_end_i) tail_q <= add_again_i ? head_q : next_slot(tail_q);
      reserved_q <= reserved_q + CountWidth'(reserve_i) - CountWidth'(pop);
      complete_q <= complete_q + CountWidth'(complete) - CountWidth'(pop);
    end
  end

  always_comb begin : add_product
    for (int unsigned lane = 0; lane < WordChannels; lane++) begin
      total[lane] = (add_first_i ? '0 : sums_q[tail_q][lane]) +
                    RowSumWidth'($signed(products_i[lane]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (add_valid_i) sums_q[tail_q] <= total;
  end

  assign sums_o.valid = complete_q != '0;
  for (genvar lane = 0; lane < WordChannels; lane++) begin : gen_lane
    assign sums_o.sums[lane] = DwSumWidth'($signed(sums_q[head_q][lane]));
  end

  `EYRIE_ASSERT_WHEN(ReservesRoom, reserve_i, room_o, "a pixel without a slot for its sum")
  `EYRIE_ASSERT_WHEN(AddsReserved, add_valid_i, complete_q < reserved_q,
      "a product without a reserved slot")
  `EYRIE_ASSERT_WHEN(BandsKeep, add_valid_i && add_again_i, complete_q == '0 && !add_last_i,
      "a sum leaves before the last band")
  `EYRIE_STABLE(Sums, sums_o.valid, ready_i, sums_o.sums)

endmodule
