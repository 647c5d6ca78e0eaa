// SPDX-License-Identifier: Apache-2.0
// Runs a command list: fetches it, hands transfers to the DMA and configuration words and passes to
// the pass side, counts the timelines their tokens refer to, and owns the AXI master.
//
// Pass side: configuration words and passes leave in list order, on two channels of which only one
// is valid at a time; a pass is offered once its wait_transfers has been reached, and takes its
// wait_passes with it. pass_done_i and chunk_freed_i pulse, at most once a cycle.
//
// unit_rst_no resets all other units of the machine (see run_control); clear_o pulses as a run
// begins. progress_i: some other unit moved, for the watchdog. glb_error_i: an access beyond the
// GLB, which a stream with a wrong descriptor makes; it stops the machine with the address of the
// last PASS handed over. Everything named *_beat_o or *_done_o is a pulse to be counted.
// program_base_i and the window must be constant while busy_o.

`include "assertions.svh"

module tiling_controller
  import encoding_pkg::*;
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned GLB_WORDS = 8192,     // 64-bit words in the GLB
  parameter int unsigned BUS_WORDS = 1,        // 64-bit words in a beat of the AXI port
  parameter int unsigned TRANSFER_QUEUE = 16,  // LOADs and STOREs
  parameter int unsigned PASS_QUEUE = 64,      // configuration words and passes
  parameter int unsigned READ_BURSTS = 16,     // under way at a time
  parameter int unsigned READ_BEATS = 64,      // under way at a time
  parameter int unsigned WRITE_BURSTS = 8      // under way at a time
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         unit_rst_no,

  // Register file
  input  logic         start_i,
  input  logic         soft_reset_i,
  input  logic [31:0]  program_base_i,
  input  logic [31:0]  window_base_i,
  input  logic [31:0]  window_limit_i,
  input  logic [31:0]  watchdog_limit_i,
  output logic         clear_o,
  output logic         busy_o,
  output logic         done_o,
  output logic         error_o,
  output error_code_e  error_code_o,
  output logic [31:0]  error_address_o,

  // Pass side
  output logic         config_valid_o,
  input  logic         config_ready_i,
  output logic [6:0]   config_index_o,
  output logic [63:0]  config_data_o,
  output logic         pass_valid_o,
  input  logic         pass_ready_i,
  output logic [15:0]  pass_wait_passes_o,
  input  logic         pass_done_i,
  input  logic         chunk_freed_i,
  output logic [15:0]  passes_done_o,
  output logic [15:0]  chunks_loaded_o,
  input  logic         progress_i,
  input  logic         glb_error_i,

  // GLB clients
  output logic         load_valid_o,
  input  logic         load_ready_i,
  output glb_request_t load_request_o,
  output logic         store_valid_o,
  input  logic         store_ready_i,
  output glb_request_t store_request_o,
  input  logic         store_read_valid_i,
  input  glb_word_t [1:0] store_read_data_i,

  // Counters
  output logic         transfer_done_o,
  output logic         read_beat_o,
  output logic         write_beat_o,
  output logic         command_beat_o,        // also a read beat
  output logic         dma_busy_o,
  output logic         dma_wait_o,
  output logic         pass_wait_o,

  // AXI master
  output logic [31:0]  axi_araddr_o,
  output logic [7:0]   axi_arlen_o,
  output logic [2:0]   axi_arsize_o,
  output logic [1:0]   axi_arburst_o,
  output logic         axi_arvalid_o,
  input  logic         axi_arready_i,
  input  logic [64*BUS_WORDS-1:0] axi_rdata_i,
  input  logic [1:0]   axi_rresp_i,
  input  logic         axi_rlast_i,
  input  logic         axi_rvalid_i,
  output logic         axi_rready_o,
  output logic [31:0]  axi_awaddr_o,
  output logic [7:0]   axi_awlen_o,
  output logic [2:0]   axi_awsize_o,
  output logic [1:0]   axi_awburst_o,
  output logic         axi_awvalid_o,
  input  logic         axi_awready_i,
  output logic [64*BUS_WORDS-1:0] axi_wdata_o,
  output logic [8*BUS_WORDS-1:0] axi_wstrb_o,
  output logic         axi_wlast_o,
  output logic         axi_wvalid_o,
  input  logic         axi_wready_i,
  input  logic [1:0]   axi_bresp_i,
  input  logic         axi_bvalid_i,
  output logic         axi_bready_o
);

  // Requesters of the reader: commands first, since a late command can idle everything.
  localparam int unsigned ReadCommands = 0;
  localparam int unsigned ReadLoads = 1;

  logic unit_rst_n, run, halt, watch;
  assign unit_rst_no = unit_rst_n;

  // --- Command list ------------------------------------------------------------------------------
  logic [1:0]       read_valid, read_ready, read_legal, data_valid, data_ready;
  logic [1:0][31:0] read_address;
  logic [1:0][15:0] read_words;
  logic [BUS_WORDS-1:0][63:0] data;
  logic             data_error;
  logic             word_valid, word_ready, ended;
  logic [63:0]      word;
  logic [31:0]      word_address, command;
  error_code_e      word_error;
  fault_t           decoder_fault, dma_fault, stream_fault, watchdog_fault;

  command_fetch #(.BUS_WORDS(BUS_WORDS)) u_fetch (
    .clk_i, .rst_ni(unit_rst_n),
    .enable_i(run && !ended),
    .program_base_i,
    .window_limit_i,
    .request_valid_o(read_valid[ReadCommands]),
    .request_ready_i(read_ready[ReadCommands]),
    .request_legal_i(read_legal[ReadCommands]),
    .request_address_o(read_address[ReadCommands]),
    .request_words_o(read_words[ReadCommands]),
    .data_valid_i(data_valid[ReadCommands]),
    .data_ready_o(data_ready[ReadCommands]),
    .data_i(data),
    .data_error_i(data_error),
    .word_valid_o(word_valid),
    .word_ready_i(word_ready),
    .word_o(word),
    .word_address_o(word_address),
    .word_error_o(word_error)
  );

  logic        queue_valid, queue_ready, transfer_valid, transfer_ready;
  logic        entry_in_valid, entry_in_ready, entry_valid, entry_ready;
  transfer_t   queue_transfer, transfer;
  pass_entry_t entry_in, entry;

  command_decoder u_decoder (
    .clk_i, .rst_ni(unit_rst_n),
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .word_i(word),
    .word_address_i(word_address),
    .word_error_i(word_error),
    .transfer_valid_o(queue_valid),
    .transfer_ready_i(queue_ready),
    .transfer_o(queue_transfer),
    .entry_valid_o(entry_in_valid),
    .entry_ready_i(entry_in_ready),
    .entry_o(entry_in),
    .ended_o(ended),
    .command_o(command),
    .fault_o(decoder_fault)
  );

  // --- The two queues ----------------------------------------------------------------------------
  logic [$clog2(TRANSFER_QUEUE+1)-1:0] unused_transfer_count;
  logic [$clog2(PASS_QUEUE+1)-1:0]     unused_entry_count;

  fifo #(.WIDTH($bits(transfer_t)), .DEPTH(TRANSFER_QUEUE)) u_transfers (
    .clk_i, .rst_ni(unit_rst_n),
    .in_valid_i(queue_valid),
    .in_ready_o(queue_ready),
    .in_data_i(queue_transfer),
    .out_valid_o(transfer_valid),
    .out_ready_i(transfer_ready),
    .out_data_o(transfer),
    .count_o(unused_transfer_count)
  );

  fifo #(.WIDTH($bits(pass_entry_t)), .DEPTH(PASS_QUEUE)) u_entries (
    .clk_i, .rst_ni(unit_rst_n),
    .in_valid_i(entry_in_valid),
    .in_ready_o(entry_in_ready),
    .in_data_i(entry_in),
    .out_valid_o(entry_valid),
    .out_ready_i(entry_ready),
    .out_data_o(entry),
    .count_o(unused_entry_count)
  );

  // --- Tokens and the pass side ------------------------------------------------------------------
  logic [15:0] transfers_done, chunks_freed, passes_given_q;
  logic [31:0] pass_command_q;
  logic        pass_reached, chunk_loaded;
  pass_t       pass;

  token_counters u_tokens (
    .clk_i, .rst_ni(unit_rst_n),
    .transfer_done_i(transfer_done_o),
    .pass_done_i,
    .chunk_loaded_i(chunk_loaded),
    .chunk_freed_i,
    .transfers_done_o(transfers_done),
    .passes_done_o,
    .chunks_loaded_o,
    .chunks_freed_o(chunks_freed)
  );

  assign pass               = entry.data;
  assign pass_reached       = token_reached(transfers_done, pass.wait_transfers);
  assign config_valid_o     = entry_valid && !entry.is_pass;
  assign config_index_o     = entry.index;
  assign config_data_o      = entry.data;
  assign pass_valid_o       = entry_valid && entry.is_pass && pass_reached;
  assign pass_wait_passes_o = pass.wait_passes;
  assign pass_wait_o        = entry_valid && entry.is_pass && !pass_reached;
  assign entry_ready        = entry.is_pass ? pass_ready_i && pass_reached : config_ready_i;

  always_ff @(posedge clk_i or negedge unit_rst_n) begin
    if (!unit_rst_n) begin
      passes_given_q <= '0;
      pass_command_q <= '0;
    end else if (pass_valid_o && pass_ready_i) begin
      passes_given_q <= passes_given_q + 16'd1;
      pass_command_q <= pass.command;
    end
  end

  // --- Transfers ---------------------------------------------------------------------------------
  logic        write_valid, write_ready, write_legal;
  logic        write_data_valid, write_data_ready, response_valid, response_error;
  logic [32:0] write_tag, response_tag;
  logic [BUS_WORDS-1:0][63:0] write_data;
  logic [31:0] dma_command, dram_address;
  logic [15:0] dram_words;

  dma #(.GLB_WORDS(GLB_WORDS), .BUS_WORDS(BUS_WORDS)) u_dma (
    .clk_i, .rst_ni(unit_rst_n),
    .halt_i(halt),
    .transfer_valid_i(transfer_valid),
    .transfer_ready_o(transfer_ready),
    .transfer_i(transfer),
    .passes_done_i(passes_done_o),
    .chunks_freed_i(chunks_freed),
    .read_valid_o(read_valid[ReadLoads]),
    .read_ready_i(read_ready[ReadLoads]),
    .read_legal_i(read_legal[ReadLoads]),
    .read_data_valid_i(data_valid[ReadLoads]),
    .read_data_ready_o(data_ready[ReadLoads]),
    .read_data_i(data),
    .read_error_i(data_error),
    .write_valid_o(write_valid),
    .write_ready_i(write_ready),
    .write_legal_i(write_legal),
    .write_tag_o(write_tag),
    .write_data_valid_o(write_data_valid),
    .write_data_ready_i(write_data_ready),
    .write_data_o(write_data),
    .response_valid_i(response_valid),
    .response_error_i(response_error),
    .response_tag_i(response_tag),
    .dram_address_o(dram_address),
    .dram_words_o(dram_words),
    .load_valid_o,
    .load_ready_i,
    .load_request_o,
    .store_valid_o,
    .store_ready_i,
    .store_request_o,
    .store_read_valid_i,
    .store_read_data_i,
    .transfer_done_o,
    .chunk_loaded_o(chunk_loaded),
    .waiting_o(dma_wait_o),
    .busy_o(dma_busy_o),
    .command_o(dma_command),
    .fault_o(dma_fault)
  );

  assign read_address[ReadLoads] = dram_address;
  assign read_words[ReadLoads]   = dram_words;

  // --- AXI ---------------------------------------------------------------------------------------
  logic       reader_idle, writer_idle;
  logic [1:0] beats;

  axi_reader #(
    .DATA_WIDTH(64 * BUS_WORDS), .REQUESTERS(2), .BURSTS(READ_BURSTS), .BEATS(READ_BEATS)
  ) u_reader (
    .clk_i, .rst_ni(unit_rst_n),
    .halt_i(halt),
    .idle_o(reader_idle),
    .window_base_i, .window_limit_i,
    .request_valid_i(read_valid),
    .request_ready_o(read_ready),
    .request_legal_o(read_legal),
    .request_address_i(read_address),
    .request_words_i(read_words),
    .data_valid_o(data_valid),
    .data_ready_i(data_ready),
    .data_o(data),
    .data_error_o(data_error),
    .beat_o(beats),
    .axi_araddr_o, .axi_arlen_o, .axi_arsize_o, .axi_arburst_o, .axi_arvalid_o, .axi_arready_i,
    .axi_rdata_i, .axi_rresp_i, .axi_rlast_i, .axi_rvalid_i, .axi_rready_o
  );

  axi_writer #(.DATA_WIDTH(64 * BUS_WORDS), .TAG_WIDTH(33), .BURSTS(WRITE_BURSTS)) u_writer (
    .clk_i, .rst_ni(unit_rst_n),
    .halt_i(halt),
    .idle_o(writer_idle),
    .window_base_i, .window_limit_i,
    .request_valid_i(write_valid),
    .request_ready_o(write_ready),
    .request_legal_o(write_legal),
    .request_address_i(dram_address),
    .request_words_i(dram_words),
    .request_tag_i(write_tag),
    .data_valid_i(write_data_valid),
    .data_ready_o(write_data_ready),
    .data_i(write_data),
    .response_valid_o(response_valid),
    .response_error_o(response_error),
    .response_tag_o(response_tag),
    .axi_awaddr_o, .axi_awlen_o, .axi_awsize_o, .axi_awburst_o, .axi_awvalid_o, .axi_awready_i,
    .axi_wdata_o, .axi_wstrb_o, .axi_wlast_o, .axi_wvalid_o, .axi_wready_i, .axi_bresp_i,
    .axi_bvalid_i, .axi_bready_o
  );

  assign read_beat_o    = |beats;
  assign write_beat_o   = axi_wvalid_o && axi_wready_i;
  assign command_beat_o = beats[ReadCommands];

  // --- Control -----------------------------------------------------------------------------------
  logic   finished, progress, expired;
  fault_t fault;

  assign finished = ended && !transfer_valid && !dma_busy_o && !entry_valid
                    && passes_given_q == passes_done_o;

  assign progress = progress_i || pass_done_i || chunk_freed_i || word_ready
                    || read_beat_o || write_beat_o
                    || (axi_arvalid_o && axi_arready_i) || (axi_awvalid_o && axi_awready_i)
                    || (axi_bvalid_i && axi_bready_o)
                    || (load_valid_o && load_ready_i) || (store_valid_o && store_ready_i)
                    || (entry_valid && entry_ready) || (transfer_valid && transfer_ready);

  watchdog u_watchdog (
    .clk_i, .rst_ni(unit_rst_n),
    .enable_i(watch),
    .progress_i(progress),
    .limit_i(watchdog_limit_i),
    .expired_o(expired)
  );

  // The DMA checks its rows beforehand, so that only a stream can be at fault.
  assign stream_fault = '{code: glb_error_i ? ErrorGlbAddress : ErrorNone, command: pass_command_q};

  // Blame the oldest command that has not come through, as far as known.
  always_comb begin : blame
    watchdog_fault.code    = expired ? ErrorWatchdog : ErrorNone;
    watchdog_fault.command = command;
    if (transfer_valid || dma_busy_o)          watchdog_fault.command = dma_command;
    else if (entry_valid && entry.is_pass) watchdog_fault.command = pass.command;
  end

  run_control #(.FAULTS(4)) u_control (
    .clk_i, .rst_ni,
    .start_i,
    .soft_reset_i,
    .finished_i(finished),
    .axi_idle_i(reader_idle && writer_idle),
    .fault_i({watchdog_fault, decoder_fault, stream_fault, dma_fault}),
    .unit_rst_no(unit_rst_n),
    .clear_o,
    .run_o(run),
    .halt_o(halt),
    .watch_o(watch),
    .busy_o,
    .done_o,
    .error_o,
    .fault_o(fault)
  );

  assign error_code_o    = fault.code;
  assign error_address_o = fault.command;

  `EYRIE_ASSERT(DoneWereGiven, 16'(passes_given_q - passes_done_o) < 16'h8000,
      "more passes done than handed over")

endmodule
