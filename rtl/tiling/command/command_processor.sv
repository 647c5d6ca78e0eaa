// SPDX-License-Identifier: Apache-2.0
// The command processor: fetches and decodes the command list and holds commands in two queues
// until their semaphores reach the wait counts. Transfers go to the DMA, which compares their wait
// counts itself. Configuration words and passes go to the core in list order. A pass is requested
// once its wait_transfers is reached, and carries its wait_passes.
//
// - done_o: END is reached, all commands have started and all passes are done.
// - moved_o: a word of the list or an entry of the pass queue moved.
// - pending_o: the oldest PASS that is not done, started or not.
// - command_o, pass_command_o: DRAM addresses of the command in the decoder and of the last PASS
//   started.
// - pass_fault_o: the pending PASS is illegal.

`include "assertions.svh"

module command_processor
  import encoding_pkg::*;
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned BUS_WORDS = 1,        // 64-bit words per AXI beat: 1 or 2
  parameter int unsigned WEIGHT_CODES = 0,     // decoders of coded weights: 0 or 1
  parameter int unsigned TRANSFER_QUEUE = 16,  // depth of the queue of LOADs and STOREs
  parameter int unsigned PASS_QUEUE = 64       // depth of the queue of CONFIG words and passes
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          run_i,
  input  logic [31:0]   program_base_i,
  input  logic [31:0]   window_limit_i,

  // AXI reader
  output logic          read_valid_o,
  input  logic          read_ready_i,
  input  logic          read_legal_i,
  output logic [31:0]   read_address_o,
  output logic [15:0]   read_words_o,
  input  logic          data_valid_i,
  output logic          data_ready_o,
  input  logic [BUS_WORDS-1:0][63:0] data_i,
  input  logic          data_error_i,

  // DMA
  output logic          transfer_valid_o,
  input  logic          transfer_ready_i,
  output transfer_t     transfer_o,
  input  logic          transfer_done_i,
  input  logic          chunk_loaded_i,
  output count_t        chunks_freed_o,

  // Core
  output pass_control_t pass_o,
  input  pass_status_t  pass_i,

  output logic          done_o,
  output logic          moved_o,
  output logic          pass_wait_o,     // a pass waits for transfers
  output pending_t      pending_o,
  output logic [31:0]   command_o,
  output logic [31:0]   pass_command_o,
  output fault_t        pass_fault_o,
  output fault_t        fault_o
);

  // ---- Command list ----

  logic        word_valid, word_ready, ended;
  logic [63:0] word;
  logic [31:0] word_address;
  error_code_e word_error;

  command_fetch #(.BUS_WORDS(BUS_WORDS)) u_fetch (
    .clk_i, .rst_ni,
    .enable_i         (run_i && !ended),
    .program_base_i, .window_limit_i,
    .request_valid_o  (read_valid_o),
    .request_ready_i  (read_ready_i),
    .request_legal_i  (read_legal_i),
    .request_address_o(read_address_o),
    .request_words_o  (read_words_o),
    .data_valid_i, .data_ready_o, .data_i, .data_error_i,
    .word_valid_o     (word_valid),
    .word_ready_i     (word_ready),
    .word_o           (word),
    .word_address_o   (word_address),
    .word_error_o     (word_error)
  );

  logic        queue_valid, queue_ready, entry_in_valid, entry_in_ready, entry_valid, entry_ready;
  transfer_t   queue_transfer;
  pass_entry_t entry_in, entry;

  command_decoder #(.WEIGHT_CODES(WEIGHT_CODES)) u_decoder (
    .clk_i, .rst_ni,
    .word_valid_i    (word_valid),
    .word_ready_o    (word_ready),
    .word_i          (word),
    .word_address_i  (word_address),
    .word_error_i    (word_error),
    .transfer_valid_o(queue_valid),
    .transfer_ready_i(queue_ready),
    .transfer_o      (queue_transfer),
    .entry_valid_o   (entry_in_valid),
    .entry_ready_i   (entry_in_ready),
    .entry_o         (entry_in),
    .ended_o         (ended),
    .command_o, .fault_o
  );

  // ---- Queues ----

  logic [$clog2(TRANSFER_QUEUE+1)-1:0] unused_transfer_count;
  logic [$clog2(PASS_QUEUE+1)-1:0]     unused_entry_count;

  localparam int unsigned TransferBits = WEIGHT_CODES != 0 ? $bits(transfer_t) : PlainTransferBits;
  logic [TransferBits-1:0] oldest_transfer;

  queue #(.WIDTH(TransferBits), .DEPTH(TRANSFER_QUEUE)) u_transfers (
    .clk_i, .rst_ni,
    .in_valid_i (queue_valid),
    .in_ready_o (queue_ready),
    .in_data_i  (TransferBits'(queue_transfer)),
    .out_valid_o(transfer_valid_o),
    .out_ready_i(transfer_ready_i),
    .out_data_o (oldest_transfer),
    .count_o    (unused_transfer_count)
  );

  assign transfer_o = $bits(transfer_t)'(oldest_transfer);

  queue #(.WIDTH($bits(pass_entry_t)), .DEPTH(PASS_QUEUE)) u_entries (
    .clk_i, .rst_ni,
    .in_valid_i (entry_in_valid),
    .in_ready_o (entry_in_ready),
    .in_data_i  (entry_in),
    .out_valid_o(entry_valid),
    .out_ready_i(entry_ready),
    .out_data_o (entry),
    .count_o    (unused_entry_count)
  );

  // ---- Semaphores and core ----

  localparam int unsigned MaxPasses = 4;  // passes started and not done

  count_t      transfers_done;
  logic        reached, waits, give, given, given_ready;
  logic [31:0] pass_command_q, oldest;
  logic [$clog2(MaxPasses+1)-1:0] unused_given_count;
  pass_t       pass;

  semaphores u_semaphores (
    .clk_i, .rst_ni,
    .transfer_done_i,
    .pass_done_i     (pass_i.pass_done),
    .chunk_loaded_i,
    .chunk_freed_i   (pass_i.chunk_freed),
    .transfers_done_o(transfers_done),
    .passes_done_o   (pass_o.passes_done),
    .chunks_loaded_o (pass_o.chunks_loaded),
    .chunks_freed_o
  );

  assign pass                = entry.data;
  assign waits               = entry_valid && entry.is_pass;
  assign reached             = semaphore_reached(transfers_done, pass.wait_transfers);
  assign pass_o.config_valid = entry_valid && !entry.is_pass;
  assign pass_o.config_index = entry.index;
  assign pass_o.config_data  = entry.data[63:0];
  assign pass_o.pass_valid   = waits && reached && given_ready;
  assign pass_o.wait_passes  = pass.wait_passes;
  assign pass_wait_o         = waits && !reached;
  assign entry_ready         = entry.is_pass ? give : pass_i.config_ready;
  assign give                = pass_o.pass_valid && pass_i.pass_ready;

  fifo #(.WIDTH(32), .DEPTH(MaxPasses)) u_accepted_passes (
    .clk_i, .rst_ni,
    .in_valid_i (give),
    .in_ready_o (given_ready),
    .in_data_i  (pass.command),
    .out_valid_o(given),
    .out_ready_i(pass_i.pass_done),
    .out_data_o (oldest),
    .count_o    (unused_given_count)
  );

  assign done_o         = ended && !transfer_valid_o && !entry_valid && !given;
  assign moved_o        = word_ready || (entry_valid && entry_ready);
  assign pending_o      = '{valid: given || waits, command: given ? oldest : pass.command};
  assign pass_command_o = pass_command_q;
  assign pass_fault_o   = '{code:    pass_i.illegal_pass ? ErrorDescriptor : ErrorNone,
                            command: pass.command};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)   pass_command_q <= '0;
    else if (give) pass_command_q <= pass.command;
  end

  logic unused_status; // signals of other blocks; fields without a decoder
  assign unused_status = ^{pass_i, queue_transfer.coded};

  `EYRIE_ASSERT_WHEN(DoneWereGiven, pass_i.pass_done, given, "more passes done than started")

endmodule
