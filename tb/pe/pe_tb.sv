// SPDX-License-Identifier: Apache-2.0
// A PE of set row 1 with plain ports, and its activity summed up since the reset.
module pe_tb
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned MULTIPLIERS = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [63:0] cfg_shape_i,
  input  logic [63:0] cfg_loops_i,
  input  logic        cfg_epoch_i,
  output logic        cfg_epoch_o,
  input  logic        enable_i,

  input  logic        ifmap_valid_i,
  output logic        ifmap_ready_o,
  input  logic [1:0]  ifmap_lanes_i,
  input  logic        ifmap_to_pixels_i,
  input  logic [63:0] ifmap_data_i,
  input  logic        filter_valid_i,
  output logic        filter_ready_o,
  input  logic [31:0] filter_data_i,
  input  logic        tap_valid_i,
  output logic        tap_ready_o,
  input  logic [31:0] tap_data_i,
  input  logic        word_valid_i,
  output logic        word_ready_o,
  input  logic [31:0] word_data_i,

  // Depthwise sums.
  input  logic        above_valid_i,
  output logic        above_ready_o,
  input  logic [79:0] above_sums_i,
  output logic        below_valid_o,
  input  logic        below_ready_i,
  output logic [79:0] below_sums_o,

  // Sum chain.
  input  logic        chain_valid_i,
  output logic        chain_ready_o,
  input  logic [14:0] chain_phase_i,
  input  logic [31:0] chain_sum_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [14:0] out_phase_o,
  output logic [31:0] out_sum_o,

  output logic [31:0] macs_o,
  output logic [31:0] gated_o
);

  array_config_t cfg;
  logic [2:0]    macs, gated;

  assign cfg.shape     = array_shape_t'(cfg_shape_i);
  assign cfg.loops     = array_loops_t'(cfg_loops_i);
  assign cfg.depthwise = '0;

  pe #(.MULTIPLIERS(MULTIPLIERS), .ROW(2'd1)) u_dut (
    .clk_i, .rst_ni,
    .cfg_i        (cfg),
    .cfg_epoch_i, .cfg_epoch_o, .enable_i,
    .ifmap_valid_i, .ifmap_ready_o, .ifmap_lanes_i, .ifmap_to_pixels_i, .ifmap_data_i,
    .filter_valid_i, .filter_ready_o, .filter_lanes_i(1'b1), .filter_data_i,
    .tap_valid_i, .tap_ready_o, .tap_data_i,
    .word_valid_i, .word_ready_o, .word_data_i,
    .dw_valid_i   (above_valid_i),
    .dw_ready_o   (above_ready_o),
    .dw_sums_i    (above_sums_i),
    .dw_valid_o   (below_valid_o),
    .dw_ready_i   (below_ready_i),
    .dw_sums_o    (below_sums_o),
    .chain_valid_i, .chain_ready_o,
    .chain_phase_i(chain_phase_t'(chain_phase_i)),
    .chain_sum_i,
    .chain_valid_o(out_valid_o),
    .chain_ready_i(out_ready_i),
    .chain_phase_o(out_phase_o),
    .chain_sum_o  (out_sum_o),
    .macs_o       (macs),
    .gated_o      (gated),
    .wait_o       ()
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      macs_o  <= '0;
      gated_o <= '0;
    end else begin
      macs_o  <= macs_o + 32'(macs);
      gated_o <= gated_o + 32'(gated);
    end
  end

endmodule
