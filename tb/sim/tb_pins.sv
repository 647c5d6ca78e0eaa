// SPDX-License-Identifier: Apache-2.0
// The chip with a DRAM behind it, and a hand on its pins: flip_i inverts AXI and AXI-Lite inputs, bit by bit, and
// outputs_o is all that the chip says. A bench flips within a cycle and sees whether an output follows.
module tb_pins #(
  parameter int unsigned ROWS = 6,
  parameter int unsigned COLS = 8,
  parameter int unsigned MULTIPLIERS = 4,
  parameter int unsigned GLB_BANKS = 8,
  parameter int unsigned GLB_BANK_WORDS = 1024,
  parameter int unsigned IFMAP_WORDS = 9,
  parameter int unsigned FILTER_WORDS = 24,
  parameter int unsigned PIXEL_WORDS = 8,
  parameter int unsigned PSUM_WORDS = 128,
  parameter int unsigned WORD_BUFFER_WORDS = 256,
  parameter int unsigned BUS_WORDS = 1,
  parameter int unsigned FILTER_LANES = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         interrupt_o,

  input  logic [15:0]  latency_i,
  input  logic [7:0]   beats_i,
  input  logic [7:0]   cycles_i,
  input  logic [7:0]   stall_i,
  input  logic [32:0]  bytes_i,
  input  logic [1:0]   outside_i,
  input  logic [4:0]   dead_i,
  output logic [63:0]  dram_pointer_o,

  input  logic [11:0]  reg_awaddr_i,
  input  logic         reg_awvalid_i,
  output logic         reg_awready_o,
  input  logic [31:0]  reg_wdata_i,
  input  logic [3:0]   reg_wstrb_i,
  input  logic         reg_wvalid_i,
  output logic         reg_wready_o,
  output logic [1:0]   reg_bresp_o,
  output logic         reg_bvalid_o,
  input  logic         reg_bready_i,
  input  logic [11:0]  reg_araddr_i,
  input  logic         reg_arvalid_i,
  output logic         reg_arready_o,
  output logic [31:0]  reg_rdata_o,
  output logic [1:0]   reg_rresp_o,
  output logic         reg_rvalid_o,
  input  logic         reg_rready_i,

  input  logic [255:0] flip_i,     // of the inputs, as they are listed below
  output logic [511:0] outputs_o
);

  typedef struct packed {
    logic [11:0] awaddr;
    logic        awvalid;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
    logic        wvalid;
    logic        bready;
    logic [11:0] araddr;
    logic        arvalid;
    logic        rready;
  } lite_inputs_t;

  typedef struct packed {
    logic                    arready;
    logic [64*BUS_WORDS-1:0] rdata;
    logic [1:0]              rresp;
    logic                    rlast;
    logic                    rvalid;
    logic                    awready;
    logic                    wready;
    logic [1:0]              bresp;
    logic                    bvalid;
  } axi_inputs_t;

  localparam int unsigned LiteBits = $bits(lite_inputs_t);

  lite_inputs_t lite;
  axi_inputs_t  axi, dram;

  assign lite = {reg_awaddr_i, reg_awvalid_i, reg_wdata_i, reg_wstrb_i, reg_wvalid_i, reg_bready_i,
                 reg_araddr_i, reg_arvalid_i, reg_rready_i} ^ flip_i[LiteBits-1:0];
  assign axi  = dram ^ flip_i[LiteBits +: $bits(axi_inputs_t)];

  logic [31:0] araddr, awaddr;
  logic [7:0]  arlen, awlen;
  logic [2:0]  arsize, awsize;
  logic [1:0]  arburst, awburst;
  logic        arvalid, rready, awvalid, wlast, wvalid, bready;
  logic [64*BUS_WORDS-1:0] wdata;
  logic [8*BUS_WORDS-1:0]  wstrb;

  eyrie #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .BUS_WORDS(BUS_WORDS), .FILTER_LANES(FILTER_LANES)
  ) u_eyrie (
    .clk_i, .rst_ni, .interrupt_o,
    .reg_awaddr_i (lite.awaddr),
    .reg_awvalid_i(lite.awvalid),
    .reg_awready_o,
    .reg_wdata_i  (lite.wdata),
    .reg_wstrb_i  (lite.wstrb),
    .reg_wvalid_i (lite.wvalid),
    .reg_wready_o, .reg_bresp_o, .reg_bvalid_o,
    .reg_bready_i (lite.bready),
    .reg_araddr_i (lite.araddr),
    .reg_arvalid_i(lite.arvalid),
    .reg_arready_o, .reg_rdata_o, .reg_rresp_o, .reg_rvalid_o,
    .reg_rready_i (lite.rready),
    .axi_araddr_o (araddr),
    .axi_arlen_o  (arlen),
    .axi_arsize_o (arsize),
    .axi_arburst_o(arburst),
    .axi_arvalid_o(arvalid),
    .axi_arready_i(axi.arready),
    .axi_rdata_i  (axi.rdata),
    .axi_rresp_i  (axi.rresp),
    .axi_rlast_i  (axi.rlast),
    .axi_rvalid_i (axi.rvalid),
    .axi_rready_o (rready),
    .axi_awaddr_o (awaddr),
    .axi_awlen_o  (awlen),
    .axi_awsize_o (awsize),
    .axi_awburst_o(awburst),
    .axi_awvalid_o(awvalid),
    .axi_awready_i(axi.awready),
    .axi_wdata_o  (wdata),
    .axi_wstrb_o  (wstrb),
    .axi_wlast_o  (wlast),
    .axi_wvalid_o (wvalid),
    .axi_wready_i (axi.wready),
    .axi_bresp_i  (axi.bresp),
    .axi_bvalid_i (axi.bvalid),
    .axi_bready_o (bready)
  );

  assign outputs_o = 512'({
    interrupt_o, reg_awready_o, reg_wready_o, reg_bresp_o, reg_bvalid_o, reg_arready_o, reg_rdata_o,
    reg_rresp_o, reg_rvalid_o, araddr, arlen, arsize, arburst, arvalid, rready, awaddr, awlen, awsize,
    awburst, awvalid, wdata, wstrb, wlast, wvalid, bready
  });

  axi_dram #(.BUS_WORDS(BUS_WORDS)) u_dram (
    .clk_i, .rst_ni, .latency_i, .beats_i, .cycles_i, .stall_i, .bytes_i, .outside_i, .dead_i,
    .pointer_o    (dram_pointer_o),
    .axi_araddr_i (araddr),
    .axi_arlen_i  (arlen),
    .axi_arvalid_i(arvalid),
    .axi_arready_o(dram.arready),
    .axi_rdata_o  (dram.rdata),
    .axi_rresp_o  (dram.rresp),
    .axi_rlast_o  (dram.rlast),
    .axi_rvalid_o (dram.rvalid),
    .axi_rready_i (rready),
    .axi_awaddr_i (awaddr),
    .axi_awlen_i  (awlen),
    .axi_awvalid_i(awvalid),
    .axi_awready_o(dram.awready),
    .axi_wdata_i  (wdata),
    .axi_wstrb_i  (wstrb),
    .axi_wlast_i  (wlast),
    .axi_wvalid_i (wvalid),
    .axi_wready_o (dram.wready),
    .axi_bresp_o  (dram.bresp),
    .axi_bvalid_o (dram.bvalid),
    .axi_bready_i (bready)
  );

endmodule
