// SPDX-License-Identifier: Apache-2.0
// The AXI4 port inside the chip, as one struct per direction.
package bus_pkg;

  localparam int unsigned MaxBusWords = 2;  // 64-bit words per beat of the widest port

  // An AXI4 address. Every burst is INCR, has whole beats and the same ID.
  typedef struct packed {
    logic [31:0] address;
    logic [7:0]  length;  // beats minus one
    logic        valid;
  } axi_address_t;

  // Signals of the master and of the slave. A port of one word uses word 0 of the data.
  typedef struct packed {
    axi_address_t                 ar;
    logic                         r_ready;
    axi_address_t                 aw;
    logic [MaxBusWords-1:0][63:0] w_data;
    logic [MaxBusWords-1:0][7:0]  w_strobe;
    logic                         w_last;
    logic                         w_valid;
    logic                         b_ready;
  } axi_request_t;

  typedef struct packed {
    logic                         ar_ready;
    logic [MaxBusWords-1:0][63:0] r_data;
    logic [1:0]                   r_response;
    logic                         r_last;
    logic                         r_valid;
    logic                         aw_ready;
    logic                         w_ready;
    logic [1:0]                   b_response;
    logic                         b_valid;
  } axi_response_t;

  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;
  localparam logic [1:0] BurstIncr = 2'b01;

endpackage
