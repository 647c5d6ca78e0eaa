// SPDX-License-Identifier: Apache-2.0
// The register file with its bundles as ports of their own: what cocotb sees.
module tb_registers
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned LATE_CYCLES = 3,          // of the counters of LATE
  parameter logic [Counters-1:0] LATE = Counters'('h5A5A5)  // counters, by number
) (
  input  logic        clk_i,
  input  logic        rst_ni,

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
  output logic        interrupt_o,

  output logic        start_o,
  output logic        soft_reset_o,
  input  logic        clear_i,
  input  logic        counting_i,
  input  logic        busy_i,
  input  logic        done_i,
  input  logic        error_i,
  input  logic        bus_waits_i,
  input  logic [3:0]  error_code_i,
  input  logic [31:0] error_address_i,
  input  logic [Counters-1:0][15:0] increment_i,
  output logic [Counters-1:0] late_o
);

  accelerator_control_t control;
  accelerator_status_t  status;

  assign start_o      = control.start;
  assign soft_reset_o = control.soft_reset;
  assign late_o       = LATE;
  assign status       = '{
    clear:         clear_i,
    counting:      counting_i,
    busy:          busy_i,
    done:          done_i,
    error:         error_i,
    bus_waits:     bus_waits_i,
    error_code:    error_code_e'(error_code_i),
    error_address: error_address_i
  };

  register_file #(.LATE_CYCLES(LATE_CYCLES), .LATE(LATE)) u_dut (
    .clk_i, .rst_ni, .interrupt_o,
    .reg_awaddr_i, .reg_awvalid_i, .reg_awready_o, .reg_wdata_i, .reg_wstrb_i, .reg_wvalid_i,
    .reg_wready_o, .reg_bresp_o, .reg_bvalid_o, .reg_bready_i, .reg_araddr_i, .reg_arvalid_i,
    .reg_arready_o, .reg_rdata_o, .reg_rresp_o, .reg_rvalid_o, .reg_rready_i,
    .control_o  (control),
    .status_i   (status),
    .increment_i(increment_i)
  );

endmodule
