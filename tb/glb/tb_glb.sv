// SPDX-License-Identifier: Apache-2.0
// The GLB with each field of its clients' requests as a vector of its own.
module tb_glb
  import eyrie_pkg::*;
#(
  parameter int unsigned GLB_BANKS = 8,
  parameter int unsigned GLB_BANK_WORDS = 1024,
  parameter int unsigned QUEUE_WORDS = 4
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [Clients-1:0]              valid_i,
  input  logic [Clients-1:0]              last_i,
  input  logic [Clients-1:0][15:0]        address_i,
  input  logic [Clients-1:0][15:0]        strobe_i,
  input  logic [Clients-1:0][127:0]       data_i,
  output logic [Clients-1:0]              ready_o,
  output logic [Clients-1:0]              read_valid_o,
  output logic [Clients-1:0][127:0]       read_data_o,
  output logic                            error_o,
  output logic [Clients-1:0][4:0]         bytes_o,
  output logic [3:0]                      conflicts_o
);

  glb_request_t [Clients-1:0] requests;

  for (genvar c = 0; c < Clients; c++) begin : g_client
    assign requests[c] = '{last: last_i[c], address: address_i[c], strobe: strobe_i[c],
                           data: data_i[c]};
  end

  glb #(.BANKS(GLB_BANKS), .BANK_WORDS(GLB_BANK_WORDS), .QUEUE_WORDS(QUEUE_WORDS)) u_dut (
    .clk_i,
    .rst_ni,
    .request_i(requests),
    .request_valid_i(valid_i),
    .request_ready_o(ready_o),
    .read_data_o,
    .read_valid_o,
    .error_o,
    .bytes_o,
    .conflicts_o
  );

endmodule
