// SPDX-License-Identifier: Apache-2.0
// Tiling controller and register file with a DRAM and a stand-in for the GLB that the test bench
// shares, and with the pass side as ports.
//
// glb_stall_i: chance / 256 that the GLB holds a request back. The window is checked here, apart
// from the design: no burst may leave it.
module tb_tiling
  import bus_pkg::*;
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned GLB_WORDS = 8192,
  parameter int unsigned WEIGHT_CODES = 0
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
  output config_index_t config_index_o,
  output logic [63:0] config_data_o,
  output logic        pass_valid_o,
  input  logic        pass_ready_i,
  output count_t      pass_wait_passes_o,
  input  logic        pass_done_i,
  input  logic        chunk_freed_i,
  input  logic        wants_chunk_i,
  input  logic        glb_error_i,
  output count_t      passes_done_o,
  output count_t      chunks_loaded_o,
  output logic        transfer_done_o,

  input  logic        auto_i,         // passes and chunks are auto_passes' business, not the ports'
  output logic [31:0] auto_passes_o,
  output logic [31:0] auto_chunks_o,
  output logic [31:0] auto_errors_o,

  input  logic [15:0] latency_i,
  input  logic [7:0]  beats_i,
  input  logic [7:0]  cycles_i,
  input  logic [7:0]  stall_i,
  input  logic [32:0] bytes_i,
  input  logic [1:0]  outside_i,
  input  logic [4:0]  dead_i,
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

  accelerator_control_t control;
  accelerator_status_t  status;
  pass_control_t        pass_control;
  pass_status_t         pass_status;
  tiling_pkg::tiling_activity_t activity;
  axi_request_t     axi_request;
  axi_response_t    axi_response;

  logic [Counters-1:0][15:0] increment;

  logic         load_valid, load_ready, store_valid, store_ready, store_read_valid;
  glb_request_t load_request, store_request;
  glb_word_t    store_read_data;

  tiling_controller #(.GLB_WORDS(GLB_WORDS), .WEIGHT_CODES(WEIGHT_CODES)) u_dut (
    .clk_i, .rst_ni, .unit_rst_no,
    .control_i(control),
    .status_o(status),
    .pass_o(pass_control),
    .pass_i(pass_status),
    .request_valid_o({load_valid, store_valid}),
    .request_ready_i({load_ready, store_ready}),
    .request_o({load_request, store_request}),
    .store_read_valid_i(store_read_valid),
    .store_read_data_i({glb_word_t'(0), store_read_data}),
    .activity_o(activity),
    .axi_o(axi_request),
    .axi_i(axi_response)
  );

  assign config_valid_o     = pass_control.config_valid;
  assign config_index_o     = pass_control.config_index;
  assign config_data_o      = pass_control.config_data;
  assign pass_valid_o       = pass_control.pass_valid;
  assign pass_wait_passes_o = pass_control.wait_passes;
  assign passes_done_o      = pass_control.passes_done;
  assign chunks_loaded_o    = pass_control.chunks_loaded;
  assign transfer_done_o    = activity.transfer_done;
  assign pass_status        = '{
    config_ready: config_ready_i,
    pass_ready:   auto_i ? auto_ready : pass_ready_i,
    pass_done:    auto_i ? auto_done : pass_done_i,
    chunk_freed:  auto_i ? auto_freed : chunk_freed_i,
    wants_chunk:  wants_chunk_i,
    progress:     1'b0,
    glb_error:    glb_error_i,
    illegal_pass: 1'b0, // the net benches have such passes
    overrun:      1'b0,
    reading:      1'b0
  };

  always_comb begin
    increment = '0;
    increment[CounterCycles]         = 16'd1;
    increment[CounterPasses]         = 16'(pass_status.pass_done);
    increment[CounterTransfers]      = 16'(activity.transfer_done);
    increment[CounterDramReadBytes]  = activity.read_beat ? 16'd8 : 16'd0;
    increment[CounterDramWriteBytes] = activity.write_beat ? 16'd8 : 16'd0;
    increment[CounterCommandBytes]   = activity.command_beat ? 16'd8 : 16'd0;
    increment[CounterDmaBusy]        = 16'(activity.dma_busy);
    increment[CounterDmaWait]        = 16'(activity.dma_wait);
    increment[CounterPassWait]       = 16'(activity.pass_wait);
  end

  register_file u_registers (
    .clk_i, .rst_ni, .interrupt_o,
    .reg_awaddr_i, .reg_awvalid_i, .reg_awready_o, .reg_wdata_i, .reg_wstrb_i, .reg_wvalid_i,
    .reg_wready_o, .reg_bresp_o, .reg_bvalid_o, .reg_bready_i, .reg_araddr_i, .reg_arvalid_i,
    .reg_arready_o, .reg_rdata_o, .reg_rresp_o, .reg_rvalid_o, .reg_rready_i,
    .control_o(control),
    .status_i(status),
    .increment_i(increment)
  );

  axi_dram u_dram (
    .clk_i, .rst_ni, .latency_i, .beats_i, .cycles_i, .stall_i, .bytes_i, .outside_i, .dead_i,
    .pointer_o(dram_pointer_o),
    .axi_i(axi_request),
    .axi_o(axi_response)
  );

  logic auto_ready, auto_done, auto_freed;

  auto_passes u_passes (
    .clk_i,
    .rst_ni   (unit_rst_no),
    .enable_i (auto_i),
    .glb_i    (glb_memory),
    .control_i(pass_control),
    .ready_o  (auto_ready),
    .done_o   (auto_done),
    .freed_o  (auto_freed),
    .passes_o (auto_passes_o),
    .chunks_o (auto_chunks_o),
    .errors_o (auto_errors_o)
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
      bursts_o         <= bursts_o + 32'(axi_request.ar.valid && axi_response.ar_ready)
                          + 32'(axi_request.aw.valid && axi_response.aw_ready);
      if (load_valid && load_ready) begin
        for (int unsigned lane = 0; lane < 2; lane++) begin
          if (load_request.strobe[lane] != '0) begin
            dram_write(glb_memory, 32'(load_request.address) + lane, load_request.data[lane],
                       32'(load_request.strobe[lane]));
          end
        end
        last_beat_o <= cycle_o;
        if (first_beat_o == '0) first_beat_o <= cycle_o;
      end
      if (store_valid && store_ready) begin
        store_read_data <= dram_read(glb_memory, 32'(store_request.address));
      end
      if (status.clear) first_beat_o <= '0;
    end
  end

  function automatic logic in_window(axi_address_t burst);
    return burst.address >= control.window_base && burst.address[2:0] == '0
           && 33'(burst.address) + 33'(burst.length) * 8 + 8 <= 33'(control.window_limit);
  endfunction

  ReadInWindow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_request.ar.valid |-> in_window(axi_request.ar))
    else $error("a read burst at %h leaves the window", axi_request.ar.address);
  WriteInWindow: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_request.aw.valid |-> in_window(axi_request.aw))
    else $error("a write burst at %h leaves the window", axi_request.aw.address);
  LoadInGlb: assert property (@(posedge clk_i) disable iff (!rst_ni)
      load_valid |-> 32'(load_request.address) < GLB_WORDS)
    else $error("a LOAD leaves the GLB");
  StoreInGlb: assert property (@(posedge clk_i) disable iff (!rst_ni)
      store_valid |-> 32'(store_request.address) < GLB_WORDS)
    else $error("a STORE leaves the GLB");

endmodule
