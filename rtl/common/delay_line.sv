// SPDX-License-Identifier: Apache-2.0
// Delays a value by a fixed number of cycles. The output is 0 after a reset.

module delay_line #(
  parameter int unsigned WIDTH = 1,  // bits of the value
  parameter int unsigned CYCLES = 1  // delay in cycles, 0 or more
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [WIDTH-1:0] value_i,
  output logic [WIDTH-1:0] late_o
);

  logic [CYCLES:0][WIDTH-1:0] values;  // values[n] is n cycles old

  assign values[0] = value_i;
  assign late_o    = values[CYCLES];

  for (genvar n = 0; n < CYCLES; n++) begin : gen_cycle
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) values[n+1] <= '0;
      else         values[n+1] <= values[n];
    end
  end

endmodule
