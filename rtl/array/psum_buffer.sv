// SPDX-License-Identifier: Apache-2.0
// The psum buffer of a PE: two halves, of which one accumulates while the other drains. The halves
// alternate, beginning with half 0. A half has two RAMs, for even and for odd indices, so that two
// adjacent sums are read at once.
//
// Accumulation: add_valid_i adds add_value_i to the sum at add_i.index of half add_i.half, or
// starts the sum (add_i.first). The old value is read in that cycle and the new value is written in
// the next. If the next addition has the same index, the value that is being written is forwarded.
//
// Drain: read_i reads the sum at read_index_i of the draining half; with read_two_i also the sum at
// the next index. They are at sums_o from the next cycle until the next read.
//
// States of a half: reserved from the first MAC of its tile (reserve_i); full from the last
// addition until its last read (drained_i); free after the last use of its sums (free_i). Only then
// may reads of another tile replace sums_o.

`include "assertions.svh"

module psum_buffer
  import eyrie_pkg::*;
#(
  parameter int unsigned WORDS = 128,  // sums in a half
  localparam int unsigned IndexWidth = $clog2(WORDS),
  localparam int unsigned RowWidth = IndexWidth - 1  // address bits of a RAM
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               reserve_i,
  input  logic               reserve_half_i,
  output logic [1:0]         reserved_o,
  input  logic               add_valid_i,
  input  product_t           add_i,
  input  logic signed [18:0] add_value_i,

  output logic               full_o,        // the draining half is complete
  input  logic               read_i,
  input  psum_index_t        read_index_i,
  input  logic               read_two_i,
  output sum_t [1:0]         sums_o,
  input  logic               drained_i,     // last read of the draining half
  input  logic               free_i         // release the half that was drained before
);

  // ---- Accumulate ----

  logic                  add_valid_q, add_half_q, add_first_q, add_tile_last_q;
  logic                  add_again_d, add_again_q;  // same sum as the previous addition
  logic [IndexWidth-1:0] add_index_q;
  logic signed [18:0]    add_value_q;
  sum_t                  add_base, add_sum, add_sum_q;
  sum_t [1:0][1:0]       read_data;    // by half, by parity of the index

  assign add_again_d = add_valid_q && add_i.half == add_half_q &&
                       add_i.index[IndexWidth-1:0] == add_index_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) add_valid_q <= 1'b0;
    else         add_valid_q <= add_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (add_valid_i) begin
      add_half_q      <= add_i.half;
      add_first_q     <= add_i.first;
      add_tile_last_q <= add_i.tile_last;
      add_again_q     <= add_again_d;
      add_index_q     <= add_i.index[IndexWidth-1:0];
      add_value_q     <= add_value_i;
    end
    if (add_valid_q) add_sum_q <= add_sum;
  end

  always_comb begin : select_base
    add_base = add_again_q ? add_sum_q : read_data[add_half_q][add_index_q[0]];
    if (add_first_q) add_base = '0;
  end
  assign add_sum = add_base + sum_t'(add_value_q);

  // ---- Halves ----

  logic       drain_half_q, read_half_q, read_odd_q;
  logic [1:0] reserved_q, full_q;

  assign reserved_o = reserved_q;
  assign full_o     = full_q[drain_half_q];
  assign sums_o     = '{read_data[read_half_q][!read_odd_q], read_data[read_half_q][read_odd_q]};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drain_half_q <= 1'b0;
      reserved_q   <= '0;
      full_q       <= '0;
    end else begin
      if (reserve_i) reserved_q[reserve_half_i] <= 1'b1;
      if (add_valid_q && add_tile_last_q) full_q[add_half_q] <= 1'b1;
      if (drained_i) begin
        full_q[drain_half_q] <= 1'b0;
        drain_half_q         <= !drain_half_q;
      end
      if (free_i) reserved_q[!drain_half_q] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      read_half_q <= drain_half_q;
      read_odd_q  <= read_index_i[0];
    end
  end

  // ---- Storage ----

  // RAM rows of the even and of the odd sum. The even sum after an odd one is in the next row.
  logic [1:0][RowWidth-1:0] drain_row;
  assign drain_row[0] = read_index_i[IndexWidth-1:1] + RowWidth'(read_index_i[0]);
  assign drain_row[1] = read_index_i[IndexWidth-1:1];

  for (genvar half = 0; half < 2; half++) begin : gen_half
    for (genvar odd = 0; odd < 2; odd++) begin : gen_parity
      logic                add_read, drain_read, add_write;
      logic [RowWidth-1:0] read_row;

      assign add_read   = add_valid_i && add_i.half == 1'(half) && add_i.index[0] == 1'(odd) &&
                          !add_i.first && !add_again_d;
      assign drain_read = read_i && drain_half_q == 1'(half) &&
                          (read_two_i || read_index_i[0] == 1'(odd));
      assign add_write  = add_valid_q && add_half_q == 1'(half) && add_index_q[0] == 1'(odd);
      assign read_row   = drain_read ? drain_row[odd] : add_i.index[IndexWidth-1:1];

      ram_1r1w #(.WORDS((WORDS + 1) / 2), .WIDTH($bits(sum_t))) u_ram (
        .clk_i,
        .write_i        (add_write),
        .write_address_i(add_index_q[IndexWidth-1:1]),
        .write_data_i   (add_sum),
        .read_i         (add_read || drain_read),
        .read_address_i (read_row),
        .read_data_o    (read_data[half][odd])
      );

      `EYRIE_ASSERT(OneReader, !(add_read && drain_read), "a half drains while it accumulates")
      `EYRIE_ASSERT_WHEN(ReadsSettled, add_read || drain_read,
          !add_write || read_row != add_index_q[IndexWidth-1:1],
          "a sum is read in the cycle of its write")
    end
  end

  logic unused_fields;  // index bits beyond WORDS
  assign unused_fields = ^{add_i, read_index_i};

  `EYRIE_ASSERT_WHEN(AddsReserved, add_valid_i, reserved_q[add_i.half],
      "an addition to a half that is not reserved")
  `EYRIE_ASSERT_WHEN(DrainsFull, read_i || drained_i, full_o, "a half drains before it is complete")
  `EYRIE_ASSERT_WHEN(FreesDrained, free_i, !full_q[!drain_half_q] && reserved_q[!drain_half_q],
      "a half is released before it has drained")
  `EYRIE_ASSERT_WHEN(IndexFits, add_valid_i, 32'(add_i.index) < 32'(WORDS),
      "an addition beyond the end of a half")
  `EYRIE_ASSERT_WHEN(ReadFits, read_i, 32'(read_index_i) + 32'(read_two_i) < 32'(WORDS),
      "a read beyond the end of a half")

endmodule
