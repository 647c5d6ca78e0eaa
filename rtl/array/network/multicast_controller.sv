// SPDX-License-Identifier: Apache-2.0
// One ID of a multicast network: an element of a scan chain and a comparator for tags.
//
// A new ID is shifted in (scan_*) while the current ID stays in use. swap_i makes all new IDs
// current.

`include "assertions.svh"

module multicast_controller #(
  parameter int unsigned ID_WIDTH = 6  // bits of an ID and of a tag
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                scan_enable_i,
  input  logic [ID_WIDTH-1:0] scan_id_i,
  output logic [ID_WIDTH-1:0] scan_id_o,
  input  logic                swap_i,
  input  logic [ID_WIDTH-1:0] tag_i,
  output logic                match_o
);

  logic [ID_WIDTH-1:0] scan_q, id_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scan_q <= '1;
      id_q   <= '1;
    end else begin
      if (scan_enable_i) scan_q <= scan_id_i;
      if (swap_i) id_q <= scan_q;
    end
  end

  assign scan_id_o = scan_q;
  assign match_o   = tag_i == id_q;

  `EYRIE_ASSERT(SwapBetweenScans, !(scan_enable_i && swap_i), "IDs swapped during a scan")

endmodule
