// SPDX-License-Identifier: Apache-2.0
// The GLB arbiter: grants banks to clients in a fixed order of priority, all banks of a request or
// none. Readers compete for the banks and writers for the inputs of the write queues, so that no
// client waits for a client of the other kind. An urgent write queue blocks its bank for readers.
//
// banks_i[c]: the banks that the request of client c needs (none for a request without an access,
// which is always granted). grant_o[c] does not depend on valid_i[c]. It is high if no client of
// its kind and of higher priority requests one of its banks, even if that request is not granted.
// So no grant depends on another grant, and the priority is not a chain. Purely combinational.

module glb_arbiter
  import eyrie_pkg::*;
#(
  parameter int unsigned BANKS = 8  // banks of the GLB
) (
  input  logic [Clients-1:0]            valid_i,
  input  logic [Clients-1:0][BANKS-1:0] banks_i,
  input  logic [BANKS-1:0]              urgent_i,
  output logic [Clients-1:0]            grant_o,
  output logic [BANKS-1:0]              reads_o   // banks that clients request to read
);

  // Highest priority first. DRAM is the scarcest port, so the two sides of the DMA come first. The
  // streams follow in the order of the words they need per cycle.
  localparam int unsigned Order [Clients] = '{
    ClientLoad,
    ClientStore,
    encoding_pkg::StreamOfmap,
    encoding_pkg::StreamIfmap,
    encoding_pkg::StreamFilter,
    encoding_pkg::StreamResidual,
    encoding_pkg::StreamParameters,
    encoding_pkg::StreamDepthwise,
    encoding_pkg::StreamIpsum
  };

  always_comb begin : grant_in_order
    logic [1:0][BANKS-1:0] wanted;  // requested by clients of higher priority: to read, to write
    wanted  = {BANKS'(0), urgent_i};
    reads_o = '0;
    grant_o = '0;
    for (int unsigned place = 0; place < Clients; place++) begin
      grant_o[Order[place]] = (banks_i[Order[place]] & wanted[GlbWriters[Order[place]]]) == '0;
      if (valid_i[Order[place]]) begin
        wanted[GlbWriters[Order[place]]] |= banks_i[Order[place]];
        if (!GlbWriters[Order[place]]) reads_o |= banks_i[Order[place]];
      end
    end
  end

endmodule
