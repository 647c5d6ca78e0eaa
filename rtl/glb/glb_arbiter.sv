// SPDX-License-Identifier: Apache-2.0
// Who gets which GLB banks in this cycle: clients in a fixed order, each all of its banks or none.
// Those that read share the banks, those that write share the ends of the banks' queues, so that
// nobody waits for a client of the other kind; a bank whose queue is urgent is nobody's to read.
//
// banks_i[c]: the banks that client c's request needs (none for a request that touches no bank,
// which is then always granted). grant_o[c] does not depend on valid_i[c]: it says that no client
// of its kind before c wants one of its banks, whether that one gets it or not: so no grant waits
// for another, and the order is no chain. Purely combinational.

module glb_arbiter
  import eyrie_pkg::*;
#(
  parameter int unsigned BANKS = 8  // of the GLB
) (
  input  logic [Clients-1:0]            valid_i,
  input  logic [Clients-1:0][BANKS-1:0] banks_i,
  input  logic [BANKS-1:0]              urgent_i,
  output logic [Clients-1:0]            grant_o,
  output logic [BANKS-1:0]              reads_o   // banks that clients want to read
);

  // Highest priority first. DRAM is the scarcest port, so its two sides come first; then the
  // streams in the order of the words they need per cycle.
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
    logic [1:0][BANKS-1:0] wanted;  // by the clients before: to read, to write
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
