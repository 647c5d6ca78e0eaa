// SPDX-License-Identifier: Apache-2.0
// What software sees, as an AXI4-Lite slave: the registers and performance counters of
// encoding_pkg, and the interrupt.
//
// start_o and soft_reset_o pulse. A counter grows by its increment_i each cycle and is 0 from
// clear_i on. The interrupt is set when done_i or error_i rises, cleared by CONTROL bit 2 or a soft
// reset, and reaches interrupt_o if INTERRUPT_ENABLE bit 0 is set.
//
// A write to a register that cannot be written, or to PROGRAM_BASE or the window while busy_i (what
// is running relies on them), changes nothing and is answered SLVERR, as is any access to an
// address that means nothing. Reads and writes take their turns independently; one of each is under
// way at a time.

`include "assertions.svh"

module register_file
  import encoding_pkg::*;
#(
  parameter int unsigned INCREMENT_WIDTH = 16  // bits of a counter's increment
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,

  // AXI4-Lite
  input  logic [11:0]                               axi_awaddr_i,
  input  logic                                      axi_awvalid_i,
  output logic                                      axi_awready_o,
  input  logic [31:0]                               axi_wdata_i,
  input  logic [3:0]                                axi_wstrb_i,
  input  logic                                      axi_wvalid_i,
  output logic                                      axi_wready_o,
  output logic [1:0]                                axi_bresp_o,
  output logic                                      axi_bvalid_o,
  input  logic                                      axi_bready_i,
  input  logic [11:0]                               axi_araddr_i,
  input  logic                                      axi_arvalid_i,
  output logic                                      axi_arready_o,
  output logic [31:0]                               axi_rdata_o,
  output logic [1:0]                                axi_rresp_o,
  output logic                                      axi_rvalid_o,
  input  logic                                      axi_rready_i,
  output logic                                      interrupt_o,

  // The machine
  output logic                                      start_o,
  output logic                                      soft_reset_o,
  output logic [31:0]                               program_base_o,
  output logic [31:0]                               window_base_o,
  output logic [31:0]                               window_limit_o,
  output logic [31:0]                               watchdog_limit_o,
  input  logic                                      clear_i,
  input  logic                                      busy_i,
  input  logic                                      done_i,
  input  logic                                      error_i,
  input  error_code_e                               error_code_i,
  input  logic [31:0]                               error_address_i,
  input  logic [Counters-1:0][INCREMENT_WIDTH-1:0]  increment_i
);

  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;
  localparam int unsigned IndexWidth = $clog2(Counters);

  logic [31:0]               program_base_q, window_base_q, window_limit_q, watchdog_limit_q;
  logic                      interrupt_enable_q, interrupt_q, ended_q;
  logic [Counters-1:0][31:0] counters_q;
  logic                      bvalid_q, rvalid_q;
  logic [1:0]                bresp_q, rresp_q;
  logic [31:0]               rdata_q;

  // Write: address and data are taken together, when the last response is gone or going.
  logic        write, locked, write_known;
  logic [11:0] write_address;
  logic [31:0] mask;
  assign write         = axi_awvalid_i && axi_wvalid_i && (!bvalid_q || axi_bready_i);
  assign axi_awready_o = write;
  assign axi_wready_o  = write;
  assign write_address = {axi_awaddr_i[11:2], 2'b00};
  assign mask          = {{8{axi_wstrb_i[3]}}, {8{axi_wstrb_i[2]}},
                          {8{axi_wstrb_i[1]}}, {8{axi_wstrb_i[0]}}};
  assign locked        = write_address inside {RegisterProgramBase, RegisterWindowBase,
                                               RegisterWindowLimit} && busy_i;
  assign write_known   = write_address inside {RegisterControl, RegisterProgramBase,
                                               RegisterWindowBase, RegisterWindowLimit,
                                               RegisterWatchdogLimit, RegisterInterruptEnable};

  function automatic logic [31:0] merge(logic [31:0] old, logic [31:0] data, logic [31:0] bits);
    return (old & ~bits) | (data & bits);
  endfunction

  logic       control;
  logic [2:0] control_bits;
  assign control      = write && write_address == RegisterControl;
  assign control_bits = axi_wdata_i[2:0] & mask[2:0];
  assign start_o      = control && control_bits[0] && !control_bits[1];
  assign soft_reset_o = control && control_bits[1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      program_base_q     <= '0;
      window_base_q      <= '0;
      window_limit_q     <= '0;
      watchdog_limit_q   <= '0;
      interrupt_enable_q <= 1'b0;
      bvalid_q           <= 1'b0;
      bresp_q            <= RespOkay;
    end else begin
      if (write && !locked) begin
        unique case (write_address)
          RegisterProgramBase:   program_base_q   <= merge(program_base_q, axi_wdata_i, mask);
          RegisterWindowBase:    window_base_q    <= merge(window_base_q, axi_wdata_i, mask);
          RegisterWindowLimit:   window_limit_q   <= merge(window_limit_q, axi_wdata_i, mask);
          RegisterWatchdogLimit: watchdog_limit_q <= merge(watchdog_limit_q, axi_wdata_i, mask);
          RegisterInterruptEnable: if (mask[0]) interrupt_enable_q <= axi_wdata_i[0];
          default: ;
        endcase
      end
      if (write) begin
        bvalid_q <= 1'b1;
        bresp_q  <= (write_known && !locked) ? RespOkay : RespSlverr;
      end else if (axi_bready_i) begin
        bvalid_q <= 1'b0;
      end
    end
  end

  // Interrupt: an end while it is being cleared counts.
  logic ended;
  assign ended = done_i || error_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ended_q     <= 1'b0;
      interrupt_q <= 1'b0;
    end else begin
      ended_q <= ended;
      if (ended && !ended_q)                               interrupt_q <= 1'b1;
      else if (control && (control_bits[2] || control_bits[1])) interrupt_q <= 1'b0;
    end
  end

  // Counters
  for (genvar c = 0; c < Counters; c++) begin : gen_counter
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni)      counters_q[c] <= '0;
      else if (clear_i) counters_q[c] <= '0;
      else              counters_q[c] <= counters_q[c] + 32'(increment_i[c]);
    end
  end

  // Read
  logic        read, read_known;
  logic [11:0] read_address, counter_number;
  logic [31:0] read_data;
  assign axi_arready_o  = !rvalid_q || axi_rready_i;
  assign read           = axi_arvalid_i && axi_arready_o;
  assign read_address   = {axi_araddr_i[11:2], 2'b00};
  assign counter_number = (read_address - RegisterCounters) >> 2;

  always_comb begin : select
    read_known = 1'b1;
    read_data  = '0;
    unique case (read_address)
      RegisterIdentity:        read_data = Identity;
      RegisterControl:         read_data = '0;
      RegisterStatus:          read_data = {28'd0, interrupt_q, error_i, done_i, busy_i};
      RegisterErrorCode:       read_data = 32'(error_code_i);
      RegisterErrorAddress:    read_data = error_address_i;
      RegisterProgramBase:     read_data = program_base_q;
      RegisterWindowBase:      read_data = window_base_q;
      RegisterWindowLimit:     read_data = window_limit_q;
      RegisterWatchdogLimit:   read_data = watchdog_limit_q;
      RegisterInterruptEnable: read_data = 32'(interrupt_enable_q);
      default: begin
        read_known = read_address >= RegisterCounters && counter_number < 12'(Counters);
        if (read_known) read_data = counters_q[counter_number[IndexWidth-1:0]];
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rvalid_q <= 1'b0;
      rdata_q  <= '0;
      rresp_q  <= RespOkay;
    end else if (axi_arready_o) begin
      rvalid_q <= read;
      if (read) begin
        rdata_q <= read_data;
        rresp_q <= read_known ? RespOkay : RespSlverr;
      end
    end
  end

  assign axi_bvalid_o     = bvalid_q;
  assign axi_bresp_o      = bresp_q;
  assign axi_rvalid_o     = rvalid_q;
  assign axi_rdata_o      = rdata_q;
  assign axi_rresp_o      = rresp_q;
  assign interrupt_o      = interrupt_q && interrupt_enable_q;
  assign program_base_o   = program_base_q;
  assign window_base_o    = window_base_q;
  assign window_limit_o   = window_limit_q;
  assign watchdog_limit_o = watchdog_limit_q;

  logic unused_address; // words only
  assign unused_address = ^{axi_awaddr_i[1:0], axi_araddr_i[1:0]};

  `EYRIE_STABLE(WriteResponse, axi_bvalid_o, axi_bready_i, axi_bresp_o)
  `EYRIE_STABLE(ReadData, axi_rvalid_o, axi_rready_i, {axi_rdata_o, axi_rresp_o})
  `EYRIE_ASSERT_WHEN(WindowKept, busy_i && $past(busy_i),
      $stable({program_base_q, window_base_q, window_limit_q}),
      "the window moved while the machine was busy")

endmodule
