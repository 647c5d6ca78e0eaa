// SPDX-License-Identifier: Apache-2.0
// The performance counters: 64 bits each, cleared by clear_i, counting while counting_i is high.
// Increments of the counters in LATE arrive LATE_CYCLES after their events, so these counters stop
// as much later. An increment is in its counter after two cycles.
//
// A counter is read as two words. A read of a low word stores the high word of the same cycle, and
// the next read of a high word returns the stored value, so that both words belong to one moment.

`include "assertions.svh"

module performance_counters
  import encoding_pkg::*;
#(
  parameter int unsigned         WIDTH = 16,       // bits of an increment
  parameter int unsigned         LATE_CYCLES = 0,  // delay of the increments of LATE
  parameter logic [Counters-1:0] LATE = '0,        // counters with late increments, by number
  parameter logic [Counters-1:0] ABSENT = '0,      // counters that are always 0
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
  output logic [31:0]                    read_data_o     // valid with read_i
);

  logic                           was_counting;   // counting_i of LATE_CYCLES ago
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
    if (ABSENT[c]) begin : gen_absent
      logic unused_event;
      assign unused_event = ^{counting, increment_i[c]};
      assign increment_q[c] = '0;
      assign counters_q[c]  = '0;
    end else begin : gen_present
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
      "counters are cleared while they count")

endmodule
