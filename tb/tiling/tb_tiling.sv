// SPDX-License-Identifier: Apache-2.0
// Tiling controller and register file with a DRAM and a stand-in for the GLB that the test bench
// shares, and with the pass side as ports.
//
// glb_stall_i: chance / 256 that the GLB holds a request back. The window is checked here, apart
// from the design: no burst may leave it.
module tb_tiling
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter longint DRAM_BYTES = 1 << 20,
  parameter int unsigned GLB_WORDS = 8192
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

  output logic        config_valid_o,
  input  logic        config_ready_i,
  output logic [6:0]  config_index_o,
  output logic [63:0] config_data_o,
  output logic        pass_valid_o,
  input  logic        pass_ready_i,
  output logic [15:0] pass_wait_passes_o,
  input  logic        pass_done_i,
  input  logic        chunk_freed_i,
  input  logic        glb_error_i,
  output logic [15:0] passes_done_o,
  output logic [15:0] chunks_loaded_o,
  output logic        transfer_done_o,

  input  logic [15:0] latency_i,
  input  logic [7:0]  beats_i,
  input  logic [7:0]  cycles_i,
  input  logic [7:0]  stall_i,
  input  logic [7:0]  glb_stall_i,
  output logic [63:0] dram_pointer_o,
  output logic [63:0] glb_pointer_o,
  output logic        unit_rst_no,
  output logic [31:0] cycle_o,
  output logic [31:0] bursts_o,      // issued since the reset
  output logic [31:0] first_beat_o,  // cycles of the first and of the last LOAD word in the GLB
  output logic [31:0] last_beat_o
);

  import "DPI-C" function longint dram_new(input longint bytes);
  import "DPI-C" function longint dram_read(input longint base, input int word);
  import "DPI-C" function void dram_write(input longint base, input int word, input longint data,
                                          input int strobe);

  logic         start, soft_reset, clear, busy, done, error;
  error_code_e  error_code;
  logic [31:0]  error_address, program_base, window_base, window_limit, watchdog_limit;
  logic         read_beat, write_beat, command_beat, dma_busy, dma_wait, pass_wait;
  logic [Counters-1:0][15:0] increment;

  logic [31:0] araddr, awaddr;
  logic [7:0]  arlen, awlen;
  logic [2:0]  arsize, awsize;
  logic [1:0]  arburst, awburst, rresp, bresp;
  logic        arvalid, arready, rlast, rvalid, rready, awvalid, awready, wlast, wvalid, wready;
  logic        bvalid, bready;
  logic [63:0] rdata, wdata;
  logic [7:0]  wstrb;

  logic         load_valid, load_ready, store_valid, store_ready, store_read_valid;
  glb_request_t load_request, store_request;
  glb_word_t    store_read_data;

  tiling_controller #(.GLB_WORDS(GLB_WORDS)) u_dut (
    .clk_i, .rst_ni, .unit_rst_no,
    .start_i(start),
    .soft_reset_i(soft_reset),
    .program_base_i(program_base),
    .window_base_i(window_base),
    .window_limit_i(window_limit),
    .watchdog_limit_i(watchdog_limit),
    .clear_o(clear),
    .busy_o(busy),
    .done_o(done),
    .error_o(error),
    .error_code_o(error_code),
    .error_address_o(error_address),
    .config_valid_o, .config_ready_i, .config_index_o, .config_data_o,
    .pass_valid_o, .pass_ready_i, .pass_wait_passes_o, .pass_done_i, .chunk_freed_i,
    .passes_done_o, .chunks_loaded_o,
    .progress_i(1'b0),
    .glb_error_i,
    .load_valid_o(load_valid),
    .load_ready_i(load_ready),
    .load_request_o(load_request),
    .store_valid_o(store_valid),
    .store_ready_i(store_ready),
    .store_request_o(store_request),
    .store_read_valid_i(store_read_valid),
    .store_read_data_i({glb_word_t'(0), store_read_data}),
    .transfer_done_o,
    .read_beat_o(read_beat),
    .write_beat_o(write_beat),
    .command_beat_o(command_beat),
    .dma_busy_o(dma_busy),
    .dma_wait_o(dma_wait),
    .pass_wait_o(pass_wait),
    .axi_araddr_o(araddr), .axi_arlen_o(arlen), .axi_arsize_o(arsize), .axi_arburst_o(arburst),
    .axi_arvalid_o(arvalid), .axi_arready_i(arready), .axi_rdata_i(rdata), .axi_rresp_i(rresp),
    .axi_rlast_i(rlast), .axi_rvalid_i(rvalid), .axi_rready_o(rready),
    .axi_awaddr_o(awaddr), .axi_awlen_o(awlen), .axi_awsize_o(awsize), .axi_awburst_o(awburst),
    .axi_awvalid_o(awvalid), .axi_awready_i(awready), .axi_wdata_o(wdata), .axi_wstrb_o(wstrb),
    .axi_wlast_o(wlast), .axi_wvalid_o(wvalid), .axi_wready_i(wready), .axi_bresp_i(bresp),
    .axi_bvalid_i(bvalid), .axi_bready_o(bready)
  );

  always_comb begin
    increment = '0;
    increment[CounterCycles]         = 16'(busy);
    increment[CounterPasses]         = 16'(pass_done_i);
    increment[CounterTransfers]      = 16'(transfer_done_o);
    increment[CounterDramReadBytes]  = read_beat ? 16'd8 : 16'd0;
    increment[CounterDramWriteBytes] = write_beat ? 16'd8 : 16'd0;
    increment[CounterCommandBytes]   = command_beat ? 16'd8 : 16'd0;
    increment[CounterDmaBusy]        = 16'(dma_busy);
    increment[CounterDmaWait]        = 16'(dma_wait);
    increment[CounterPassWait]       = 16'(pass_wait);
  end

  register_file u_registers (
    .clk_i, .rst_ni,
    .axi_awaddr_i(reg_awaddr_i), .axi_awvalid_i(reg_awvalid_i), .axi_awready_o(reg_awready_o),
    .axi_wdata_i(reg_wdata_i), .axi_wstrb_i(reg_wstrb_i), .axi_wvalid_i(reg_wvalid_i),
    .axi_wready_o(reg_wready_o), .axi_bresp_o(reg_bresp_o), .axi_bvalid_o(reg_bvalid_o),
    .axi_bready_i(reg_bready_i), .axi_araddr_i(reg_araddr_i), .axi_arvalid_i(reg_arvalid_i),
    .axi_arready_o(reg_arready_o), .axi_rdata_o(reg_rdata_o), .axi_rresp_o(reg_rresp_o),
    .axi_rvalid_o(reg_rvalid_o), .axi_rready_i(reg_rready_i),
    .interrupt_o,
    .start_o(start),
    .soft_reset_o(soft_reset),
    .program_base_o(program_base),
    .window_base_o(window_base),
    .window_limit_o(window_limit),
    .watchdog_limit_o(watchdog_limit),
    .clear_i(clear),
    .busy_i(busy),
    .done_i(done),
    .error_i(error),
    .error_code_i(error_code),
    .error_address_i(error_address),
    .increment_i(increment)
  );

  axi_dram #(.BYTES(DRAM_BYTES)) u_dram (
    .clk_i, .rst_ni, .latency_i, .beats_i, .cycles_i, .stall_i,
    .pointer_o(dram_pointer_o),
    .axi_araddr_i(araddr), .axi_arlen_i(arlen), .axi_arvalid_i(arvalid), .axi_arready_o(arready),
    .axi_rdata_o(rdata), .axi_rresp_o(rresp), .axi_rlast_o(rlast), .axi_rvalid_o(rvalid),
    .axi_rready_i(rready), .axi_awaddr_i(awaddr), .axi_awlen_i(awlen), .axi_awvalid_i(awvalid),
    .axi_awready_o(awready), .axi_wdata_i(wdata), .axi_wstrb_i(wstrb), .axi_wlast_i(wlast),
    .axi_wvalid_i(wvalid), .axi_wready_o(wready), .axi_bresp_o(bresp), .axi_bvalid_o(bvalid),
    .axi_bready_i(bready)
  );

  // The stand-in for the GLB
  longint glb_memory;
  initial glb_memory = dram_new(longint'(GLB_WORDS) * 8);
  assign glb_pointer_o = glb_memory;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_ready       <= 1'b0;
      store_ready      <= 1'b0;
      store_read_valid <= 1'b0;
      store_read_data  <= '0;
      cycle_o          <= '0;
      bursts_o         <= '0;
      first_beat_o     <= '0;
      last_beat_o      <= '0;
    end else begin
      load_ready       <= 8'($urandom) >= glb_stall_i;
      store_ready      <= 8'($urandom) >= glb_stall_i;
      store_read_valid <= store_valid && store_ready;
      cycle_o          <= cycle_o + 32'd1;
      bursts_o         <= bursts_o + 32'(arvalid && arready) + 32'(awvalid && awready);
      if (load_valid && load_ready) begin
        dram_write(glb_memory, 32'(load_request.address), load_request.data[0],
                   32'(load_request.strobe[0]));
        last_beat_o <= cycle_o;
        if (first_beat_o == '0) first_beat_o <= cycle_o;
      end
      if (store_valid && store_ready) begin
        store_read_data <= dram_read(glb_memory, 32'(store_request.address));
      end
      if (clear) first_beat_o <= '0;
    end
  end

  ReadInWindow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      arvalid |-> araddr >= window_base && araddr[2:0] == '0
                  && 33'(araddr) + 33'(arlen) * 8 + 8 <= 33'(window_limit))
    else $error("a read burst at %h leaves the window", araddr);
  WriteInWindow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      awvalid |-> awaddr >= window_base && awaddr[2:0] == '0
                  && 33'(awaddr) + 33'(awlen) * 8 + 8 <= 33'(window_limit))
    else $error("a write burst at %h leaves the window", awaddr);
  LoadInGlb: assert property (@(posedge clk_i) disable iff (!rst_ni)
      load_valid |-> load_request.write && 32'(load_request.address) < GLB_WORDS)
    else $error("a LOAD leaves the GLB");
  StoreInGlb: assert property (@(posedge clk_i) disable iff (!rst_ni)
      store_valid |-> !store_request.write && 32'(store_request.address) < GLB_WORDS)
    else $error("a STORE leaves the GLB");
  WholeWords: assert property (@(posedge clk_i) disable iff (!rst_ni)
      arvalid |-> arsize == 3'd3 && arburst == 2'b01) else $error("not bursts of 64-bit words");
  WholeWritten: assert property (@(posedge clk_i) disable iff (!rst_ni)
      awvalid |-> awsize == 3'd3 && awburst == 2'b01) else $error("not bursts of 64-bit words");

endmodule
