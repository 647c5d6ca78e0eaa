// SPDX-License-Identifier: Apache-2.0
// The performance counters: 64 bits each, 0 from clear_i on, growing by their increments for as
// long as counting_i. Those of LATE get their increments LATE_CYCLES after what they count, and so
// count for as much later. An increment is in its counter two cycles after it came.
//
// Reading takes two words. The low one notes the high one in the same cycle, and it is this note
// that the next read of a high word gives, so that both are of one moment.

`include "assertions.svh"

module performance_counters
  import encoding_pkg::*;
#(
  parameter int unsigned         WIDTH = 16,       // bits of an increment
  parameter int unsigned         LATE_CYCLES = 0,  // by which the increments of LATE are late
  parameter logic [Counters-1:0] LATE = '0,        // counters, by number
  localparam int unsigned        IndexWidth = $clog2(Counters)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           clear_i,
  input  logic                           counting_i,
  input  logic [Counters-1:0][WIDTH-1:0] increment_i,

  input  logic                           read_i,
  input  logic [IndexWidth-1:0]          read_counter_i,
  input  logic                           read_high_i,
  output logic [31:0]                    read_data_o     // in the cycle of read_i
);

  logic                           was_counting;   // LATE_CYCLES ago
  logic [Counters-1:0][WIDTH-1:0] increment_q;
  logic [Counters-1:0][63:0]      counters_q;
  logic [31:0]                    high_q;

  delay_line #(.CYCLES(LATE_CYCLES)) u_counting (
    .clk_i, .rst_ni,
    .value_i(counting_i),
    .late_o (was_counting)
  );

  for (genvar c = 0; c < Counters; c++) begin : gen_counter
    logic counting;
    assign counting = LATE[c] ? was_counting : counting_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        increment_q[c] <= '0;
        counters_q[c]  <= '0;
      end else begin
        increment_q[c] <= counting ? increment_i[c] : '0;
        counters_q[c]  <= clear_i ? '0 : counters_q[c] + 64'(increment_q[c]);
      end
    end
  end

  logic [63:0] selected;
  assign selected    = counters_q[read_counter_i];
  assign read_data_o = read_high_i ? high_q : selected[31:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)                     high_q <= '0;
    else if (read_i && !read_high_i) high_q <= selected[63:32];
  end

  `EYRIE_ASSERT_WHEN(CounterExists, read_i, 32'(read_counter_i) < Counters, "no such counter")
  `EYRIE_ASSERT_WHEN(ClearedAtRest, clear_i, !counting_i && increment_q == '0,
      "the counters are cleared while they count")

endmodule
