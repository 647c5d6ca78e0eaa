// SPDX-License-Identifier: Apache-2.0
// Types that connect the blocks of the tiling controller.
package tiling_pkg;

  // A LOAD of coded weights
  typedef struct packed {
    logic        used;   // 0: the words come as they are
    logic        with_table;  // it begins with a table
    logic [15:0] words;  // in DRAM
  } coded_t;

  // A LOAD or STORE for the DMA. Without `block`, rows.count and planes.count are 1. The first fields
  // are those of a LOAD of coded weights: only an accelerator with a decoder keeps them.
  typedef struct packed {
    coded_t                          coded;
    logic [31:0]                     command;  // DRAM address of the command, for error reports
    logic                            store;
    logic                            chunk;
    eyrie_pkg::count_t               wait_passes;
    eyrie_pkg::count_t               wait_chunks;
    encoding_pkg::transfer_address_t address;  // address of the first row; words of a row
    encoding_pkg::transfer_rows_t    rows;
    encoding_pkg::transfer_planes_t  planes;
  } transfer_t;

  localparam int unsigned PlainTransferBits = $bits(transfer_t) - $bits(coded_t);

  // A requested row of a transfer; `last` marks the last row of its transfer
  typedef struct packed {
    coded_t                  coded;
    logic                    chunk;
    logic                    last;
    logic [15:0]             words;
    eyrie_pkg::glb_address_t address;
  } row_t;

  localparam int unsigned PlainRowBits = $bits(row_t) - $bits(coded_t);

  // A pass in the pass queue
  typedef struct packed {
    logic [31:0]       command;
    eyrie_pkg::count_t wait_passes;
    eyrie_pkg::count_t wait_transfers;
  } pass_t;

  typedef struct packed {
    logic                       is_pass;
    eyrie_pkg::config_index_t   index;  // index of the configuration word
    logic [$bits(pass_t)-1:0]   data;   // configuration word or pass_t
  } pass_entry_t;

  // A fault with the DRAM address of its command
  typedef struct packed {
    encoding_pkg::error_code_e code;
    logic [31:0]               command;
  } fault_t;

  // A command that is not done, with its DRAM address
  typedef struct packed {
    logic        valid;
    logic [31:0] command;
  } pending_t;

  // Activity of the tiling controller in a cycle, for the counters
  typedef struct packed {
    logic transfer_done;
    logic read_beat;
    logic write_beat;
    logic command_beat;  // also counted as a read beat
    logic [1:0] decoded_words;
    logic dma_busy;
    logic dma_wait;
    logic pass_wait;
  } tiling_activity_t;

endpackage
