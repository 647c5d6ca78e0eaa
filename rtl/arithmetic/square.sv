// SPDX-License-Identifier: Apache-2.0
// The square of a signed number, modulo 2^(2 * WIDTH - 2). Combinational.
//
// value_i is low - sign * 2^(WIDTH-1), so that its square is low^2 - sign * low * 2^WIDTH, modulo
// 2^(2 * WIDTH - 2). Of the rows of low^2, two products of the same bits are one product of twice
// the weight: half the bits of a multiplier remain.
module square #(
  parameter int unsigned WIDTH = 17,  // bits of the value
  localparam int unsigned LowWidth = WIDTH - 1
) (
  input  logic signed [WIDTH-1:0]  value_i,
  output logic [2*LowWidth-1:0]    square_o
);

  logic [2*LowWidth-1:0] sum, low;

  assign low = (2*LowWidth)'(value_i[LowWidth-1:0]);

  always_comb begin : add_rows
    sum = -((low << WIDTH) & {2 * LowWidth{value_i[WIDTH-1]}});
    for (int unsigned bit_number = 0; bit_number < LowWidth; bit_number++) begin
      automatic logic [2*LowWidth-1:0] below, here;
      here  = (2*LowWidth)'(value_i[bit_number]) << (2 * bit_number);
      below = (low & (((2*LowWidth)'(1) << bit_number) - 1'b1)) << (bit_number + 1);
      sum += here + (below & {2 * LowWidth{value_i[bit_number]}});
    end
  end

  assign square_o = sum;

endmodule
