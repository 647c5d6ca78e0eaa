// SPDX-License-Identifier: Apache-2.0
// Two halves of partial sums: one accumulates while the other drains. Halves take turns, half 0
// first. A half is two RAMs, of the sums with even and with odd indices, so that two sums side by
// side can be read at once.
//
// Accumulating: add_valid_i says what the sum at add_i.index of half add_i.half grows by (or starts
// as, add_i.first). Its old value is read in that cycle, the new one written in the next; where the
// next addition comes to the same sum, it takes what is being written instead of reading it.
//
// Draining: read_i fetches the sum at read_index_i of the half that drains, with read_two_i the one
// behind it, too; they are in sums_o from the next cycle on until the next read.
//
// A half is reserved from the first multiplication of its tile (reserve_i), full from the last
// addition, not full again when it drains no further (drained_i), and free when its last sum has
// been used (free_i): only then may another tile's reads take sums_o's place.

`include "assertions.svh"

module psum_buffer
  import eyrie_pkg::*;
#(
  parameter int unsigned WORDS = 128,  // sums in each half
  localparam int unsigned IndexWidth = $clog2(WORDS),
  localparam int unsigned RowWidth = IndexWidth - 1  // of a RAM's address
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  input  logic               reserve_i,
  input  logic               reserve_half_i,
  output logic [1:0]         reserved_o,
  input  logic               add_valid_i,
  input  product_t           add_i,
  input  logic signed [18:0] add_value_i,

  output logic               full_o,        // the half that drains is complete
  input  logic               read_i,
  input  psum_index_t        read_index_i,
  input  logic               read_two_i,
  output sum_t [1:0]         sums_o,
  input  logic               drained_i,     // nothing more is read from this half
  input  logic               free_i         // the half before may take another tile
);

  // ---- Accumulate ----

  logic                  add_valid_q, add_half_q, add_first_q, add_tile_last_q;
  logic                  add_again_d, add_again_q;  // same sum as the addition before
  logic [IndexWidth-1:0] add_index_q;
  logic signed [18:0]    add_value_q;
  sum_t                  add_base, add_sum, add_sum_q;
  sum_t [1:0][1:0]       read_data;    // of halves, of even and odd indices

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

  // Rows of the even and of the odd sum that are read: behind an odd one is that of the next row.
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
          "a sum is read while it is written")
    end
  end

  logic unused_fields;  // of the index, bits beyond WORDS
  assign unused_fields = ^{add_i, read_index_i};

  `EYRIE_ASSERT_WHEN(AddsReserved, add_valid_i, reserved_q[add_i.half],
      "an addition to a half that is not reserved")
  `EYRIE_ASSERT_WHEN(DrainsFull, read_i || drained_i, full_o, "a half drains before it is complete")
  `EYRIE_ASSERT_WHEN(FreesDrained, free_i, !full_q[!drain_half_q] && reserved_q[!drain_half_q],
      "a half is given back before it has drained")
  `EYRIE_ASSERT_WHEN(IndexFits, add_valid_i, 32'(add_i.index) < 32'(WORDS),
      "an addition beyond the half's sums")
  `EYRIE_ASSERT_WHEN(ReadFits, read_i, 32'(read_index_i) + 32'(read_two_i) < 32'(WORDS),
      "a sum beyond the half's is drained")

endmodule
