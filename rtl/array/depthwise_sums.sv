// SPDX-License-Identifier: Apache-2.0
// The depthwise sums of a PE: adds the products of a pixel's taps channel by channel and holds up
// to DEPTH pixels until they are accepted.
//
// The slot of a pixel accumulates its sum and then holds it. The slot is reserved when the first
// word of the pixel is issued (reserve_i, only with room_o), so that every product has a slot.
//
// Products come pixel by pixel, in each of the bands of a kernel. add_end_i marks the last product
// of a pixel in a band: the next product belongs to the next slot, or with add_again_i to the first
// pixel of the group, whose sum the next band goes on with. The sums of a group are complete in its
// last band, so that its first pixel is the first one without a complete sum.

`include "assertions.svh"

module depthwise_sums
  import eyrie_pkg::*;
#(
  parameter int unsigned DEPTH = 4  // number of pixels
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,

  output logic                                room_o,
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
  assign complete = add_valid_i && add_last_i;
  assign pop      = sums_o.valid && ready_i;

  // Slot at `offset` slots after `slot`. DEPTH need not be a power of two.
  function automatic logic [SlotWidth-1:0] advance(logic [SlotWidth-1:0] slot,
                                                   logic [CountWidth-1:0] offset);
    logic [CountWidth:0] sum;
    sum = (CountWidth + 1)'(slot) + {1'b0, offset};
    return (sum >= (CountWidth + 1)'(DEPTH)) ? SlotWidth'(sum - (CountWidth + 1)'(DEPTH))
                                             : SlotWidth'(sum);
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q     <= '0;
      tail_q     <= '0;
      reserved_q <= '0;
      complete_q <= '0;
    end else begin
      if (pop) head_q <= advance(head_q, CountWidth'(1));
      if (add_valid_i && add_end_i) begin
        tail_q <= add_again_i ? advance(head_q, complete_q) : advance(tail_q, CountWidth'(1));
      end
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
  `EYRIE_ASSERT_WHEN(BandsKeep, add_valid_i && add_again_i, !add_last_i,
      "a sum is complete before the last band")
  `EYRIE_STABLE(Sums, sums_o.valid, ready_i, sums_o.sums)

endmodule
