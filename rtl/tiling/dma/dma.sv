// SPDX-License-Identifier: Apache-2.0
// The DMA: executes LOADs and STOREs with the effect of a serial execution in list order.
//
// A transfer starts when its semaphores have reached the wait counts. Each row is checked against
// the window (legal inputs of the AXI ports) and the size of the GLB before any access of the row
// is issued. Successive LOADs follow without a gap: reads of the next LOAD are issued while data of
// the one before arrives. The same holds for successive STOREs. A change of direction waits until
// all transfers before are done, so that a LOAD can read what an earlier STORE wrote, and a STORE
// can send what an earlier LOAD read.
//
// A LOAD is done when its last word is in the GLB, a STORE when its last response has arrived.
// Transfers finish in list order. fault_o.code stays until halt_i, after which no transfer starts.
// pending_o: the oldest transfer that is not done, started or not.

`include "assertions.svh"

module dma
  import encoding_pkg::*;
  import eyrie_pkg::*;
  import tiling_pkg::*;
#(
  parameter int unsigned GLB_WORDS = 8192,  // 64-bit words in the GLB
  parameter int unsigned BUS_WORDS = 1,     // 64-bit words per AXI beat: 1 or 2
  parameter int unsigned WEIGHT_CODES = 0   // decoders of coded weights: 0 or 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         halt_i,

  input  logic         transfer_valid_i,
  output logic         transfer_ready_o,
  input  transfer_t    transfer_i,
  input  count_t       passes_done_i,
  input  count_t       chunks_freed_i,

  // AXI reader
  output logic         read_valid_o,
  input  logic         read_ready_i,
  input  logic         read_legal_i,
  input  logic         read_data_valid_i,
  output logic         read_data_ready_o,
  input  logic [BUS_WORDS-1:0][63:0] read_data_i,
  input  logic         read_error_i,

  // AXI writer. The tag marks the last row of a transfer.
  output logic         write_valid_o,
  input  logic         write_ready_i,
  input  logic         write_legal_i,
  output logic         write_tag_o,
  output logic         write_data_valid_o,
  input  logic         write_data_ready_i,
  output logic [BUS_WORDS-1:0][63:0] write_data_o,
  input  logic         response_valid_i,
  input  logic         response_error_i,
  input  logic         response_tag_i,

  // Address and length of a request, for both AXI ports
  output logic [31:0]  dram_address_o,
  output logic [15:0]  dram_words_o,

  // GLB clients: STOREs, LOADs
  output logic         [1:0] request_valid_o,
  input  logic         [1:0] request_ready_i,
  output glb_request_t [1:0] request_o,
  input  logic         store_read_valid_i,
  input  glb_word_t [1:0] store_read_data_i,

  output logic         transfer_done_o,
  output logic [1:0]   decoded_words_o, // in this cycle
  output logic         chunk_loaded_o,
  output logic         waiting_o,  // a transfer waits for semaphores
  output logic         busy_o,     // a transfer is in progress
  output pending_t     pending_o,
  output fault_t       fault_o
);

  localparam int unsigned InFlight = 64;         // maximum number of transfers started and not done
  localparam int unsigned Store = 0, Load = 1;  // GLB clients

  // Start: wait counts are reached, and no transfer of the other direction is in flight
  logic [$clog2(InFlight+1)-1:0] in_flight;      // transfers in flight
  logic                          store_q;        // direction of these transfers
  logic                          reached, start, walker_ready, flight_ready;
  logic                          oldest_valid;
  logic [31:0]                   oldest;         // command of the oldest of them

  assign reached = semaphore_reached(passes_done_i, transfer_i.wait_passes)
                   && semaphore_reached(chunks_freed_i, transfer_i.wait_chunks);
  assign start   = transfer_valid_i && transfer_ready_o;
  assign transfer_ready_o = walker_ready && flight_ready && reached && !halt_i
                            && (in_flight == '0 || store_q == transfer_i.store);
  assign waiting_o = transfer_valid_i && !reached;
  assign busy_o    = in_flight != '0;
  assign pending_o = '{valid:   oldest_valid || transfer_valid_i,
                       command: oldest_valid ? oldest : transfer_i.command};

  queue #(.WIDTH(32), .DEPTH(InFlight)) u_flight (
    .clk_i, .rst_ni,
    .in_valid_i (start),
    .in_ready_o (flight_ready),
    .in_data_i  (transfer_i.command),
    .out_valid_o(oldest_valid),
    .out_ready_i(transfer_done_o),
    .out_data_o (oldest),
    .count_o    (in_flight)
  );

  transfer_t transfer;  // without a decoder, no word is coded
  always_comb begin : without_codes
    transfer = transfer_i;
    if (WEIGHT_CODES == 0) transfer.coded = '0;
  end

  // A row goes to its AXI port and to its GLB side in one cycle.
  logic        row_valid, row_ready, row_store, row_legal, row_in_glb, row_good;
  logic [31:0] row_dram, row_command;
  row_t        row;
  logic        load_row_ready, store_row_ready;

  dma_rows u_rows (
    .clk_i,
    .rst_ni,
    .transfer_valid_i(start),
    .transfer_ready_o(walker_ready),
    .transfer_i(transfer),
    .row_valid_o(row_valid),
    .row_ready_i(row_ready),
    .row_store_o(row_store),
    .row_dram_o(row_dram),
    .row_command_o(row_command),
    .row_o(row)
  );

  // Beats of two words, and coded rows, need an even GLB address.
  assign row_in_glb = 17'(row.address) + 17'(row.words) <= 17'(GLB_WORDS)
                      && row.address % 16'(BUS_WORDS) == '0
                      && !(row.coded.used && row.address[0]);
  assign row_legal  = row_store ? write_legal_i : read_legal_i;
  assign row_good   = row_valid && row_legal && row_in_glb && !halt_i;
  assign row_ready  = row_good && (row_store ? write_ready_i && store_row_ready
                                             : read_ready_i && load_row_ready);

  assign read_valid_o   = row_good && !row_store && load_row_ready;
  assign write_valid_o  = row_good && row_store && store_row_ready;
  assign write_tag_o    = row.last;
  assign dram_address_o = row_dram;
  assign dram_words_o   = row.coded.used ? row.coded.words : row.words;

  logic load_done, load_error, code_error;

  dma_load #(.BUS_WORDS(BUS_WORDS), .WEIGHT_CODES(WEIGHT_CODES)) u_load (
    .clk_i,
    .rst_ni,
    .row_valid_i(row_ready && !row_store),
    .row_ready_o(load_row_ready),
    .row_i(row),
    .data_valid_i(read_data_valid_i),
    .data_ready_o(read_data_ready_o),
    .data_i(read_data_i),
    .data_error_i(read_error_i),
    .glb_valid_o(request_valid_o[Load]),
    .glb_ready_i(request_ready_i[Load]),
    .glb_request_o(request_o[Load]),
    .decoded_words_o,
    .done_o(load_done),
    .chunk_o(chunk_loaded_o),
    .error_o(load_error),
    .code_error_o(code_error)
  );

  dma_store #(.BUS_WORDS(BUS_WORDS)) u_store (
    .clk_i,
    .rst_ni,
    .row_valid_i(row_ready && row_store),
    .row_ready_o(store_row_ready),
    .row_i(row),
    .glb_valid_o(request_valid_o[Store]),
    .glb_ready_i(request_ready_i[Store]),
    .glb_request_o(request_o[Store]),
    .read_valid_i(store_read_valid_i),
    .read_data_i(store_read_data_i),
    .data_valid_o(write_data_valid_o),
    .data_ready_i(write_data_ready_i),
    .data_o(write_data_o)
  );

  logic store_done;
  assign store_done      = response_valid_i && response_tag_i && !response_error_i;
  assign transfer_done_o = load_done || store_done;

  // The oldest transfer has priority.
  always_comb begin : report
    fault_o = '{code: ErrorNone, command: row_command};
    if (load_error || (response_valid_i && response_error_i))
      fault_o = '{code: ErrorAxiResponse, command: oldest};
    else if (code_error)
      fault_o = '{code: ErrorCodedWeights, command: oldest};
    else if (row_valid && !row_legal)              fault_o.code = ErrorDramAddress;
    else if (row_valid && !row_in_glb)             fault_o.code = ErrorGlbAddress;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni)    store_q <= 1'b0;
    else if (start) store_q <= transfer_i.store;
  end

  `EYRIE_ASSERT_WHEN(DoneStarted, transfer_done_o, oldest_valid, "a transfer is done twice")
  `EYRIE_ASSERT(OneDirection, !(load_done && store_done), "a LOAD and a STORE done at once")
  `EYRIE_COVER(BackToBack, start && in_flight > 1)
  `EYRIE_COVER(Turn, transfer_valid_i && reached && busy_o && store_q != transfer_i.store)

endmodule
