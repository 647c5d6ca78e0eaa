// SPDX-License-Identifier: Apache-2.0
// Eyrie: an int8 CNN accelerator, with registers and an interrupt for the host and an AXI4 master
// for DRAM. The tiling controller fetches commands and moves data between DRAM and the global
// buffer (GLB). The core holds the GLB and runs processing passes.
//
// Only the register file survives a start or a soft reset. All other units are reset (unit_rst_n).

`include "assertions.svh"

module eyrie
  import bus_pkg::*;
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS = 6,                 // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,                 // PE columns
  parameter int unsigned MULTIPLIERS = 4,          // multipliers of a PE: 1 or 4
  parameter int unsigned GLB_BANKS = 8,            // banks of the GLB
  parameter int unsigned GLB_BANK_WORDS = 1024,    // 64-bit words of a bank
  parameter int unsigned IFMAP_WORDS = 16,         // depth of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,        // depth of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,         // depth of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,         // psums in a half of a PE's psum buffer
  parameter int unsigned WORD_BUFFER_WORDS = 256,  // depth of a SUPER's word buffer
  parameter int unsigned BUS_WORDS = 1,            // 64-bit words per AXI beat: 1 or 2
  parameter int unsigned FILTER_LANES = 1,         // filter words per cycle: 1 or 2
  parameter int unsigned WEIGHT_CODES = 0,         // decoders of coded weights: 0 or 1
  parameter int unsigned READ_BEATS = 256          // beats under way above which no load requests more
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        interrupt_o,

  // AXI4-Lite slave: registers
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

  // AXI4 master: DRAM
  output logic [31:0] axi_araddr_o,
  output logic [7:0]  axi_arlen_o,
  output logic [2:0]  axi_arsize_o,
  output logic [1:0]  axi_arburst_o,
  output logic        axi_arvalid_o,
  input  logic        axi_arready_i,
  input  logic [64*BUS_WORDS-1:0] axi_rdata_i,
  input  logic [1:0]  axi_rresp_i,
  input  logic        axi_rlast_i,
  input  logic        axi_rvalid_i,
  output logic        axi_rready_o,
  output logic [31:0] axi_awaddr_o,
  output logic [7:0]  axi_awlen_o,
  output logic [2:0]  axi_awsize_o,
  output logic [1:0]  axi_awburst_o,
  output logic        axi_awvalid_o,
  input  logic        axi_awready_i,
  output logic [64*BUS_WORDS-1:0] axi_wdata_o,
  output logic [8*BUS_WORDS-1:0] axi_wstrb_o,
  output logic        axi_wlast_o,
  output logic        axi_wvalid_o,
  input  logic        axi_wready_i,
  input  logic [1:0]  axi_bresp_i,
  input  logic        axi_bvalid_i,
  output logic        axi_bready_o
);

  localparam int unsigned IncrementWidth = 16;

  configuration_check #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .PSUM_WORDS(PSUM_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .IFMAP_WORDS(IFMAP_WORDS), .PIXEL_WORDS(PIXEL_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .BUS_WORDS(BUS_WORDS), .FILTER_LANES(FILTER_LANES), .WEIGHT_CODES(WEIGHT_CODES),
    .READ_BEATS(READ_BEATS)
  ) u_configuration_check ();

  // ---- Pins ----

  axi_request_t  axi_request;
  axi_response_t axi_response;

  localparam logic [2:0] BeatSize = 3'($clog2(8 * BUS_WORDS));

  assign axi_araddr_o  = axi_request.ar.address;
  assign axi_arlen_o   = axi_request.ar.length;
  assign axi_arsize_o  = BeatSize;
  assign axi_arburst_o = BurstIncr;
  assign axi_arvalid_o = axi_request.ar.valid;
  assign axi_rready_o  = axi_request.r_ready;
  assign axi_awaddr_o  = axi_request.aw.address;
  assign axi_awlen_o   = axi_request.aw.length;
  assign axi_awsize_o  = BeatSize;
  assign axi_awburst_o = BurstIncr;
  assign axi_awvalid_o = axi_request.aw.valid;
  assign axi_wdata_o   = axi_request.w_data[BUS_WORDS-1:0];
  assign axi_wstrb_o   = axi_request.w_strobe[BUS_WORDS-1:0];
  assign axi_wlast_o   = axi_request.w_last;
  assign axi_wvalid_o  = axi_request.w_valid;
  assign axi_bready_o  = axi_request.b_ready;
  assign axi_response  = '{
    ar_ready:   axi_arready_i,
    r_data:     (64 * MaxBusWords)'(axi_rdata_i),
    r_response: axi_rresp_i,
    r_last:     axi_rlast_i,
    r_valid:    axi_rvalid_i,
    aw_ready:   axi_awready_i,
    w_ready:    axi_wready_i,
    b_response: axi_bresp_i,
    b_valid:    axi_bvalid_i
  };

  // ---- Registers and commands ----

  // Counters of the PE array, whose increments are ActivityDelay cycles late
  localparam logic [Counters-1:0] ArrayCounters =
      (Counters'(1) << CounterMacs) | (Counters'(1) << CounterZeroSkipped) |
      (Counters'(1) << CounterArrayBusy) | (Counters'(1) << CounterArrayStall) |
      (Counters'(1) << CounterPeWaitIfmap) | (Counters'(1) << CounterPeWaitWords) |
      (Counters'(1) << CounterPeWaitFilter) | (Counters'(1) << CounterPeWaitPsum) |
      (Counters'(1) << CounterPeIdle) | (Counters'(1) << CounterPeBehind);
  localparam logic [Counters-1:0] AbsentCounters =
      WEIGHT_CODES == 0 ? Counters'(1) << CounterDecodedBytes : '0;

  logic                 unit_rst_n;
  accelerator_control_t control;
  accelerator_status_t  status;
  pass_control_t        pass_control;
  pass_status_t         pass_status;
  tiling_pkg::tiling_activity_t tiling;
  activity_t        activity;

  logic [Counters-1:0][IncrementWidth-1:0] increment;

  register_file #(
    .INCREMENT_WIDTH(IncrementWidth), .LATE_CYCLES(ActivityDelay), .LATE(ArrayCounters),
    .ABSENT(AbsentCounters)
  ) u_register_file (
    .clk_i, .rst_ni, .interrupt_o,
    .reg_awaddr_i, .reg_awvalid_i, .reg_awready_o, .reg_wdata_i, .reg_wstrb_i, .reg_wvalid_i,
    .reg_wready_o, .reg_bresp_o, .reg_bvalid_o, .reg_bready_i, .reg_araddr_i, .reg_arvalid_i,
    .reg_arready_o, .reg_rdata_o, .reg_rresp_o, .reg_rvalid_o, .reg_rready_i,
    .control_o  (control),
    .status_i   (status),
    .increment_i(increment)
  );

  logic            load_valid, load_ready, store_valid, store_ready, store_read_valid;
  glb_request_t    load_request, store_request;
  glb_word_t [1:0] store_read_data;

  tiling_controller #(
    .GLB_WORDS(GLB_BANKS * GLB_BANK_WORDS), .BUS_WORDS(BUS_WORDS), .WEIGHT_CODES(WEIGHT_CODES),
    .READ_BEATS(READ_BEATS)
  ) u_tiling_controller (
    .clk_i, .rst_ni,
    .unit_rst_no       (unit_rst_n),
    .control_i         (control),
    .status_o          (status),
    .pass_o            (pass_control),
    .pass_i            (pass_status),
    .request_valid_o   ({load_valid, store_valid}),
    .request_ready_i   ({load_ready, store_ready}),
    .request_o         ({load_request, store_request}),
    .store_read_valid_i(store_read_valid),
    .store_read_data_i (store_read_data),
    .activity_o        (tiling),
    .axi_o             (axi_request),
    .axi_i             (axi_response)
  );

  // ---- Passes and the GLB ----

  eyrie_core #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .FILTER_LANES(FILTER_LANES)
  ) u_core (
    .clk_i,
    .rst_ni            (unit_rst_n),
    .control_i         (pass_control),
    .status_o          (pass_status),
    .activity_o        (activity),
    .load_valid_i      (load_valid),
    .load_ready_o      (load_ready),
    .load_request_i    (load_request),
    .store_valid_i     (store_valid),
    .store_ready_o     (store_ready),
    .store_request_i   (store_request),
    .store_read_valid_o(store_read_valid),
    .store_read_data_o (store_read_data)
  );

  // ---- Counters ----

  // Passes that have been requested and are not done, now and at the time of the array's activity.
  // A vector pass in the PPU does not count as work of the array.
  logic [3:0] passes_running, passes_were_running;
  logic       elementwise_was_running;

  always_ff @(posedge clk_i or negedge unit_rst_n) begin
    if (!unit_rst_n) begin
      passes_running <= '0;
    end else begin
      passes_running <= passes_running + 4'(pass_control.pass_valid && pass_status.pass_ready)
                        - 4'(pass_status.pass_done);
    end
  end

  delay_line #(.WIDTH(4), .CYCLES(ActivityDelay)) u_running (
    .clk_i,
    .rst_ni (unit_rst_n),
    .value_i(passes_running),
    .late_o (passes_were_running)
  );
  delay_line #(.WIDTH(1), .CYCLES(ActivityDelay)) u_elementwise_running (
    .clk_i,
    .rst_ni (unit_rst_n),
    .value_i(activity.elementwise),
    .late_o (elementwise_was_running)
  );

  always_comb begin : count
    increment = '0;
    increment[CounterCycles]             = 16'd1;
    increment[CounterPasses]             = 16'(pass_status.pass_done);
    increment[CounterTransfers]          = 16'(tiling.transfer_done);
    increment[CounterMacs]               = 16'(activity.macs);
    increment[CounterZeroSkipped]        = 16'(activity.zero_skipped);
    increment[CounterDramReadBytes]      = tiling.read_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterDramWriteBytes]     = tiling.write_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterCommandBytes]       = tiling.command_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterGlbIfmapBytes]      = 16'(activity.glb_bytes[StreamIfmap]);
    increment[CounterGlbFilterBytes]     = 16'(activity.glb_bytes[StreamFilter]);
    increment[CounterGlbDepthwiseBytes]  = 16'(activity.glb_bytes[StreamDepthwise]);
    increment[CounterGlbParametersBytes]  = 16'(activity.glb_bytes[StreamParameters]);
    increment[CounterGlbIpsumBytes]      = 16'(activity.glb_bytes[StreamIpsum]);
    increment[CounterGlbResidualBytes]   = 16'(activity.glb_bytes[StreamResidual]);
    increment[CounterGlbStoreBytes]      = 16'(activity.glb_bytes[ClientStore]);
    increment[CounterGlbOfmapBytes]      = 16'(activity.glb_bytes[StreamOfmap]);
    increment[CounterGlbLoadBytes]       = 16'(activity.glb_bytes[ClientLoad]);
    increment[CounterGlbConflicts]       = 16'(activity.glb_conflicts);
    increment[CounterArrayBusy]          = 16'(activity.macs != '0);
    increment[CounterArrayStall]         = 16'(activity.macs == '0 &&
        passes_were_running != 4'(elementwise_was_running));
    increment[CounterIfmapStall]         = 16'(activity.ifmap_stall);
    increment[CounterFilterStall]        = 16'(activity.filter_stall);
    increment[CounterDrainBusy]          = 16'(activity.drain_busy);
    increment[CounterDrainStall]         = 16'(activity.drain_stall);
    increment[CounterDmaBusy]            = 16'(tiling.dma_busy);
    increment[CounterDmaWait]            = 16'(tiling.dma_wait);
    increment[CounterPassWait]           = 16'(tiling.pass_wait);
    increment[CounterDecodedBytes]       = 16'(8 * 5'(tiling.decoded_words));
    increment[CounterPeWaitIfmap]        = 16'(activity.waits[0]);
    increment[CounterPeWaitWords]        = 16'(activity.waits[1]);
    increment[CounterPeWaitFilter]       = 16'(activity.waits[2]);
    increment[CounterPeWaitPsum]         = 16'(activity.waits[3]);
    increment[CounterPeIdle]             = 16'(activity.waits[4]);
    increment[CounterPeBehind]           = 16'(activity.behind);
    increment[CounterFilterWait]         = 16'(activity.filter_waits);
    increment[CounterIfmapWait]          = 16'(activity.ifmap_waits);
  end

  `EYRIE_ASSERT_WHEN(DoneWereRequested, pass_status.pass_done, passes_running != '0,
      "more passes done than requested")
  `EYRIE_ASSERT_WHEN(FewPasses, passes_running == '1, pass_status.pass_done ||
      !(pass_control.pass_valid && pass_status.pass_ready), "too many passes in flight")

endmodule
