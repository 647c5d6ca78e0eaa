// SPDX-License-Identifier: Apache-2.0
// Counts busy, stall and wait cycles a second time, from the handshakes. A testbench compares the counts with the
// performance counters at the end of a run. The monitor reads u_eyrie of the enclosing module. ARRAY_BUSY and
// ARRAY_STALL come from cycles in which the MAC counter grows; the MAC counter itself is compared with the model. The
// waiting cycles of the PEs are counted from the reason that each PE gives.
module activity_monitor
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS,  // rows of PEs
  parameter int unsigned COLS   // columns of PEs
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      unit_rst_ni,
  input  accelerator_status_t       status_i,
  input  pass_control_t             pass_control_i,
  input  pass_status_t              pass_status_i,
  input  logic [63:0]               macs_i,         // the MAC counter
  input  pe_activity_t [ROWS-1:0][COLS-1:0] pe_activity_i,  // a cycle late
  input  logic                      ifmap_valid_i,
  input  logic                      ifmap_ready_i,
  input  logic                      elementwise_i,   // the PPU runs a vector pass
  input  logic                      filter_valid_i,
  input  logic                      filter_ready_i,
  input  logic                      transfer_valid_i,
  input  logic                      transfer_ready_i,
  input  tiling_pkg::transfer_t     transfer_i,
  input  logic                      transfer_done_i,
  input  logic                      pass_waiting_i,  // a PASS is the first entry of its queue
  input  tiling_pkg::pass_t         pass_i,
  output logic [Counters-1:0]       watched_o,       // counters that this module counts
  output logic [Counters-1:0][63:0] counts_o
);

  // Counters of WaitIfmap, WaitWords, WaitFilter, WaitPsum and WaitPass
  localparam int unsigned WaitCounters[PeWaits] =
      '{CounterPeWaitIfmap, CounterPeWaitWords, CounterPeWaitFilter, CounterPeWaitPsum, CounterPeIdle};
  localparam int unsigned Late = ActivityDelay + 2;  // cycles from activity of the array to its counters

  int          running, transfers, passes, chunks, in_flight;
  logic        was_running, was_counting;  // delayed to match the counters
  logic        counting_q;                 // at the time of the activity of the PEs
  logic [63:0] macs_q;
  logic        grew;
  logic [Counters-1:0][15:0] event_now;

  assign grew = macs_i != macs_q;

  function automatic logic [15:0] pes_that_wait(pe_wait_e reason);
    pes_that_wait = '0;
    for (int row = 0; row < ROWS; row++) begin
      for (int col = 0; col < COLS; col++) pes_that_wait += 16'(pe_activity_i[row][col].waits == reason);
    end
  endfunction

  always_comb begin : watch
    watched_o = '0;
    event_now = '0;
    watched_o[CounterArrayBusy]   = 1'b1;
    event_now[CounterArrayBusy]   = 16'(was_counting && grew);
    watched_o[CounterArrayStall]  = 1'b1;
    event_now[CounterArrayStall]  = 16'(was_counting && was_running && !grew);
    watched_o[CounterIfmapStall]  = 1'b1;
    event_now[CounterIfmapStall]  = 16'(status_i.counting && ifmap_valid_i && !ifmap_ready_i);
    watched_o[CounterFilterStall] = 1'b1;
    event_now[CounterFilterStall] = 16'(status_i.counting && filter_valid_i && !filter_ready_i);
    watched_o[CounterDmaBusy]     = 1'b1;
    event_now[CounterDmaBusy]     = 16'(status_i.counting && in_flight != 0);
    watched_o[CounterDmaWait]     = 1'b1;
    event_now[CounterDmaWait]     = 16'(status_i.counting && transfer_valid_i &&
                                    (passes < int'(transfer_i.wait_passes) ||
                                     chunks < int'(transfer_i.wait_chunks)));
    watched_o[CounterPassWait]    = 1'b1;
    event_now[CounterPassWait]    = 16'(status_i.counting && pass_waiting_i &&
                                    transfers < int'(pass_i.wait_transfers));
    for (int r = 0; r < PeWaits; r++) begin
      watched_o[WaitCounters[r]]  = 1'b1;
      event_now[WaitCounters[r]]  = counting_q ? pes_that_wait(pe_wait_e'(3'(r) + WaitIfmap)) : '0;
    end
  end

  delay_line #(.WIDTH(2), .CYCLES(Late)) u_delay (
    .clk_i,
    .rst_ni,
    .value_i({running != 32'(elementwise_i), status_i.counting}),
    .late_o ({was_running, was_counting})
  );

  always_ff @(posedge clk_i) begin
    macs_q     <= macs_i;
    counting_q <= status_i.counting;
    if (!unit_rst_ni) begin
      running   <= 0;
      transfers <= 0;
      passes    <= 0;
      chunks    <= 0;
      in_flight <= 0;
      counts_o  <= '0;
    end else begin
      running   <= running + 32'(pass_control_i.pass_valid && pass_status_i.pass_ready)
                   - 32'(pass_status_i.pass_done);
      transfers <= transfers + 32'(transfer_done_i);
      passes    <= passes + 32'(pass_status_i.pass_done);
      chunks    <= chunks + 32'(pass_status_i.chunk_freed);
      in_flight <= in_flight + 32'(transfer_valid_i && transfer_ready_i) - 32'(transfer_done_i);
      for (int c = 0; c < Counters; c++) counts_o[c] <= counts_o[c] + 64'(event_now[c]);
    end
  end

endmodule
