// SPDX-License-Identifier: Apache-2.0
// The tiling controller runs a command list. The command processor fetches it and keeps the order
// that wait counts demand; the DMA executes LOADs and STOREs; the core, outside of this module,
// runs passes. The tiling controller owns the AXI master.
//
// unit_rst_no resets all other units of the accelerator (run_control). status_o.clear pulses when a
// run begins. pass_i.glb_error is an access of a stream beyond the GLB, and pass_i.overrun a stream
// with more words than its pass uses. Both stop the accelerator with the address of the last PASS
// started.

`include "assertions.svh"

module tiling_controller
  import bus_pkg::*;
  import encoding_pkg::*;
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned GLB_WORDS = 8192,  // 64-bit words in the GLB
  parameter int unsigned BUS_WORDS = 1,     // 64-bit words per AXI beat: 1 or 2
  parameter int unsigned WEIGHT_CODES = 0,  // decoders of coded weights: 0 or 1
  parameter int unsigned READ_BEATS = 256   // beats under way above which no load requests more
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  output logic                    unit_rst_no,

  input  accelerator_control_t    control_i,
  output accelerator_status_t     status_o,
  output pass_control_t           pass_o,
  input  pass_status_t            pass_i,

  // GLB clients: STOREs, LOADs
  output logic         [1:0]      request_valid_o,
  input  logic         [1:0]      request_ready_i,
  output glb_request_t [1:0]      request_o,
  input  logic                    store_read_valid_i,
  input  glb_word_t    [1:0]      store_read_data_i,

  output tiling_activity_t        activity_o,
  output axi_request_t            axi_o,
  input  axi_response_t           axi_i
);

  // Requesters of the reader. Commands have priority, since a late command can stall all units.
  localparam int unsigned ReadCommands = 0;
  localparam int unsigned ReadLoads = 1;

  logic unit_rst_n, run, halt, watch;
  assign unit_rst_no = unit_rst_n;

  // ---- Commands ----

  logic [1:0]                 read_valid, read_ready, read_legal, data_valid, data_ready;
  logic [1:0][31:0]           read_address;
  logic [1:0][15:0]           read_words;
  logic [BUS_WORDS-1:0][63:0] data;
  logic                       data_error, transfer_valid, transfer_ready, chunk_loaded;
  logic                       commands_done, commands_moved;
  transfer_t                  transfer;
  count_t                     chunks_freed;
  logic [31:0]                command, pass_command;
  pending_t                   pass_pending, transfer_pending;
  fault_t                     command_fault, dma_fault, stream_fault, pass_fault, watchdog_fault;
  fault_t                     fault;

  command_processor #(.BUS_WORDS(BUS_WORDS), .WEIGHT_CODES(WEIGHT_CODES)) u_commands (
    .clk_i,
    .rst_ni          (unit_rst_n),
    .run_i           (run),
    .program_base_i  (control_i.program_base),
    .window_limit_i  (control_i.window_limit),
    .read_valid_o    (read_valid[ReadCommands]),
    .read_ready_i    (read_ready[ReadCommands]),
    .read_legal_i    (read_legal[ReadCommands]),
    .read_address_o  (read_address[ReadCommands]),
    .read_words_o    (read_words[ReadCommands]),
    .data_valid_i    (data_valid[ReadCommands]),
    .data_ready_o    (data_ready[ReadCommands]),
    .data_i          (data),
    .data_error_i    (data_error),
    .transfer_valid_o(transfer_valid),
    .transfer_ready_i(transfer_ready),
    .transfer_o      (transfer),
    .transfer_done_i (activity_o.transfer_done),
    .chunk_loaded_i  (chunk_loaded),
    .chunks_freed_o  (chunks_freed),
    .pass_o, .pass_i,
    .done_o          (commands_done),
    .moved_o         (commands_moved),
    .pass_wait_o     (activity_o.pass_wait),
    .pending_o       (pass_pending),
    .command_o       (command),
    .pass_command_o  (pass_command),
    .pass_fault_o    (pass_fault),
    .fault_o         (command_fault)
  );

  // ---- Transfers ----

  logic        write_valid, write_ready, write_legal;
  logic        write_data_valid, write_data_ready, response_valid, response_error;
  logic        write_tag, response_tag;
  logic [BUS_WORDS-1:0][63:0] write_data;
  logic [31:0] dram_address;
  logic [15:0] dram_words;

  dma #(.GLB_WORDS(GLB_WORDS), .BUS_WORDS(BUS_WORDS), .WEIGHT_CODES(WEIGHT_CODES)) u_dma (
    .clk_i,
    .rst_ni            (unit_rst_n),
    .halt_i            (halt),
    .transfer_valid_i  (transfer_valid),
    .transfer_ready_o  (transfer_ready),
    .transfer_i        (transfer),
    .passes_done_i     (pass_o.passes_done),
    .chunks_freed_i    (chunks_freed),
    .read_valid_o      (read_valid[ReadLoads]),
    .read_ready_i      (read_ready[ReadLoads]),
    .read_legal_i      (read_legal[ReadLoads]),
    .read_data_valid_i (data_valid[ReadLoads]),
    .read_data_ready_o (data_ready[ReadLoads]),
    .read_data_i       (data),
    .read_error_i      (data_error),
    .write_valid_o     (write_valid),
    .write_ready_i     (write_ready),
    .write_legal_i     (write_legal),
    .write_tag_o       (write_tag),
    .write_data_valid_o(write_data_valid),
    .write_data_ready_i(write_data_ready),
    .write_data_o      (write_data),
    .response_valid_i  (response_valid),
    .response_error_i  (response_error),
    .response_tag_i    (response_tag),
    .dram_address_o    (dram_address),
    .dram_words_o      (dram_words),
    .request_valid_o, .request_ready_i, .request_o, .store_read_valid_i, .store_read_data_i,
    .transfer_done_o   (activity_o.transfer_done),
    .decoded_words_o   (activity_o.decoded_words),
    .chunk_loaded_o    (chunk_loaded),
    .waiting_o         (activity_o.dma_wait),
    .busy_o            (activity_o.dma_busy),
    .pending_o         (transfer_pending),
    .fault_o           (dma_fault)
  );

  assign read_address[ReadLoads] = dram_address;
  assign read_words[ReadLoads]   = dram_words;

  // ---- AXI ----

  logic       reader_idle, writer_idle;
  logic [1:0] beats;

  axi_reader #(.BUS_WORDS(BUS_WORDS), .REQUESTERS(2), .BEATS(READ_BEATS)) u_reader (
    .clk_i,
    .rst_ni           (unit_rst_n),
    .halt_i           (halt),
    .idle_o           (reader_idle),
    .window_base_i    (control_i.window_base),
    .window_limit_i   (control_i.window_limit),
    .request_valid_i  (read_valid),
    .request_ready_o  (read_ready),
    .request_legal_o  (read_legal),
    .request_address_i(read_address),
    .request_words_i  (read_words),
    .data_valid_o     (data_valid),
    .data_ready_i     (data_ready),
    .data_o           (data),
    .data_error_o     (data_error),
    .beat_o           (beats),
    .ar_o             (axi_o.ar),
    .r_ready_o        (axi_o.r_ready),
    .axi_i
  );

  axi_writer #(.BUS_WORDS(BUS_WORDS), .TAG_WIDTH(1)) u_writer (
    .clk_i,
    .rst_ni           (unit_rst_n),
    .halt_i           (halt),
    .idle_o           (writer_idle),
    .window_base_i    (control_i.window_base),
    .window_limit_i   (control_i.window_limit),
    .request_valid_i  (write_valid),
    .request_ready_o  (write_ready),
    .request_legal_o  (write_legal),
    .request_address_i(dram_address),
    .request_words_i  (dram_words),
    .request_tag_i    (write_tag),
    .data_valid_i     (write_data_valid),
    .data_ready_o     (write_data_ready),
    .data_i           (write_data),
    .response_valid_o (response_valid),
    .response_error_o (response_error),
    .response_tag_o   (response_tag),
    .aw_o             (axi_o.aw),
    .w_data_o         (axi_o.w_data),
    .w_strobe_o       (axi_o.w_strobe),
    .w_last_o         (axi_o.w_last),
    .w_valid_o        (axi_o.w_valid),
    .b_ready_o        (axi_o.b_ready),
    .axi_i
  );

  assign activity_o.read_beat    = |beats;
  assign activity_o.write_beat   = axi_o.w_valid && axi_i.w_ready;
  assign activity_o.command_beat = beats[ReadCommands];

  // ---- Control ----

  logic progress;

  assign progress = pass_i.progress || pass_i.pass_done || pass_i.chunk_freed || commands_moved
                    || (transfer_valid && transfer_ready)
                    || activity_o.read_beat || activity_o.write_beat
                    || (axi_o.ar.valid && axi_i.ar_ready) || (axi_o.aw.valid && axi_i.aw_ready)
                    || (axi_i.b_valid && axi_o.b_ready)
                    || (request_valid_o & request_ready_i) != '0;

  watchdog u_watchdog (
    .clk_i,
    .rst_ni       (unit_rst_n),
    .enable_i     (watch),
    .progress_i   (progress),
    .limit_i      (control_i.watchdog_limit),
    .transfer_i   (transfer_pending),
    .pass_i       (pass_pending),
    .wants_chunk_i(pass_i.wants_chunk),
    .command_i    (command),
    .fault_o      (watchdog_fault)
  );

  // The DMA checks its rows beforehand, so GLB errors come from streams.
  error_code_e stream_error_q;

  always_ff @(posedge clk_i or negedge unit_rst_n) begin
    if (!unit_rst_n) begin
      stream_error_q <= ErrorNone;
    end else begin
      stream_error_q <= pass_i.glb_error ? ErrorGlbAddress :
                        pass_i.overrun   ? ErrorDescriptor : ErrorNone;
    end
  end

  assign stream_fault = '{code: stream_error_q, command: pass_command};

  run_control #(.FAULTS(5), .SETTLE_CYCLES(ActivityDelay + 2)) u_control (
    .clk_i, .rst_ni,
    .start_i     (control_i.start),
    .soft_reset_i(control_i.soft_reset),
    .finished_i  (commands_done && !activity_o.dma_busy && !pass_i.reading),
    .axi_idle_i  (reader_idle && writer_idle),
    .fault_i     ({watchdog_fault, command_fault, pass_fault, stream_fault, dma_fault}),
    .unit_rst_no (unit_rst_n),
    .clear_o     (status_o.clear),
    .run_o       (run),
    .halt_o      (halt),
    .watch_o     (watch),
    .counting_o  (status_o.counting),
    .busy_o      (status_o.busy),
    .done_o      (status_o.done),
    .error_o     (status_o.error),
    .bus_waits_o (status_o.bus_waits),
    .fault_o     (fault)
  );

  assign status_o.error_code    = fault.code;
  assign status_o.error_address = fault.command;

endmodule
