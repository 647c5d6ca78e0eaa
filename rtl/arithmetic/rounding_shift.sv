// SPDX-License-Identifier: Apache-2.0
// Rounding right shift: value_i / 2^shift_i to the nearest, ties away from zero (gemmlowp
// RoundingDivideByPOT). Combinational.
//
// The result is exact from -2^(RESULT_WIDTH - 1) to 2^(RESULT_WIDTH - 1) - 1. A value outside this
// range gives a result at or outside the nearer bound, for a user that clamps to a smaller range.
// Bits that can only show that the value is outside leave the shifter stage by stage, the widest
// shift first.
module rounding_shift #(
  parameter int unsigned WIDTH = 32,         // bits of the value
  parameter int unsigned RESULT_WIDTH = 32,  // bits of an exact result, at most WIDTH
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
    below  = 1'b0;  // any lower bit shifted out
    for (int stage = int'(ShiftWidth) - 1; stage >= 0; stage--) begin
      if (shift_i[stage]) begin
        below = below || half;
        for (int unsigned index = 0; index < WIDTH && index < (1 << stage) - 1; index++) begin
          below = below || rest[index];
        end
        half = (1 << stage) <= WIDTH ? rest[(1<<stage)-1] : negative;
        rest = $signed(rest) >>> (1 << stage);
      end
      // All later stages together shift by less than 2^stage.
      for (int unsigned index = 0; index < WIDTH; index++) begin
        if (index + 2 >= RESULT_WIDTH + (1 << stage)) begin
          beyond      = beyond || rest[index] != negative;
          rest[index] = negative;
        end
      end
    end
  end

  // Round up from the floor, except for a tie of a negative number.
  assign bound   = {negative, {(RESULT_WIDTH - 1){!negative}}};
  assign value_o = (RESULT_WIDTH + 1)'($signed(beyond ? bound : rest[RESULT_WIDTH-1:0])) +
                   (RESULT_WIDTH + 1)'($signed({1'b0, !beyond && half && (!negative || below)}));

endmodule
