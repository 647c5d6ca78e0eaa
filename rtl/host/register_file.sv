// SPDX-License-Identifier: Apache-2.0
// The software interface: an AXI4-Lite slave with the registers of encoding_pkg, the performance
// counters and the interrupt.
//
// start and soft_reset of control_o are pulses. The interrupt is set when done or error rises.
// CONTROL bit 2 or a soft reset clears it. It drives interrupt_o if INTERRUPT_ENABLE bit 0 is set.
//
// A write to a read-only register changes nothing and returns SLVERR. So does a write to
// PROGRAM_BASE or to the window while the accelerator is busy, since the run uses them, and any
// access to an unknown address. Reads and writes are independent; one of each is in progress at a
// time. Address and data of a write are accepted separately, and the next ones only after the
// response. All outputs depend on registers only.

`include "assertions.svh"

module register_file
  import bus_pkg::*;
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned         INCREMENT_WIDTH = 16,  // bits of a counter's increment
  parameter int unsigned         LATE_CYCLES = 0,       // see performance_counters
  parameter logic [Counters-1:0] LATE = '0,             // see performance_counters
  parameter logic [Counters-1:0] ABSENT = '0            // see performance_counters
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // AXI4-Lite slave
  input  logic [11:0] reg_awaddr_i,
  input  logic        reg_awvalid_i,
  output logic        reg_awready_o,
  input  logic [31:0] reg_wdata_i,
  input  logic [3:0]  reg_wstrb_i,
  input  logic        reg_wvalid_i,
  output logic        reg_wready_o,
  output logic [1:0]  reg_bresp_o,
  output logic        reg_bvalid_o,
  input  logic        reg_bready_i,
  input  logic [11:0] reg_araddr_i,
  input  logic        reg_arvalid_i,
  output logic        reg_arready_o,
  output logic [31:0] reg_rdata_o,
  output logic [1:0]  reg_rresp_o,
  output logic        reg_rvalid_o,
  input  logic        reg_rready_i,

  output logic                 interrupt_o,
  output accelerator_control_t control_o,
  input  accelerator_status_t  status_i,
  input  logic [Counters-1:0][INCREMENT_WIDTH-1:0] increment_i
);

  localparam int unsigned IndexWidth = $clog2(Counters);
  localparam int unsigned CounterShift = $clog2(CounterBytes);

  // ---- Writes ----

  logic        aw_accepted_q, w_accepted_q, b_valid_q, write, locked, write_known;
  logic [11:0] write_address_q;                        // word address
  logic [31:0] write_data_q, mask;
  logic [3:0]  strobe_q;
  logic [1:0]  b_response_q;

  assign reg_awready_o = !aw_accepted_q;
  assign reg_wready_o  = !w_accepted_q;
  assign reg_bvalid_o  = b_valid_q;
  assign reg_bresp_o   = b_response_q;

  assign write       = aw_accepted_q && w_accepted_q && !b_valid_q;
  assign mask        = {{8{strobe_q[3]}}, {8{strobe_q[2]}}, {8{strobe_q[1]}}, {8{strobe_q[0]}}};
  assign locked      = write_address_q inside {RegisterProgramBase, RegisterWindowBase,
                                               RegisterWindowLimit} && status_i.busy;
  assign write_known = write_address_q inside {RegisterControl, RegisterProgramBase,
                                               RegisterWindowBase, RegisterWindowLimit,
                                               RegisterWatchdogLimit, RegisterInterruptEnable};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_accepted_q   <= 1'b0;
      w_accepted_q    <= 1'b0;
      b_valid_q       <= 1'b0;
      b_response_q    <= RespOkay;
      write_address_q <= '0;
      write_data_q    <= '0;
      strobe_q        <= '0;
    end else begin
      if (reg_awvalid_i && !aw_accepted_q) begin
        aw_accepted_q   <= 1'b1;
        write_address_q <= {reg_awaddr_i[11:2], 2'b00};
      end
      if (reg_wvalid_i && !w_accepted_q) begin
        w_accepted_q <= 1'b1;
        write_data_q <= reg_wdata_i;
        strobe_q     <= reg_wstrb_i;
      end
      if (write) begin
        b_valid_q    <= 1'b1;
        b_response_q <= (write_known && !locked) ? RespOkay : RespSlverr;
      end
      if (b_valid_q && reg_bready_i) begin
        aw_accepted_q <= 1'b0;
        w_accepted_q  <= 1'b0;
        b_valid_q     <= 1'b0;
      end
    end
  end

  // ---- Registers ----

  logic [31:0] program_base_q, window_base_q, window_limit_q, watchdog_limit_q;
  logic        interrupt_enable_q, interrupt_q, ended_q, ended, control;
  logic [2:0]  control_bits;

  function automatic logic [31:0] merge(logic [31:0] old, logic [31:0] data, logic [31:0] bits);
    return (old & ~bits) | (data & bits);
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      program_base_q     <= '0;
      window_base_q      <= '0;
      window_limit_q     <= '0;
      watchdog_limit_q   <= '0;
      interrupt_enable_q <= 1'b0;
    end else if (write && !locked) begin
      unique case (write_address_q)
        RegisterProgramBase:   program_base_q   <= merge(program_base_q, write_data_q, mask);
        RegisterWindowBase:    window_base_q    <= merge(window_base_q, write_data_q, mask);
        RegisterWindowLimit:   window_limit_q   <= merge(window_limit_q, write_data_q, mask);
        RegisterWatchdogLimit: watchdog_limit_q <= merge(watchdog_limit_q, write_data_q, mask);
        RegisterInterruptEnable: if (mask[0]) interrupt_enable_q <= write_data_q[0];
        default: ;
      endcase
    end
  end

  assign control      = write && write_address_q == RegisterControl;
  assign control_bits = write_data_q[2:0] & mask[2:0];
  assign control_o    = '{
    start:          control && control_bits[0] && !control_bits[1],
    soft_reset:     control && control_bits[1],
    program_base:   program_base_q,
    window_base:    window_base_q,
    window_limit:   window_limit_q,
    watchdog_limit: watchdog_limit_q
  };

  // An end of a run has priority over a clear; a soft reset has priority over both.
  assign ended       = status_i.done || status_i.error;
  assign interrupt_o = interrupt_q && interrupt_enable_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ended_q     <= 1'b0;
      interrupt_q <= 1'b0;
    end else begin
      ended_q <= ended;
      if (control_o.soft_reset)            interrupt_q <= 1'b0;
      else if (ended && !ended_q)          interrupt_q <= 1'b1;
      else if (control && control_bits[2]) interrupt_q <= 1'b0;
    end
  end

  // ---- Reads ----

  typedef enum logic [1:0] {
    StAddress,  // waits for an address
    StRead,
    StData      // waits until the data is accepted
  } read_e;

  read_e       read_q;
  logic        read, read_known, counter_read;
  logic [11:0] read_address_q, place;            // place: offset in the counters
  logic [31:0] read_data, counter_data, r_data_q;
  logic [1:0]  r_response_q;

  assign reg_arready_o = read_q == StAddress;
  assign reg_rvalid_o  = read_q == StData;
  assign reg_rdata_o   = r_data_q;
  assign reg_rresp_o   = r_response_q;

  assign read         = read_q == StRead;
  assign place        = read_address_q - RegisterCounters;
  assign counter_read = read_address_q >= RegisterCounters
                        && place < 12'(CounterBytes * Counters);

  performance_counters #(
    .WIDTH(INCREMENT_WIDTH), .LATE_CYCLES(LATE_CYCLES), .LATE(LATE), .ABSENT(ABSENT)
  ) u_counters (
    .clk_i, .rst_ni,
    .clear_i       (status_i.clear),
    .counting_i    (status_i.counting),
    .increment_i,
    .read_i        (read && counter_read),
    .read_counter_i(place[CounterShift +: IndexWidth]),
    .read_high_i   (place[2]),
    .read_data_o   (counter_data)
  );

  always_comb begin : select
    read_known = 1'b1;
    read_data  = '0;
    unique case (read_address_q)
      RegisterIdentity:        read_data = Identity;
      RegisterControl:         read_data = '0;
      RegisterStatus:          read_data = {27'd0, status_i.bus_waits, interrupt_q, status_i.error,
                                            status_i.done, status_i.busy};
      RegisterErrorCode:       read_data = 32'(status_i.error_code);
      RegisterErrorAddress:    read_data = status_i.error_address;
      RegisterProgramBase:     read_data = program_base_q;
      RegisterWindowBase:      read_data = window_base_q;
      RegisterWindowLimit:     read_data = window_limit_q;
      RegisterWatchdogLimit:   read_data = watchdog_limit_q;
      RegisterInterruptEnable: read_data = 32'(interrupt_enable_q);
      default: begin
        read_known = counter_read;
        if (counter_read) read_data = counter_data;
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q         <= StAddress;
      read_address_q <= '0;
      r_data_q       <= '0;
      r_response_q   <= RespOkay;
    end else begin
      unique case (read_q)
        StAddress: if (reg_arvalid_i) begin
          read_q         <= StRead;
          read_address_q <= {reg_araddr_i[11:2], 2'b00};
        end
        StRead: begin
          read_q       <= StData;
          r_data_q     <= read_data;
          r_response_q <= read_known ? RespOkay : RespSlverr;
        end
        default: if (reg_rready_i) read_q <= StAddress;
      endcase
    end
  end

  logic unused_address; // byte addresses within a word
  assign unused_address = ^{reg_awaddr_i[1:0], reg_araddr_i[1:0], place};

  `EYRIE_STABLE(WriteResponse, reg_bvalid_o, reg_bready_i, reg_bresp_o)
  `EYRIE_STABLE(ReadData, reg_rvalid_o, reg_rready_i, {reg_rdata_o, reg_rresp_o})
  `EYRIE_ASSERT_NEXT(ResetClears, control_o.soft_reset, !interrupt_q,
      "an interrupt survives a soft reset")
  `EYRIE_ASSERT_WHEN(WindowKept, status_i.busy && $past(status_i.busy),
      $stable({program_base_q, window_base_q, window_limit_q}),
      "the window changes while the accelerator is busy")

endmodule
