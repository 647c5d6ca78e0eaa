// SPDX-License-Identifier: Apache-2.0
// The register file with its bundles as ports of their own: what cocotb sees.
module tb_registers
  import bus_pkg::*;
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned LATE_CYCLES = 3,          // of the counters of LATE
  parameter logic [Counters-1:0] LATE = 35'h5A5A5  // counters, by number
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [11:0] axi_awaddr_i,
  input  logic        axi_awvalid_i,
  output logic        axi_awready_o,
  input  logic [31:0] axi_wdata_i,
  input  logic [3:0]  axi_wstrb_i,
  input  logic        axi_wvalid_i,
  output logic        axi_wready_o,
  output logic [1:0]  axi_bresp_o,
  output logic        axi_bvalid_o,
  input  logic        axi_bready_i,
  input  logic [11:0] axi_araddr_i,
  input  logic        axi_arvalid_i,
  output logic        axi_arready_o,
  output logic [31:0] axi_rdata_o,
  output logic [1:0]  axi_rresp_o,
  output logic        axi_rvalid_o,
  input  logic        axi_rready_i,
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

  lite_request_t    request;
  lite_response_t   response;
  machine_control_t control;
  machine_status_t  status;

  assign request = '{
    aw_address: axi_awaddr_i,
    aw_valid:   axi_awvalid_i,
    w_data:     axi_wdata_i,
    w_strobe:   axi_wstrb_i,
    w_valid:    axi_wvalid_i,
    b_ready:    axi_bready_i,
    ar_address: axi_araddr_i,
    ar_valid:   axi_arvalid_i,
    r_ready:    axi_rready_i
  };
  assign axi_awready_o = response.aw_ready;
  assign axi_wready_o  = response.w_ready;
  assign axi_bresp_o   = response.b_response;
  assign axi_bvalid_o  = response.b_valid;
  assign axi_arready_o = response.ar_ready;
  assign axi_rdata_o   = response.r_data;
  assign axi_rresp_o   = response.r_response;
  assign axi_rvalid_o  = response.r_valid;

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
    .lite_i     (request),
    .lite_o     (response),
    .control_o  (control),
    .status_i   (status),
    .increment_i(increment_i)
  );

endmodule
