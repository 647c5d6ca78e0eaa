// SPDX-License-Identifier: Apache-2.0
// Eyrie: an int8 CNN accelerator. Registers and interrupt for the host, an AXI4 master to DRAM;
// inside, the tiling controller fetches commands and moves data between DRAM and GLB, the core,
// around the GLB, runs passes.
//
// Only the register file outlives a start or a soft reset: everything else begins anew
// (unit_rst_n).

`include "assertions.svh"

module eyrie
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,                 // of PEs, in sets of three
  parameter int unsigned COLS = 8,                 // of PEs
  parameter int unsigned MULTIPLIERS = 4,          // of a PE: 4 or 1
  parameter int unsigned GLB_BANKS = 8,            // of the GLB
  parameter int unsigned GLB_BANK_WORDS = 1024,    // 64-bit words in each bank
  parameter int unsigned IFMAP_WORDS = 9,          // words of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,        // words of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 8,          // words of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,         // sums in each half of a PE
  parameter int unsigned WORD_BUFFER_WORDS = 256,  // depthwise words that a SUPER keeps
  parameter int unsigned BUS_WORDS = 1,            // 64-bit words in a beat of the AXI port: 1 or 2
  parameter int unsigned FILTER_LANES = 1          // filter words a cycle: 1 or 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        interrupt_o,

  // AXI4-Lite registers.
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

  // AXI4 to DRAM.
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

  // ---- Registers and commands ----

  logic        unit_rst_n, start, soft_reset, clear, busy, done, error;
  logic [31:0] program_base, window_base, window_limit, watchdog_limit, error_address;
  error_code_e error_code;
  pass_control_t pass_control;
  pass_status_t  pass_status;
  activity_t     activity;
  logic        transfer_done, read_beat, write_beat, command_beat, dma_busy, dma_wait, pass_wait;

  logic [Counters-1:0][IncrementWidth-1:0] increment;

  register_file #(.INCREMENT_WIDTH(IncrementWidth)) u_register_file (
    .clk_i, .rst_ni,
    .axi_awaddr_i    (reg_awaddr_i),
    .axi_awvalid_i   (reg_awvalid_i),
    .axi_awready_o   (reg_awready_o),
    .axi_wdata_i     (reg_wdata_i),
    .axi_wstrb_i     (reg_wstrb_i),
    .axi_wvalid_i    (reg_wvalid_i),
    .axi_wready_o    (reg_wready_o),
    .axi_bresp_o     (reg_bresp_o),
    .axi_bvalid_o    (reg_bvalid_o),
    .axi_bready_i    (reg_bready_i),
    .axi_araddr_i    (reg_araddr_i),
    .axi_arvalid_i   (reg_arvalid_i),
    .axi_arready_o   (reg_arready_o),
    .axi_rdata_o     (reg_rdata_o),
    .axi_rresp_o     (reg_rresp_o),
    .axi_rvalid_o    (reg_rvalid_o),
    .axi_rready_i    (reg_rready_i),
    .interrupt_o,
    .start_o         (start),
    .soft_reset_o    (soft_reset),
    .program_base_o  (program_base),
    .window_base_o   (window_base),
    .window_limit_o  (window_limit),
    .watchdog_limit_o(watchdog_limit),
    .clear_i         (clear),
    .busy_i          (busy),
    .done_i          (done),
    .error_i         (error),
    .error_code_i    (error_code),
    .error_address_i (error_address),
    .increment_i     (increment)
  );

  logic            load_valid, load_ready, store_valid, store_ready, store_read_valid;
  glb_request_t    load_request, store_request;
  glb_word_t [1:0] store_read_data;

  tiling_controller #(
    .GLB_WORDS(GLB_BANKS * GLB_BANK_WORDS), .BUS_WORDS(BUS_WORDS)
  ) u_tiling_controller (
    .clk_i, .rst_ni,
    .unit_rst_no       (unit_rst_n),
    .start_i           (start),
    .soft_reset_i      (soft_reset),
    .program_base_i    (program_base),
    .window_base_i     (window_base),
    .window_limit_i    (window_limit),
    .watchdog_limit_i  (watchdog_limit),
    .clear_o           (clear),
    .busy_o            (busy),
    .done_o            (done),
    .error_o           (error),
    .error_code_o      (error_code),
    .error_address_o   (error_address),
    .config_valid_o    (pass_control.config_valid),
    .config_ready_i    (pass_status.config_ready),
    .config_index_o    (pass_control.config_index),
    .config_data_o     (pass_control.config_data),
    .pass_valid_o      (pass_control.pass_valid),
    .pass_ready_i      (pass_status.pass_ready),
    .pass_wait_passes_o(pass_control.wait_passes),
    .pass_done_i       (pass_status.pass_done),
    .chunk_freed_i     (pass_status.chunk_freed),
    .passes_done_o     (pass_control.passes_done),
    .chunks_loaded_o   (pass_control.chunks_loaded),
    .progress_i        (pass_status.progress),
    .glb_error_i       (pass_status.glb_error),
    .load_valid_o      (load_valid),
    .load_ready_i      (load_ready),
    .load_request_o    (load_request),
    .store_valid_o     (store_valid),
    .store_ready_i     (store_ready),
    .store_request_o   (store_request),
    .store_read_valid_i(store_read_valid),
    .store_read_data_i (store_read_data),
    .transfer_done_o   (transfer_done),
    .read_beat_o       (read_beat),
    .write_beat_o      (write_beat),
    .command_beat_o    (command_beat),
    .dma_busy_o        (dma_busy),
    .dma_wait_o        (dma_wait),
    .pass_wait_o       (pass_wait),
    .axi_araddr_o, .axi_arlen_o, .axi_arsize_o, .axi_arburst_o, .axi_arvalid_o, .axi_arready_i,
    .axi_rdata_i, .axi_rresp_i, .axi_rlast_i, .axi_rvalid_i, .axi_rready_o,
    .axi_awaddr_o, .axi_awlen_o, .axi_awsize_o, .axi_awburst_o, .axi_awvalid_o, .axi_awready_i,
    .axi_wdata_o, .axi_wstrb_o, .axi_wlast_o, .axi_wvalid_o, .axi_wready_i,
    .axi_bresp_i, .axi_bvalid_i, .axi_bready_o
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

  logic pass_running;  // between the offer of a pass and the end of the last one
  logic [15:0] passes_offered_q;

  always_ff @(posedge clk_i or negedge unit_rst_n) begin
    if (!unit_rst_n) passes_offered_q <= '0;
    else if (pass_control.pass_valid && pass_status.pass_ready) begin
      passes_offered_q <= passes_offered_q + 16'd1;
    end
  end
  assign pass_running = passes_offered_q != pass_control.passes_done;

  always_comb begin : count
    increment = '0;
    increment[CounterCycles]             = 16'(busy);
    increment[CounterPasses]             = 16'(pass_status.pass_done);
    increment[CounterTransfers]          = 16'(transfer_done);
    increment[CounterMacs]               = 16'(activity.macs);
    increment[CounterGated]              = 16'(activity.gated);
    increment[CounterDramReadBytes]      = read_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterDramWriteBytes]     = write_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterCommandBytes]       = command_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterGlbIfmapBytes]      = 16'(activity.glb_bytes[StreamIfmap]);
    increment[CounterGlbFilterBytes]     = 16'(activity.glb_bytes[StreamFilter]);
    increment[CounterGlbDepthwiseBytes]  = 16'(activity.glb_bytes[StreamDepthwise]);
    increment[CounterGlbTableBytes]      = 16'(activity.glb_bytes[StreamTable]);
    increment[CounterGlbIpsumBytes]      = 16'(activity.glb_bytes[StreamIpsum]);
    increment[CounterGlbResidualBytes]   = 16'(activity.glb_bytes[StreamResidual]);
    increment[CounterGlbStoreBytes]      = 16'(activity.glb_bytes[ClientStore]);
    increment[CounterGlbOfmapBytes]      = 16'(activity.glb_bytes[StreamOfmap]);
    increment[CounterGlbLoadBytes]       = 16'(activity.glb_bytes[ClientLoad]);
    increment[CounterGlbConflicts]       = 16'(activity.glb_conflicts);
    increment[CounterArrayBusy]          = 16'(activity.macs != '0);
    increment[CounterArrayStall]         = 16'(pass_running && activity.macs == '0);
    increment[CounterIfmapStall]         = 16'(activity.ifmap_stall);
    increment[CounterFilterStall]        = 16'(activity.filter_stall);
    increment[CounterDrainBusy]          = 16'(activity.drain_busy);
    increment[CounterDrainStall]         = 16'(activity.drain_stall);
    increment[CounterDmaBusy]            = 16'(dma_busy);
    increment[CounterDmaWait]            = 16'(dma_wait);
    increment[CounterPassWait]           = 16'(pass_wait);
    increment[CounterPeWaitIfmap]        = 16'(activity.waits[0]);
    increment[CounterPeWaitWords]        = 16'(activity.waits[1]);
    increment[CounterPeWaitFilter]       = 16'(activity.waits[2]);
    increment[CounterPeWaitPsum]         = 16'(activity.waits[3]);
    increment[CounterPeIdle]             = 16'(activity.waits[4]);
    increment[CounterPeBehind]           = 16'(activity.behind);
    increment[CounterFilterWait]         = 16'(activity.filter_waits);
    increment[CounterIfmapWait]          = 16'(activity.ifmap_waits);
  end

  `EYRIE_ASSERT(DoneWereOffered, 16'(passes_offered_q - pass_control.passes_done) < 16'h8000,
      "more passes done than offered")

endmodule
