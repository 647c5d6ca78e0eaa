// SPDX-License-Identifier: Apache-2.0
// One step of a multiplication with radix-4 Booth recoding. It computes addend_i + 2 * value_i *
// digits. The signed number `digits` is multiplier_i[2 * ROWS:1] plus multiplier_i[0].
// Combinational.
//
// A long multiplier takes several steps, low bits first. multiplier_i[0] is then the bit below the
// bits of this step and 0 in the first step, so that steps join without a correction. Booth
// recoding needs half as many rows as the multiplier has bits. No row is sign-extended: each row
// enters with its sign bit inverted, which adds 2^32 to it, and Excess subtracts the sum of these
// offsets.
module booth_step #(
  parameter int unsigned ROWS = 16,  // base-4 digits per step
  localparam int unsigned SumWidth = 2 * ROWS + 33
) (
  input  logic signed [31:0]         value_i,
  input  logic [2*ROWS:0]            multiplier_i,
  input  logic signed [32:0]         addend_i,
  output logic signed [SumWidth-1:0] sum_o
);

  function automatic logic [SumWidth-1:0] excess();
    logic [SumWidth-1:0] total;
    total = SumWidth'(1) << 32;
    for (int unsigned row = 0; row < ROWS; row++) total += SumWidth'(1) << (2 * row + 33);
    return total;
  endfunction

  localparam logic [SumWidth-1:0] Excess = excess();

  logic [SumWidth-1:0] sum;

  always_comb begin : add_rows
    sum = SumWidth'({!addend_i[32], addend_i[31:0]}) - Excess;
    for (int unsigned row = 0; row < ROWS; row++) begin
      automatic logic        negative, one, two;
      automatic logic [32:0] multiple;
      // The digit is -2, -1, 0, 1 or 2.
      negative = multiplier_i[2*row+2];
      one      = multiplier_i[2*row+1] ^ multiplier_i[2*row];
      two      = !one && (negative ^ multiplier_i[2*row]);
      multiple = ({33{one}} & {value_i[31], value_i}) | ({33{two}} & {value_i, 1'b0});
      multiple = multiple ^ {33{negative}};
      // Two's complement of a negative row: all bits inverted, plus one.
      sum += (SumWidth'({!multiple[32], multiple[31:0]}) << (2 * row + 1)) +
             (SumWidth'(negative) << (2 * row + 1));
    end
  end

  assign sum_o = sum;

endmodule
