// SPDX-License-Identifier: Apache-2.0
// Who gets which GLB banks in this cycle: clients in a fixed order, each all of its banks or none.
//
// banks_i[c]: the banks that client c's request needs (none for a request that touches no bank,
// which is then always granted). grant_o[c] does not depend on valid_i[c]: it says that no client
// before c wants one of its banks, whether that one gets it or not: so no grant waits for another,
// and the order is no chain. Purely combinational.

module glb_arbiter
  import eyrie_pkg::*;
#(
  parameter int unsigned BANKS = 8  // of the GLB
) (
  input  logic [Clients-1:0]            valid_i,
  input  logic [Clients-1:0][BANKS-1:0] banks_i,
  output logic [Clients-1:0]            grant_o
);

  // Highest priority first. DRAM is the scarcest port, so its two sides come first; then whoever
  // can stop the drain, then the streams in the order of the words they need per cycle.
  localparam int unsigned Order [Clients] = '{
    ClientLoad,
    ClientStore,
    encoding_pkg::StreamOfmap,
    encoding_pkg::StreamIfmap,
    encoding_pkg::StreamFilter,
    encoding_pkg::StreamResidual,
    encoding_pkg::StreamTable,
    encoding_pkg::StreamDepthwise,
    encoding_pkg::StreamIpsum
  };

  always_comb begin : grant_in_order
    logic [BANKS-1:0] wanted;  // by the clients before
    wanted  = '0;
    grant_o = '0;
    for (int unsigned place = 0; place < Clients; place++) begin
      grant_o[Order[place]] = (banks_i[Order[place]] & wanted) == '0;
      if (valid_i[Order[place]]) wanted |= banks_i[Order[place]];
    end
  end

endmodule
