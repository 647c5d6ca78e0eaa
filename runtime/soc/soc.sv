// SPDX-License-Identifier: Apache-2.0
// The accelerator with a DRAM at its AXI port.
//
// A testbench writes registers through the AXI4-Lite port, accesses the DRAM in bulk through dram_pointer_o and waits
// for interrupt_o. `trace` stores the counters at the end of every pass for the report per layer: all counters, the
// signature, PE cycles and ofmap bytes. trace_select_i selects an entry of pass trace_pass_i. Two more entries
// follow: the set of counters that activity_monitor counts, and its count of counter trace_pass_i.
//
// flip_i inverts AXI-Lite and AXI inputs bit by bit, and outputs_o has all outputs of the accelerator. A testbench
// flips an input within a cycle and checks that no output follows.
//
// The signature of a pass is the 64-bit sum, over its ofmap words, of (data ^ address * Spread) * Spread. It shows at
// every pass whether the written words equal those of the golden model.
module soc
  import bus_pkg::*;
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,
  parameter int unsigned COLS = 8,
  parameter int unsigned MULTIPLIERS = 4,
  parameter int unsigned GLB_BANKS = 8,
  parameter int unsigned GLB_BANK_WORDS = 1024,
  parameter int unsigned IFMAP_WORDS = 15,
  parameter int unsigned FILTER_WORDS = 24,
  parameter int unsigned PIXEL_WORDS = 14,
  parameter int unsigned PSUM_WORDS = 128,
  parameter int unsigned WORD_BUFFER_WORDS = 256,
  parameter int unsigned BUS_WORDS = 1,
  parameter int unsigned FILTER_LANES = 1,
  parameter int unsigned WEIGHT_CODES = 0,
  parameter int unsigned READ_BEATS = 256,
  parameter int unsigned PASSES = 8192
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        interrupt_o,
  output logic        pass_done_o,
  output logic [7:0]  activity_delay_o,  // delay of the array's counts in cycles

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

  input  logic [202:0] flip_i,
  output logic [511:0] outputs_o,

  input  logic [15:0] trace_pass_i,
  input  logic [7:0]  trace_select_i,
  output logic [63:0] trace_o
);

  // ---- Pins ----

  localparam int unsigned LiteInputs = 65;  // width in bits

  logic [11:0]   awaddr, araddr;
  logic [31:0]   wdata;
  logic [3:0]    wstrb;
  logic          awvalid, wvalid, bready, arvalid, rready;
  logic [2:0]    arsize, awsize;
  logic [1:0]    arburst, awburst;
  axi_request_t  axi_request;
  axi_response_t axi_response, axi;

  assign {awaddr, awvalid, wdata, wstrb, wvalid, bready, araddr, arvalid, rready} = flip_i[LiteInputs-1:0] ^
         {reg_awaddr_i, reg_awvalid_i, reg_wdata_i, reg_wstrb_i, reg_wvalid_i, reg_bready_i,
          reg_araddr_i, reg_arvalid_i, reg_rready_i};
  assign axi = axi_response ^ flip_i[LiteInputs +: $bits(axi_response_t)];

  if (BUS_WORDS < MaxBusWords) begin : gen_unused_words
    assign axi_request.w_data[MaxBusWords-1:BUS_WORDS]   = '0;
    assign axi_request.w_strobe[MaxBusWords-1:BUS_WORDS] = '0;
  end

  eyrie #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .BUS_WORDS(BUS_WORDS), .FILTER_LANES(FILTER_LANES), .WEIGHT_CODES(WEIGHT_CODES),
    .READ_BEATS(READ_BEATS)
  ) u_eyrie (
    .clk_i, .rst_ni, .interrupt_o,
    .reg_awaddr_i (awaddr),
    .reg_awvalid_i(awvalid),
    .reg_awready_o,
    .reg_wdata_i  (wdata),
    .reg_wstrb_i  (wstrb),
    .reg_wvalid_i (wvalid),
    .reg_wready_o, .reg_bresp_o, .reg_bvalid_o,
    .reg_bready_i (bready),
    .reg_araddr_i (araddr),
    .reg_arvalid_i(arvalid),
    .reg_arready_o, .reg_rdata_o, .reg_rresp_o, .reg_rvalid_o,
    .reg_rready_i (rready),
    .axi_araddr_o (axi_request.ar.address),
    .axi_arlen_o  (axi_request.ar.length),
    .axi_arsize_o (arsize),
    .axi_arburst_o(arburst),
    .axi_arvalid_o(axi_request.ar.valid),
    .axi_arready_i(axi.ar_ready),
    .axi_rdata_i  (axi.r_data[BUS_WORDS-1:0]),
    .axi_rresp_i  (axi.r_response),
    .axi_rlast_i  (axi.r_last),
    .axi_rvalid_i (axi.r_valid),
    .axi_rready_o (axi_request.r_ready),
    .axi_awaddr_o (axi_request.aw.address),
    .axi_awlen_o  (axi_request.aw.length),
    .axi_awsize_o (awsize),
    .axi_awburst_o(awburst),
    .axi_awvalid_o(axi_request.aw.valid),
    .axi_awready_i(axi.aw_ready),
    .axi_wdata_o  (axi_request.w_data[BUS_WORDS-1:0]),
    .axi_wstrb_o  (axi_request.w_strobe[BUS_WORDS-1:0]),
    .axi_wlast_o  (axi_request.w_last),
    .axi_wvalid_o (axi_request.w_valid),
    .axi_wready_i (axi.w_ready),
    .axi_bresp_i  (axi.b_response),
    .axi_bvalid_i (axi.b_valid),
    .axi_bready_o (axi_request.b_ready)
  );

  axi_dram #(.BUS_WORDS(BUS_WORDS)) u_dram (
    .clk_i, .rst_ni, .latency_i, .beats_i, .cycles_i, .stall_i, .bytes_i, .outside_i, .dead_i,
    .pointer_o(dram_pointer_o),
    .axi_i    (axi_request),
    .axi_o    (axi_response)
  );

  assign outputs_o = 512'({interrupt_o, reg_awready_o, reg_wready_o, reg_bresp_o, reg_bvalid_o, reg_arready_o,
                           reg_rdata_o, reg_rresp_o, reg_rvalid_o, axi_request, arsize, arburst, awsize, awburst});

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
    signature = signature_q;
    written   = written_q;
    for (int lane = 0; lane < 2; lane++) begin
      data = '0;
      for (int b = 0; b < 8; b++) begin
        if (write.strobe[lane][b]) data[8*b +: 8] = write.data[lane][8*b +: 8];
      end
      if (u_eyrie.u_core.request_valid[StreamOfmap] &&
          u_eyrie.u_core.request_ready[StreamOfmap] && write.strobe[lane] != '0) begin
        signature += (data ^ (64'(write.address + 16'(lane)) * Spread)) * Spread;
        written   += 32'($countones(write.strobe[lane]));
      end
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

  // The end of a pass is delayed like the counters.
  localparam int unsigned Behind = ActivityDelay + 2;  // GLB bytes have the same delay

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

  // PE cycles by pass. Passes that run at the same time share the cycles of the PEs. Idle PEs count for the latest
  // pass that other PEs run, or for the next pass if all are idle.
  localparam int unsigned Pes = ROWS * COLS;

  logic [31:0] pe_cycles [PASSES];
  logic [15:0] requests, idle_pass, pes_idle, pes_behind, pes_running;

  always_ff @(posedge clk_i) begin
    requests <= u_eyrie.unit_rst_n ? requests + 16'(u_eyrie.pass_control.pass_valid &&
                                                    u_eyrie.pass_status.pass_ready) : '0;
  end

  // Delayed to the cycle of the array's activity
  logic [15:0] requested;
  logic        counting;

  delay_line #(.WIDTH(17), .CYCLES(ActivityDelay)) u_delay (
    .clk_i, .rst_ni,
    .value_i({requests, u_eyrie.status.counting}),
    .late_o ({requested, counting})
  );

  assign pes_idle   = u_eyrie.increment[CounterPeIdle];
  assign pes_behind = u_eyrie.increment[CounterPeBehind];
  assign pes_running = 16'(Pes) - pes_idle - pes_behind;  // the pass requested last

  always_comb begin : place_idle
    idle_pass = requested;
    if (pes_running != '0)     idle_pass = requested - 16'd1;
    else if (pes_behind != '0) idle_pass = requested - 16'd2;
  end

  always_ff @(posedge clk_i) begin
    if (!u_eyrie.unit_rst_n) begin
      for (int unsigned n = 0; n < PASSES; n++) pe_cycles[n] <= '0;
    end else if (counting) begin
      pe_cycles[place(idle_pass)] <= pe_cycles[place(idle_pass)] + 32'(pes_idle);
      if (pes_running != '0) begin
        pe_cycles[place(requested - 16'd1)] <= pe_cycles[place(requested - 16'd1)] + 32'(pes_running) +
            ((idle_pass == requested - 16'd1) ? 32'(pes_idle) : '0);
      end
      if (pes_behind != '0) begin
        pe_cycles[place(requested - 16'd2)] <= pe_cycles[place(requested - 16'd2)] + 32'(pes_behind) +
            ((idle_pass == requested - 16'd2) ? 32'(pes_idle) : '0);
      end
    end
  end

  function automatic logic [PlaceWidth-1:0] place(logic [15:0] number);
    return number[PlaceWidth-1:0];
  endfunction

  assign chosen_signature = signatures[trace_pass_i[PlaceWidth-1:0]];

  // ---- Second count of busy, stall and wait cycles ----

  logic [Counters-1:0]       watched;
  logic [Counters-1:0][63:0] watched_counts;

  activity_monitor #(.ROWS(ROWS), .COLS(COLS)) u_monitor (
    .clk_i, .rst_ni,
    .unit_rst_ni     (u_eyrie.unit_rst_n),
    .status_i        (u_eyrie.status),
    .pass_control_i  (u_eyrie.pass_control),
    .pass_status_i   (u_eyrie.pass_status),
    .macs_i          (u_eyrie.u_register_file.u_counters.counters_q[CounterMacs]),
    .pe_activity_i   (u_eyrie.u_core.u_pe_array.activity),
    .ifmap_valid_i   (u_eyrie.u_core.ifmap.valid || u_eyrie.u_core.words.valid),
    .ifmap_ready_i   (u_eyrie.u_core.words.valid ? u_eyrie.u_core.words_ready : u_eyrie.u_core.ifmap_ready),
    .elementwise_i   (u_eyrie.activity.elementwise),
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

  // ---- Events, for a trace ----

  logic command_valid, command_first, ofmap_busy;  // of the decoder and the ofmap stream

  // The first word of a command has the command's address.
  always_comb begin : watch_units
    logic at_first;
    at_first      = u_eyrie.u_tiling_controller.command == u_eyrie.u_tiling_controller.u_commands.word_address;
    command_first = at_first && u_eyrie.u_tiling_controller.u_commands.word_valid;
    command_valid = (command_first || !at_first) && !u_eyrie.u_tiling_controller.u_commands.ended;
    ofmap_busy    = u_eyrie.u_core.u_stream_set.gen_stream[StreamOfmap].gen_write.u_stream.running;
  end

  event_recorder #(.ROWS(ROWS), .COLS(COLS)) u_recorder (
    .clk_i, .rst_ni,
    .counting_i       (u_eyrie.status.counting),
    .increment_i      (u_eyrie.increment),
    .late_i           (u_eyrie.ArrayCounters),
    .pe_activity_i    (u_eyrie.u_core.u_pe_array.activity),
    .stream_busy_i    (u_eyrie.u_core.u_stream_set.busy | Streams'(ofmap_busy) << StreamOfmap),
    .command_valid_i  (command_valid),
    .command_first_i  (command_first),
    .command_i        (u_eyrie.u_tiling_controller.command),
    .opcode_i         (u_eyrie.u_tiling_controller.u_commands.u_decoder.opcode),
    .pass_begins_i    (u_eyrie.pass_control.pass_valid && u_eyrie.pass_status.pass_ready),
    .pass_ends_i      (u_eyrie.pass_status.pass_done),
    .transfer_begins_i(u_eyrie.u_tiling_controller.transfer_valid && u_eyrie.u_tiling_controller.transfer_ready),
    .transfer_i       (u_eyrie.u_tiling_controller.transfer.command),
    .is_store_i       (u_eyrie.u_tiling_controller.transfer.store),
    .transfer_ends_i  (u_eyrie.tiling.transfer_done),
    .read_issue_i     (u_eyrie.u_tiling_controller.u_reader.issue),
    .read_load_i      (u_eyrie.u_tiling_controller.u_reader.issuer != '0),
    .read_address_i   (u_eyrie.u_tiling_controller.u_reader.ar_d.address),
    .read_beat_i      (u_eyrie.tiling.read_beat),
    .read_last_i      (axi.r_last),
    .write_issue_i    (u_eyrie.u_tiling_controller.u_writer.issue),
    .write_address_i  (u_eyrie.u_tiling_controller.u_writer.burst_address),
    .write_beat_i     (u_eyrie.tiling.write_beat),
    .write_last_i     (axi_request.w_last)
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
