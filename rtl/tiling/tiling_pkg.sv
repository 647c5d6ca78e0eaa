// SPDX-License-Identifier: Apache-2.0
// What travels between the parts of the tiling controller.
package tiling_pkg;

  // A LOAD or STORE on its way to the DMA. Without `block` rows.count and planes.count are 1.
  typedef struct packed {
    logic [31:0]                     command;  // its DRAM address, for error reports
    logic                            store;
    logic                            chunk;
    eyrie_pkg::count_t               wait_passes;
    eyrie_pkg::count_t               wait_chunks;
    encoding_pkg::transfer_address_t address;  // of the first row; with the words of a row
    encoding_pkg::transfer_rows_t    rows;
    encoding_pkg::transfer_planes_t  planes;
  } transfer_t;

  // A row of a transfer that has been asked for; `last` ends its transfer.
  typedef struct packed {
    logic                    chunk;
    logic                    last;
    logic [15:0]             words;
    eyrie_pkg::glb_address_t address;
  } row_t;

  // An entry of the pass queue: a configuration word, or a pass.
  typedef struct packed {
    logic [31:0]       command;
    eyrie_pkg::count_t wait_passes;
    eyrie_pkg::count_t wait_transfers;
  } pass_t;

  typedef struct packed {
    logic                       is_pass;
    eyrie_pkg::config_index_t   index;  // of the configuration word
    logic [$bits(pass_t)-1:0]   data;   // the word, or pass_t
  } pass_entry_t;

  // An error in the cycle in which it is seen, with the command's DRAM address.
  typedef struct packed {
    encoding_pkg::error_code_e code;
    logic [31:0]               command;
  } fault_t;

  // A command that has not come through, if there is one, with its DRAM address.
  typedef struct packed {
    logic        valid;
    logic [31:0] command;
  } pending_t;

  // What the tiling controller does in a cycle, for the counters.
  typedef struct packed {
    logic transfer_done;
    logic read_beat;
    logic write_beat;
    logic command_beat;  // also a read beat
    logic dma_busy;
    logic dma_wait;
    logic pass_wait;
  } tiling_activity_t;

endpackage
