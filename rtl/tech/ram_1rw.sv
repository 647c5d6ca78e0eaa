// SPDX-License-Identifier: Apache-2.0
// A memory with one port. Replace it by a RAM of your technology.
//
// enable_i starts an access. With write_i it writes the lanes whose strobe_i is set. Without
// write_i the word is at read_data_o one cycle later and stays until the next read. No reset.
module ram_1rw #(
  parameter int unsigned WORDS = 1024,     // number of words
  parameter int unsigned WIDTH = 64,       // bits of a word
  parameter int unsigned LANE_WIDTH = 8,   // bits per strobe; divides WIDTH
  localparam int unsigned AddressWidth = (WORDS > 1) ? $clog2(WORDS) : 1,
  localparam int unsigned Lanes = WIDTH / LANE_WIDTH
) (
  input  logic                    clk_i,
  input  logic                    enable_i,
  input  logic                    write_i,
  input  logic [AddressWidth-1:0] address_i,
  input  logic [Lanes-1:0]        strobe_i,
  input  logic [WIDTH-1:0]        write_data_i,
  output logic [WIDTH-1:0]        read_data_o
);

  logic [WIDTH-1:0] words_q [WORDS];
  logic [WIDTH-1:0] read_data_q;

  assign read_data_o = read_data_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (write_i) begin
        for (int unsigned lane = 0; lane < Lanes; lane++) begin
          if (strobe_i[lane]) begin
            words_q[address_i][lane*LANE_WIDTH +: LANE_WIDTH] <=
                write_data_i[lane*LANE_WIDTH +: LANE_WIDTH];
          end
        end
      end else begin
        read_data_q <= words_q[address_i];
      end
    end
  end

endmodule
