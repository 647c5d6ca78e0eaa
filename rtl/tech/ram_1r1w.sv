// SPDX-License-Identifier: Apache-2.0
// A memory with one read port and one write port: a technology puts its own RAM here.
//
// read_i: the word is in read_data_o one cycle later and stays until the next read. A word that is
// read in the cycle in which it is written comes out as anything, and whoever may do that brings a
// forwarding path of his own: in simulation its bits are inverted, so that nobody relies on them.
// No reset.
module ram_1r1w #(
  parameter int unsigned WORDS = 128,  // it holds
  parameter int unsigned WIDTH = 32,   // bits of a word
  localparam int unsigned AddressWidth = (WORDS > 1) ? $clog2(WORDS) : 1
) (
  input  logic                    clk_i,

  input  logic                    write_i,
  input  logic [AddressWidth-1:0] write_address_i,
  input  logic [WIDTH-1:0]        write_data_i,

  input  logic                    read_i,
  input  logic [AddressWidth-1:0] read_address_i,
  output logic [WIDTH-1:0]        read_data_o
);

  logic [WIDTH-1:0] words_q [WORDS];
  logic [WIDTH-1:0] read_data_q;

  assign read_data_o = read_data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[write_address_i] <= write_data_i;
  end

  always_ff @(posedge clk_i) begin
`ifdef SYNTHESIS
    if (read_i) read_data_q <= words_q[read_address_i];
`else
    if (read_i) begin
      read_data_q <= words_q[read_address_i] ^
                     {WIDTH{write_i && write_address_i == read_address_i}};
    end
`endif
  end

endmodule
