// SPDX-License-Identifier: Apache-2.0
// The semaphores: counters of transfers done, passes done, chunks loaded and chunks freed since the
// start. Commands wait until a semaphore reaches a wait count. An event pulses its input for one
// cycle and counts from the next cycle. SEMAPHORE_BITS of model/encoding.py explains why a wrap is
// harmless.

`include "assertions.svh"

module semaphores
  import eyrie_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        transfer_done_i,
  input  logic        pass_done_i,
  input  logic        chunk_loaded_i,
  input  logic        chunk_freed_i,

  output count_t      transfers_done_o,
  output count_t      passes_done_o,
  output count_t      chunks_loaded_o,
  output count_t      chunks_freed_o
);

  count_t transfers_q, passes_q, loaded_q, freed_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      transfers_q <= '0;
      passes_q    <= '0;
      loaded_q    <= '0;
      freed_q     <= '0;
    end else begin
      transfers_q <= transfers_q + count_t'(transfer_done_i);
      passes_q    <= passes_q + count_t'(pass_done_i);
      loaded_q    <= loaded_q + count_t'(chunk_loaded_i);
      freed_q     <= freed_q + count_t'(chunk_freed_i);
    end
  end

  assign transfers_done_o = transfers_q;
  assign passes_done_o    = passes_q;
  assign chunks_loaded_o  = loaded_q;
  assign chunks_freed_o   = freed_q;

  `EYRIE_ASSERT(FreedWereLoaded, freed_q <= loaded_q, "more chunks freed than loaded")
  `EYRIE_ASSERT(LoadsWereTransfers, loaded_q <= transfers_q, "more chunks than transfers done")

endmodule
