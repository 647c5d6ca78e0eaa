// SPDX-License-Identifier: Apache-2.0
// Steps through the rows of a transfer, planes outermost, one row per cycle. The first row follows
// one cycle after the transfer is accepted; the next transfer is accepted with the last row.
// Addresses wrap modulo 2**32 bytes of DRAM and 2**16 words of GLB.

`include "assertions.svh"

module dma_rows
  import eyrie_pkg::*;
  import tiling_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        transfer_valid_i,
  output logic        transfer_ready_o,
  input  transfer_t   transfer_i,

  output logic        row_valid_o,
  input  logic        row_ready_i,
  output logic        row_store_o,
  output logic [31:0] row_dram_o,
  output logic [31:0] row_command_o,  // DRAM address of the command
  output row_t        row_o
);

  transfer_t    transfer_q;
  logic         active_q;
  logic [31:0]  plane_dram_q, row_dram_q;    // first row of the plane; current row
  glb_address_t plane_glb_q, row_glb_q;
  logic [11:0]  row_q, plane_q;
  logic         last_row, last_plane;

  assign last_row   = row_q == transfer_q.rows.count - 12'd1;
  assign last_plane = plane_q == transfer_q.planes.count - 12'd1;

  assign row_valid_o = active_q;
  assign row_store_o = transfer_q.store;
  assign row_dram_o  = row_dram_q;
  assign row_command_o = transfer_q.command;
  assign row_o = '{
    coded:   transfer_q.coded,
    chunk:   transfer_q.chunk,
    last:    last_row && last_plane,
    words:   transfer_q.address.words,
    address: row_glb_q
  };

  assign transfer_ready_o = !active_q || (row_ready_i && row_o.last);

  logic [31:0]  next_plane_dram;
  glb_address_t next_plane_glb;
  assign next_plane_dram = plane_dram_q + transfer_q.planes.dram_stride;
  assign next_plane_glb  = plane_glb_q + transfer_q.planes.glb_stride;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      transfer_q   <= '0;
      active_q     <= 1'b0;
      plane_dram_q <= '0;
      row_dram_q   <= '0;
      plane_glb_q  <= '0;
      row_glb_q    <= '0;
      row_q        <= '0;
      plane_q      <= '0;
    end else if (transfer_ready_o) begin
      active_q <= transfer_valid_i;
      if (transfer_valid_i) begin
        transfer_q   <= transfer_i;
        plane_dram_q <= transfer_i.address.dram_address;
        row_dram_q   <= transfer_i.address.dram_address;
        plane_glb_q  <= transfer_i.address.glb_address;
        row_glb_q    <= transfer_i.address.glb_address;
        row_q        <= '0;
        plane_q      <= '0;
      end
    end else if (row_ready_i) begin
      if (last_row) begin
        row_q        <= '0;
        plane_q      <= plane_q + 12'd1;
        plane_dram_q <= next_plane_dram;
        row_dram_q   <= next_plane_dram;
        plane_glb_q  <= next_plane_glb;
        row_glb_q    <= next_plane_glb;
      end else begin
        row_q      <= row_q + 12'd1;
        row_dram_q <= row_dram_q + transfer_q.rows.dram_stride;
        row_glb_q  <= row_glb_q + transfer_q.rows.glb_stride;
      end
    end
  end

  logic unused_fields;
  assign unused_fields = ^{transfer_q.wait_passes, transfer_q.wait_chunks, transfer_q.address};

  `EYRIE_ASSERT_WHEN(NotEmpty, transfer_valid_i,
      transfer_i.address.words != '0 && transfer_i.rows.count != '0 &&
      transfer_i.planes.count != '0,
      "a transfer without words")
  `EYRIE_STABLE(Row, row_valid_o, row_ready_i, {row_store_o, row_dram_o, row_o})

endmodule
