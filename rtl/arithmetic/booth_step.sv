// SPDX-License-Identifier: Apache-2.0
// One step of a multiplication by radix-4 Booth recoding: addend_i + 2 * value_i * digits, where
// digits is multiplier_i[2 * ROWS:1] as a signed number, plus multiplier_i[0]. Combinational.
//
// A long multiplier goes through in several steps, the low bits first: multiplier_i[0] is then the
// bit below those of this step, 0 in the first one, and steps join without a correction. Half as
// many rows as bits, and none has to be sign-extended: a row counts with its sign bit turned over,
// which is 2^32 too much, and Excess takes all of that back.
module booth_step #(
  parameter int unsigned ROWS = 16,  // base-4 digits in a step
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
      // Two's complement of a negative row: all bits turned over, and one more.
      sum += (SumWidth'({!multiple[32], multiple[31:0]}) << (2 * row + 1)) +
             (SumWidth'(negative) << (2 * row + 1));
    end
  end

  assign sum_o = sum;

endmodule
