// SPDX-License-Identifier: Apache-2.0
// A first-in first-out queue in the memory that fits its size: flip-flops (fifo), or a RAM from
// 1,024 bits (ram_fifo). It has the interface and timing of fifo.
module queue #(
  parameter int unsigned WIDTH = 32,  // bits of a word
  parameter int unsigned DEPTH = 2,   // number of words
  localparam int unsigned CountWidth = $clog2(DEPTH + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [WIDTH-1:0]      in_data_i,

  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [WIDTH-1:0]      out_data_o,

  output logic [CountWidth-1:0] count_o
);

  localparam int unsigned RamBits = 1024;  // minimum size of a queue in a RAM

  if (WIDTH * DEPTH < RamBits) begin : gen_registers
    fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_fifo (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_data_i,
      .out_valid_o, .out_ready_i, .out_data_o, .count_o
    );
  end else begin : gen_ram
    ram_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_fifo (
      .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_data_i,
      .out_valid_o, .out_ready_i, .out_data_o, .count_o
    );
  end

endmodule
