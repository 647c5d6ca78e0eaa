// SPDX-License-Identifier: Apache-2.0
// Controls a run: start, end, error and soft reset.
//
//   idle -> clear -> run -> finish -> settle -> done -> clear -> run ...
//                     |               ^    |
//                     +---------------+    +--> error
//
//   any state --soft reset--> drain -> clear -> idle
//
// Every run begins with a reset of all units. unit_rst_no is a register gated with rst_ni, so that
// it has no glitches and can be an asynchronous reset. The states finish, settle, error and drain
// halt the AXI ports: no transaction is issued, and those in flight end as AXI requires. Only then
// is the accelerator done or reset. Settle lasts until all increments of the run are in the
// counters. start_i is ignored while busy and after an error. The first fault of a run is kept;
// fault_i[0] has the highest priority.
//
// bus_waits_o: the accelerator has stopped or is stopping, and a transaction has not ended. AXI
// does not allow a master to cancel a transaction, so a soft reset lasts until the memory answers
// or rst_ni resets both.

`include "assertions.svh"

module run_control
  import encoding_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned FAULTS = 2,        // fault sources; the first has priority
  parameter int unsigned SETTLE_CYCLES = 3  // cycles until the counters are stable
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                start_i,
  input  logic                soft_reset_i,
  input  logic                finished_i,  // END is reached and all commands are done
  input  logic                axi_idle_i,
  input  fault_t [FAULTS-1:0] fault_i,

  output logic                unit_rst_no,
  output logic                clear_o,     // a run begins
  output logic                run_o,
  output logic                halt_o,
  output logic                watch_o,     // watchdog enabled
  output logic                counting_o,  // a cycle of the run
  output logic                busy_o,
  output logic                done_o,
  output logic                error_o,
  output logic                bus_waits_o,
  output fault_t              fault_o
);

  localparam int unsigned SettleWidth = $clog2(SETTLE_CYCLES + 1);

  typedef enum logic [2:0] {
    StIdle,
    StClear,
    StRun,
    StFinish,
    StSettle,
    StDone,
    StError,
    StDrain
  } state_e;

  state_e state_d, state_q;
  logic   starting_d, starting_q;          // StRun follows StClear
  logic   unit_rst_n_q;
  fault_t fault_d, fault_q;
  logic [SettleWidth-1:0] settle_d, settle_q;  // cycles left of StSettle

  always_comb begin : next_state
    state_d    = state_q;
    starting_d = starting_q;
    fault_d    = fault_q;
    settle_d   = SettleWidth'(SETTLE_CYCLES);
    unique case (state_q)
      StIdle, StDone: if (start_i) begin
        state_d    = StClear;
        starting_d = 1'b1;
        fault_d    = '{code: ErrorNone, command: '0};
      end
      StClear:  state_d = starting_q ? StRun : StIdle;
      StRun:    if (finished_i) state_d = StFinish;
      StFinish: if (axi_idle_i) state_d = StSettle;
      StSettle: begin
        settle_d = settle_q - 1'b1;
        if (settle_q == '0) state_d = (fault_q.code == ErrorNone) ? StDone : StError;
      end
      StDrain: if (axi_idle_i) begin
        state_d    = StClear;
        starting_d = 1'b0;
        fault_d    = '{code: ErrorNone, command: '0};
      end
      default: ;                           // StError lasts until the soft reset
    endcase
    if (state_q == StRun || (state_q == StFinish && !axi_idle_i)) begin
      for (int unsigned f = FAULTS; f > 0; f--) begin
        if (fault_i[f-1].code != ErrorNone) begin
          state_d = StSettle;
          fault_d = fault_i[f-1];
        end
      end
    end
    if (soft_reset_i) state_d = StDrain;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= StIdle;
      starting_q   <= 1'b0;
      fault_q      <= '{code: ErrorNone, command: '0};
      settle_q     <= '0;
      unit_rst_n_q <= 1'b0;
    end else begin
      state_q      <= state_d;
      starting_q   <= starting_d;
      fault_q      <= fault_d;
      settle_q     <= settle_d;
      unit_rst_n_q <= state_d != StClear;
    end
  end

  assign unit_rst_no = unit_rst_n_q && rst_ni;
  assign clear_o     = state_q == StClear && starting_q;
  assign run_o       = state_q == StRun;
  assign halt_o      = state_q inside {StFinish, StSettle, StError, StDrain};
  assign watch_o     = state_q inside {StRun, StFinish};
  assign counting_o  = state_q inside {StRun, StFinish};
  assign busy_o      = state_q inside {StClear, StRun, StFinish, StSettle, StDrain};
  assign done_o      = state_q == StDone;
  assign bus_waits_o = halt_o && !axi_idle_i;
  assign error_o     = state_q == StError;
  assign fault_o     = fault_q;

  `EYRIE_ASSERT_WHEN(ResetWhenIdle, state_q == StClear, axi_idle_i, "a reset while AXI is active")
  `EYRIE_ASSERT_WHEN(ErrorNamed, error_o, fault_o.code != ErrorNone, "an error without a code")
  `EYRIE_COVER(StartToRun, state_q == StClear && state_d == StRun)
  `EYRIE_COVER(RunToFinish, state_q == StRun && state_d == StFinish)
  `EYRIE_COVER(FinishToSettle, state_q == StFinish && state_d == StSettle && axi_idle_i)
  `EYRIE_COVER(SettleToDone, state_q == StSettle && state_d == StDone)
  `EYRIE_COVER(SettleToError, state_q == StSettle && state_d == StError)
  `EYRIE_COVER(RunToSettle, state_q == StRun && state_d == StSettle)
  `EYRIE_COVER(FinishFails, state_q == StFinish && state_d == StSettle && !axi_idle_i)
  `EYRIE_COVER(SettleToDrain, state_q == StSettle && state_d == StDrain)
  `EYRIE_COVER(ErrorToDrain, state_q == StError && state_d == StDrain)
  `EYRIE_COVER(RunToDrain, state_q == StRun && state_d == StDrain)
  `EYRIE_COVER(DrainToClear, state_q == StDrain && state_d == StClear)

endmodule
