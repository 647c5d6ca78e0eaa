// SPDX-License-Identifier: Apache-2.0
// Eyrie: an int8 CNN accelerator. Registers and interrupt for the host, an AXI4 master to DRAM;
// inside, the tiling controller fetches commands and moves data between DRAM and GLB, the core runs
// passes.
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

  localparam int unsigned CountWidth = $clog2(ROWS * COLS * WordChannels + 1);
  localparam int unsigned IncrementWidth = 16;

  // ---- Registers and commands ----

  logic        unit_rst_n, start, soft_reset, clear, busy, done, error;
  logic [31:0] program_base, window_base, window_limit, watchdog_limit, error_address;
  error_code_e error_code;
  logic        config_valid, config_ready, pass_valid, pass_ready, pass_done, chunk_freed, progress;
  logic        glb_error;
  logic [6:0]  config_index;
  logic [63:0] config_data;
  logic [15:0] pass_wait_passes, passes_done, chunks_loaded;
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

  logic         [Clients-1:0]   request_valid, request_ready, read_valid;
  glb_request_t [Clients-1:0]   request;
  glb_word_t [Clients-1:0][1:0] read_data;

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
    .config_valid_o    (config_valid),
    .config_ready_i    (config_ready),
    .config_index_o    (config_index),
    .config_data_o     (config_data),
    .pass_valid_o      (pass_valid),
    .pass_ready_i      (pass_ready),
    .pass_wait_passes_o(pass_wait_passes),
    .pass_done_i       (pass_done),
    .chunk_freed_i     (chunk_freed),
    .passes_done_o     (passes_done),
    .chunks_loaded_o   (chunks_loaded),
    .progress_i        (progress),
    .glb_error_i       (glb_error),
    .load_valid_o      (request_valid[ClientLoad]),
    .load_ready_i      (request_ready[ClientLoad]),
    .load_request_o    (request[ClientLoad]),
    .store_valid_o     (request_valid[ClientStore]),
    .store_ready_i     (request_ready[ClientStore]),
    .store_request_o   (request[ClientStore]),
    .store_read_valid_i(read_valid[ClientStore]),
    .store_read_data_i (read_data[ClientStore]),
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

  logic [CountWidth-1:0]   macs, gated, behind;
  logic [PeWaits-1:0][CountWidth-1:0] waits;
  logic                    ifmap_waits, filter_waits;
  logic                    ifmap_stall, filter_stall, drain_busy, drain_stall;
  logic [Clients-1:0][4:0] glb_bytes;
  logic [3:0]              glb_conflicts;

  eyrie_core #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .IFMAP_WORDS(IFMAP_WORDS),
    .FILTER_WORDS(FILTER_WORDS), .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS),
    .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS), .FILTER_LANES(FILTER_LANES)
  ) u_core (
    .clk_i,
    .rst_ni            (unit_rst_n),
    .config_valid_i    (config_valid),
    .config_ready_o    (config_ready),
    .config_index_i    (config_index),
    .config_data_i     (config_data),
    .pass_valid_i      (pass_valid),
    .pass_ready_o      (pass_ready),
    .pass_wait_passes_i(pass_wait_passes),
    .passes_done_i     (passes_done),
    .chunks_loaded_i   (chunks_loaded),
    .pass_done_o       (pass_done),
    .chunk_freed_o     (chunk_freed),
    .request_valid_o   (request_valid[Streams-1:0]),
    .request_ready_i   (request_ready[Streams-1:0]),
    .request_o         (request[Streams-1:0]),
    .read_valid_i      (read_valid[Streams-1:0]),
    .read_data_i       (read_data[Streams-1:0]),
    .macs_o            (macs),
    .gated_o           (gated),
    .waits_o           (waits),
    .behind_o          (behind),
    .ifmap_waits_o     (ifmap_waits),
    .filter_waits_o    (filter_waits),
    .ifmap_stall_o     (ifmap_stall),
    .filter_stall_o    (filter_stall),
    .drain_busy_o      (drain_busy),
    .drain_stall_o     (drain_stall)
  );

  glb #(.BANKS(GLB_BANKS), .BANK_WORDS(GLB_BANK_WORDS)) u_glb (
    .clk_i,
    .rst_ni         (unit_rst_n),
    .request_valid_i(request_valid),
    .request_ready_o(request_ready),
    .request_i      (request),
    .read_valid_o   (read_valid),
    .read_data_o    (read_data),
    .error_o        (glb_error),
    .bytes_o        (glb_bytes),
    .conflicts_o    (glb_conflicts)
  );

  assign progress = macs != '0 || drain_busy || (request_valid & request_ready) != '0;

  // ---- Counters ----

  logic pass_running;  // between the offer of a pass and the end of the last one
  logic [15:0] passes_offered_q;

  always_ff @(posedge clk_i or negedge unit_rst_n) begin
    if (!unit_rst_n) passes_offered_q <= '0;
    else if (pass_valid && pass_ready) passes_offered_q <= passes_offered_q + 16'd1;
  end
  assign pass_running = passes_offered_q != passes_done;

  always_comb begin : count
    increment = '0;
    increment[CounterCycles]             = 16'(busy);
    increment[CounterPasses]             = 16'(pass_done);
    increment[CounterTransfers]          = 16'(transfer_done);
    increment[CounterMacs]               = 16'(macs);
    increment[CounterGated]              = 16'(gated);
    increment[CounterDramReadBytes]      = read_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterDramWriteBytes]     = write_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterCommandBytes]       = command_beat ? 16'(8 * BUS_WORDS) : '0;
    increment[CounterGlbIfmapBytes]      = 16'(glb_bytes[StreamIfmap]);
    increment[CounterGlbFilterBytes]     = 16'(glb_bytes[StreamFilter]);
    increment[CounterGlbDepthwiseBytes]  = 16'(glb_bytes[StreamDepthwise]);
    increment[CounterGlbTableBytes]      = 16'(glb_bytes[StreamTable]);
    increment[CounterGlbIpsumBytes]      = 16'(glb_bytes[StreamIpsum]);
    increment[CounterGlbResidualBytes]   = 16'(glb_bytes[StreamResidual]);
    increment[CounterGlbStoreBytes]      = 16'(glb_bytes[ClientStore]);
    increment[CounterGlbOfmapBytes]      = 16'(glb_bytes[StreamOfmap]);
    increment[CounterGlbLoadBytes]       = 16'(glb_bytes[ClientLoad]);
    increment[CounterGlbConflicts]       = 16'(glb_conflicts);
    increment[CounterArrayBusy]          = 16'(macs != '0);
    increment[CounterArrayStall]         = 16'(pass_running && macs == '0);
    increment[CounterIfmapStall]         = 16'(ifmap_stall);
    increment[CounterFilterStall]        = 16'(filter_stall);
    increment[CounterDrainBusy]          = 16'(drain_busy);
    increment[CounterDrainStall]         = 16'(drain_stall);
    increment[CounterDmaBusy]            = 16'(dma_busy);
    increment[CounterDmaWait]            = 16'(dma_wait);
    increment[CounterPassWait]           = 16'(pass_wait);
    increment[CounterPeWaitIfmap]        = 16'(waits[0]);
    increment[CounterPeWaitWords]        = 16'(waits[1]);
    increment[CounterPeWaitFilter]       = 16'(waits[2]);
    increment[CounterPeWaitPsum]         = 16'(waits[3]);
    increment[CounterPeIdle]             = 16'(waits[4]);
    increment[CounterPeBehind]           = 16'(behind);
    increment[CounterFilterWait]         = 16'(filter_waits);
    increment[CounterIfmapWait]          = 16'(ifmap_waits);
  end

  `EYRIE_ASSERT(DoneWereOffered, 16'(passes_offered_q - passes_done) < 16'h8000,
      "more passes done than offered")

endmodule
