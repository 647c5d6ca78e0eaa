// SPDX-License-Identifier: Apache-2.0
// A memory with one read port and one write port. Replace it by a RAM of your technology.
//
// read_i: the word is at read_data_o one cycle later and stays until the next read.
// Read-during-write returns undefined data (inverted in simulation). A user that reads and writes
// one address in a cycle must add its own bypass. No reset.
module ram_1r1w #(
  parameter int unsigned WORDS = 128,  // number of words
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
