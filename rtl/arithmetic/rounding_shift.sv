// SPDX-License-Identifier: Apache-2.0
// Rounding right shift: value_i / 2^shift_i to the nearest, ties away from zero (gemmlowp
// RoundingDivideByPOT). Combinational.
module rounding_shift #(
  parameter int unsigned WIDTH = 32  // bits of the value
) (
  input  logic signed [WIDTH-1:0] value_i,
  input  logic [4:0]              shift_i,
  output logic signed [WIDTH-1:0] value_o
);

  logic signed [WIDTH:0] half, rounded;
  logic                  tie_down;

  // A floor shift after adding one half rounds ties up; one less makes those of negatives go down.
  assign half     = ((WIDTH + 1)'(1) <<< shift_i) >>> 1;
  assign tie_down = value_i[WIDTH-1] && (shift_i != '0);
  assign rounded  = (WIDTH + 1)'(value_i) + half - (WIDTH + 1)'($signed({1'b0, tie_down}));
  assign value_o  = WIDTH'(rounded >>> shift_i);

endmodule
