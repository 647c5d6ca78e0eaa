// SPDX-License-Identifier: Apache-2.0
// One single-port bank of the GLB: 64-bit words with byte write enables, written so that synthesis
// finds a RAM (no reset, one address, registered read).
//
// enable_i: an access. Bytes with strobe_i are written where write_i is set; otherwise the word is
// in read_data_o one cycle later and stays until the next read.
module glb_bank
  import eyrie_pkg::*;
#(
  parameter int unsigned WORDS = 1024,  // of 64 bits
  localparam int unsigned RowWidth = $clog2(WORDS)
) (
  input  logic                clk_i,
  input  logic                enable_i,
  input  logic                write_i,
  input  logic [RowWidth-1:0] row_i,
  input  logic [7:0]          strobe_i,
  input  glb_word_t           write_data_i,
  output glb_word_t           read_data_o
);

  glb_word_t words_q [WORDS];
  glb_word_t read_data_q;

  assign read_data_o = read_data_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (write_i) begin
        for (int unsigned lane = 0; lane < 8; lane++) begin
          if (strobe_i[lane]) words_q[row_i][lane*8 +: 8] <= write_data_i[lane*8 +: 8];
        end
      end else begin
        read_data_q <= words_q[row_i];
      end
    end
  end

endmodule
