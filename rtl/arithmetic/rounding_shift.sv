// SPDX-License-Identifier: Apache-2.0
// Rounding right shift: value_i / 2^shift_i to the nearest, ties away from zero (gemmlowp
// RoundingDivideByPOT). Combinational.
//
// The result is exact where it is from -2^(RESULT_WIDTH - 1) to 2^(RESULT_WIDTH - 1) - 1. Beyond
// that it is somewhere at or beyond the bound on its side, for a caller that clamps to less. What
// can only show that a value is beyond leaves the shifter stage by stage, the widest shift first.
module rounding_shift #(
  parameter int unsigned WIDTH = 32,         // bits of the value
  parameter int unsigned RESULT_WIDTH = 32,  // bits in which the result is exact, at most WIDTH
  localparam int unsigned ShiftWidth = 5
) (
  input  logic signed [WIDTH-1:0]      value_i,
  input  logic [ShiftWidth-1:0]        shift_i,
  output logic signed [RESULT_WIDTH:0] value_o
);

  logic             negative, beyond, half, below;
  logic [WIDTH-1:0] rest;
  logic [RESULT_WIDTH-1:0] bound;

  assign negative = value_i[WIDTH-1];

  always_comb begin : shift
    rest   = value_i;
    beyond = 1'b0;
    half   = 1'b0;  // the highest bit shifted out
    below  = 1'b0;  // any other
    for (int stage = int'(ShiftWidth) - 1; stage >= 0; stage--) begin
      if (shift_i[stage]) begin
        below = below || half;
        for (int unsigned index = 0; index < WIDTH && index < (1 << stage) - 1; index++) begin
          below = below || rest[index];
        end
        half = (1 << stage) <= WIDTH ? rest[(1<<stage)-1] : negative;
        rest = $signed(rest) >>> (1 << stage);
      end
      // Later stages shift by less than 2^stage in all.
      for (int unsigned index = 0; index < WIDTH; index++) begin
        if (index + 2 >= RESULT_WIDTH + (1 << stage)) begin
          beyond      = beyond || rest[index] != negative;
          rest[index] = negative;
        end
      end
    end
  end

  // Up from the floor: not a tie of a negative number.
  assign bound   = {negative, {(RESULT_WIDTH - 1){!negative}}};
  assign value_o = (RESULT_WIDTH + 1)'($signed(beyond ? bound : rest[RESULT_WIDTH-1:0])) +
                   (RESULT_WIDTH + 1)'($signed({1'b0, !beyond && half && (!negative || below)}));

endmodule
