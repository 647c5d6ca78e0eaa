// SPDX-License-Identifier: Apache-2.0
// The whole machine with a DRAM behind its AXI port.
//
// The bench writes registers through the AXI4-Lite port, reads and writes the DRAM in bulk through
// dram_pointer_o, and waits for interrupt_o. For the report per layer, the counters are noted at the end
// of every pass (`trace`: all counters, then the signature, PE cycles, ofmap bytes); trace_select_i picks
// an entry of pass trace_pass_i. Behind those come the set of counters that activity_monitor counts, and its count of
// counter trace_pass_i.
//
// A pass's signature is the sum, over its ofmap words, of (data ^ address * Spread) * Spread, 64 bits:
// it says at every pass whether what was written is what the golden model writes.
module tb_top
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
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
  parameter int unsigned FILTER_LANES = 1,
  parameter int unsigned PASSES = 8192
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        interrupt_o,
  output logic        pass_done_o,
  output logic [7:0]  activity_delay_o,  // cycles by which the array's counts are late

  input  logic [15:0] latency_i,
  input  logic [7:0]  beats_i,
  input  logic [7:0]  cycles_i,
  input  logic [7:0]  stall_i,
  input  logic [32:0] bytes_i,
  input  logic [1:0]  outside_i,
  input  logic [4:0]  dead_i,
  output logic [63:0] dram_pointer_o,

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

  input  logic [15:0] trace_pass_i,
  input  logic [7:0]  trace_select_i,
  output logic [63:0] trace_o
);

  logic [31:0] axi_araddr, axi_awaddr;
  logic [7:0]  axi_arlen, axi_awlen;
  logic [8*BUS_WORDS-1:0] axi_wstrb;
  logic [2:0]  unused_arsize, unused_awsize;
  logic [1:0]  unused_arburst, unused_awburst, axi_rresp, axi_bresp;
  logic [64*BUS_WORDS-1:0] axi_rdata, axi_wdata;
  logic        axi_arvalid, axi_arready, axi_rlast, axi_rvalid, axi_rready;
  logic        axi_awvalid, axi_awready, axi_wlast, axi_wvalid, axi_wready, axi_bvalid, axi_bready;

  eyrie #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .BUS_WORDS(BUS_WORDS), .FILTER_LANES(FILTER_LANES)
  ) u_eyrie (
    .clk_i, .rst_ni, .interrupt_o,
    .reg_awaddr_i, .reg_awvalid_i, .reg_awready_o, .reg_wdata_i, .reg_wstrb_i, .reg_wvalid_i,
    .reg_wready_o, .reg_bresp_o, .reg_bvalid_o, .reg_bready_i, .reg_araddr_i, .reg_arvalid_i,
    .reg_arready_o, .reg_rdata_o, .reg_rresp_o, .reg_rvalid_o, .reg_rready_i,
    .axi_araddr_o (axi_araddr),
    .axi_arlen_o  (axi_arlen),
    .axi_arsize_o (unused_arsize),
    .axi_arburst_o(unused_arburst),
    .axi_arvalid_o(axi_arvalid),
    .axi_arready_i(axi_arready),
    .axi_rdata_i  (axi_rdata),
    .axi_rresp_i  (axi_rresp),
    .axi_rlast_i  (axi_rlast),
    .axi_rvalid_i (axi_rvalid),
    .axi_rready_o (axi_rready),
    .axi_awaddr_o (axi_awaddr),
    .axi_awlen_o  (axi_awlen),
    .axi_awsize_o (unused_awsize),
    .axi_awburst_o(unused_awburst),
    .axi_awvalid_o(axi_awvalid),
    .axi_awready_i(axi_awready),
    .axi_wdata_o  (axi_wdata),
    .axi_wstrb_o  (axi_wstrb),
    .axi_wlast_o  (axi_wlast),
    .axi_wvalid_o (axi_wvalid),
    .axi_wready_i (axi_wready),
    .axi_bresp_i  (axi_bresp),
    .axi_bvalid_i (axi_bvalid),
    .axi_bready_o (axi_bready)
  );

  axi_dram #(.BUS_WORDS(BUS_WORDS)) u_dram (
    .clk_i, .rst_ni, .latency_i, .beats_i, .cycles_i, .stall_i, .bytes_i, .outside_i, .dead_i,
    .pointer_o    (dram_pointer_o),
    .axi_araddr_i (axi_araddr),
    .axi_arlen_i  (axi_arlen),
    .axi_arvalid_i(axi_arvalid),
    .axi_arready_o(axi_arready),
    .axi_rdata_o  (axi_rdata),
    .axi_rresp_o  (axi_rresp),
    .axi_rlast_o  (axi_rlast),
    .axi_rvalid_o (axi_rvalid),
    .axi_rready_i (axi_rready),
    .axi_awaddr_i (axi_awaddr),
    .axi_awlen_i  (axi_awlen),
    .axi_awvalid_i(axi_awvalid),
    .axi_awready_o(axi_awready),
    .axi_wdata_i  (axi_wdata),
    .axi_wstrb_i  (axi_wstrb),
    .axi_wlast_i  (axi_wlast),
    .axi_wvalid_i (axi_wvalid),
    .axi_wready_o (axi_wready),
    .axi_bresp_o  (axi_bresp),
    .axi_bvalid_o (axi_bvalid),
    .axi_bready_i (axi_bready)
  );

  // ---- Counters at the end of each pass ----

  localparam int unsigned PlaceWidth = $clog2(PASSES);
  localparam logic [63:0] Spread = 64'h9E37_79B9_7F4A_7C15;

  logic [Counters-1:0][63:0] trace [PASSES];
  logic [63:0]      signature_q, signature, signatures [PASSES], chosen_signature;
  logic [31:0]      written_q, written, written_bytes [PASSES];
  logic [15:0]      written_passes_q;
  glb_request_t     write;

  assign write = u_eyrie.u_core.request[StreamOfmap];

  always_comb begin : sign
    logic [63:0] data;
    data = '0;
    for (int b = 0; b < 8; b++) begin
      if (write.strobe[0][b]) data[8*b +: 8] = write.data[0][8*b +: 8];
    end
    signature = signature_q;
    written   = written_q;
    if (u_eyrie.u_core.request_valid[StreamOfmap] &&
        u_eyrie.u_core.request_ready[StreamOfmap]) begin
      signature += (data ^ (64'(write.address) * Spread)) * Spread;
      written   += 32'($countones(write.strobe[0]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!u_eyrie.unit_rst_n) begin
      signature_q      <= '0;
      written_q        <= '0;
      written_passes_q <= '0;
    end else if (u_eyrie.u_core.ofmap_done) begin
      signature_q                                      <= '0;
      written_q                                        <= written;
      written_passes_q                                 <= written_passes_q + 16'd1;
      signatures[written_passes_q[PlaceWidth-1:0]]     <= signature;
      written_bytes[written_passes_q[PlaceWidth-1:0]]  <= written;
    end else begin
      signature_q <= signature;
      written_q   <= written;
    end
  end

  // A counter is some cycles behind what it counts: so is this.
  localparam int unsigned Behind = ActivityDelay + 2;  // the bytes of the GLB are one late, too

  logic [Behind-1:0]      ends_q;
  logic [PlaceWidth-1:0]  passes_seen_q;

  always_ff @(posedge clk_i) begin
    ends_q <= Behind'({ends_q, u_eyrie.pass_status.pass_done});
    if (!u_eyrie.unit_rst_n) begin
      ends_q        <= '0;
      passes_seen_q <= '0;
    end else if (ends_q[Behind-1]) begin
      trace[passes_seen_q] <= u_eyrie.u_register_file.u_counters.counters_q;
      passes_seen_q        <= passes_seen_q + 1'b1;
    end
  end

  // PE cycles by pass. Passes that run at the same time, each in some of the PEs, share the cycles; PEs
  // without a pass count for the latest one that others run, or if there is none for the one to come.
  localparam int unsigned Pes = ROWS * COLS;

  logic [31:0] pe_cycles [PASSES];
  logic [15:0] offered, idle_pass, pes_idle, pes_behind, pes_running;

  // As of the cycle that the array's activity counts are of.
  logic [ActivityDelay:0][15:0] offers;
  logic [ActivityDelay:0]       counting;

  assign counting[0] = u_eyrie.status.counting;
  always_ff @(posedge clk_i) begin
    offers[0] <= u_eyrie.unit_rst_n ? offers[0] + 16'(u_eyrie.pass_control.pass_valid &&
                                                      u_eyrie.pass_status.pass_ready) : '0;
  end
  for (genvar n = 0; n < ActivityDelay; n++) begin : gen_delay
    always_ff @(posedge clk_i) begin
      offers[n+1]   <= offers[n];
      counting[n+1] <= counting[n];
    end
  end

  assign offered    = offers[ActivityDelay];
  assign pes_idle   = u_eyrie.increment[CounterPeIdle];
  assign pes_behind = u_eyrie.increment[CounterPeBehind];
  assign pes_running = 16'(Pes) - pes_idle - pes_behind;  // the pass offered last

  always_comb begin : place_idle
    idle_pass = offered;
    if (pes_running != '0)     idle_pass = offered - 16'd1;
    else if (pes_behind != '0) idle_pass = offered - 16'd2;
  end

  always_ff @(posedge clk_i) begin
    if (!u_eyrie.unit_rst_n) begin
      for (int unsigned n = 0; n < PASSES; n++) pe_cycles[n] <= '0;
    end else if (counting[ActivityDelay]) begin
      pe_cycles[place(idle_pass)] <= pe_cycles[place(idle_pass)] + 32'(pes_idle);
      if (pes_running != '0) begin
        pe_cycles[place(offered - 16'd1)] <= pe_cycles[place(offered - 16'd1)] + 32'(pes_running) +
            ((idle_pass == offered - 16'd1) ? 32'(pes_idle) : '0);
      end
      if (pes_behind != '0) begin
        pe_cycles[place(offered - 16'd2)] <= pe_cycles[place(offered - 16'd2)] + 32'(pes_behind) +
            ((idle_pass == offered - 16'd2) ? 32'(pes_idle) : '0);
      end
    end
  end

  function automatic logic [PlaceWidth-1:0] place(logic [15:0] number);
    return number[PlaceWidth-1:0];
  endfunction

  assign chosen_signature = signatures[trace_pass_i[PlaceWidth-1:0]];

  // ---- Counters of busy, stall and wait cycles, counted again ----

  logic [Counters-1:0]       watched;
  logic [Counters-1:0][63:0] watched_counts;

  activity_monitor u_monitor (
    .clk_i,
    .unit_rst_ni     (u_eyrie.unit_rst_n),
    .status_i        (u_eyrie.status),
    .pass_control_i  (u_eyrie.pass_control),
    .pass_status_i   (u_eyrie.pass_status),
    .macs_i          (u_eyrie.u_register_file.u_counters.counters_q[CounterMacs]),
    .ifmap_valid_i   (u_eyrie.u_core.ifmap.valid),
    .ifmap_ready_i   (u_eyrie.u_core.ifmap_ready),
    .filter_valid_i  (u_eyrie.u_core.filter.valid),
    .filter_ready_i  (u_eyrie.u_core.filter_ready),
    .transfer_valid_i(u_eyrie.u_tiling_controller.transfer_valid),
    .transfer_ready_i(u_eyrie.u_tiling_controller.transfer_ready),
    .transfer_i      (u_eyrie.u_tiling_controller.transfer),
    .transfer_done_i (u_eyrie.tiling.transfer_done),
    .pass_waiting_i  (u_eyrie.u_tiling_controller.u_commands.waits),
    .pass_i          (u_eyrie.u_tiling_controller.u_commands.pass),
    .watched_o       (watched),
    .counts_o        (watched_counts)
  );

  always_comb begin : choose
    unique case (trace_select_i)
      8'(Counters):     trace_o = chosen_signature;
      8'(Counters + 1): trace_o = 64'(pe_cycles[trace_pass_i[PlaceWidth-1:0]]);
      8'(Counters + 2): trace_o = 64'(written_bytes[trace_pass_i[PlaceWidth-1:0]]);
      8'(Counters + 3): trace_o = 64'(watched);
      8'(Counters + 4): trace_o = watched_counts[trace_pass_i[$clog2(Counters)-1:0]];
      default: trace_o = trace[trace_pass_i[PlaceWidth-1:0]][trace_select_i[$clog2(Counters)-1:0]];
    endcase
  end

  assign pass_done_o      = u_eyrie.pass_status.pass_done;
  assign activity_delay_o = 8'(ActivityDelay);

endmodule
