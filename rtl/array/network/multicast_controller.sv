// SPDX-License-Identifier: Apache-2.0
// One ID of a multicast network: an element of a scan chain and a comparator for the tags of a
// transfer.
//
// A new ID is shifted in (scan_*) while the current ID stays in use. swap_i makes all new IDs
// current.

`include "assertions.svh"

module multicast_controller #(
  parameter int unsigned ID_WIDTH = 6,  // bits of an ID and of a tag
  parameter int unsigned TAGS = 1       // tags of a transfer
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                scan_enable_i,
  input  logic [ID_WIDTH-1:0] scan_id_i,
  output logic [ID_WIDTH-1:0] scan_id_o,
  input  logic                swap_i,
  input  logic [TAGS-1:0]     tag_valid_i,
  input  logic [TAGS-1:0][ID_WIDTH-1:0] tag_i,
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

  always_comb begin : match_any
    match_o = 1'b0;
    for (int unsigned n = 0; n < TAGS; n++) match_o |= tag_valid_i[n] && tag_i[n] == id_q;
  end

  `EYRIE_ASSERT(SwapBetweenScans, !(scan_enable_i && swap_i), "IDs swapped during a scan")

endmodule
