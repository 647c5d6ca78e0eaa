// SPDX-License-Identifier: Apache-2.0
// A SUPER PE with plain ports.
module super_pe_tb
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned MULTIPLIERS = 4,
  parameter int unsigned IFMAP_WORDS = 16,
  parameter int unsigned FILTER_WORDS = 24,
  parameter int unsigned PIXEL_WORDS = 14,
  parameter int unsigned PSUM_WORDS = 128,
  parameter int unsigned WORD_BUFFER_WORDS = 256,
  parameter int unsigned FILTER_LANES = 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [63:0] cfg_shape_i,
  input  logic [63:0] cfg_loops_i,
  input  logic [63:0] cfg_depthwise_i,
  input  logic        pass_phase_i,
  output logic [1:0]  pass_phase_o,
  input  logic        enable_i,

  input  logic        ifmap_valid_i,
  output logic        ifmap_ready_o,
  input  logic        ifmap_phase_i,
  input  logic [1:0]  ifmap_lanes_i,
  input  logic        ifmap_to_pixels_i,
  input  logic [63:0] ifmap_data_i,
  input  logic        filter_valid_i,
  output logic        filter_ready_o,
  input  logic        filter_phase_i,
  input  logic [32*FILTER_LANES-1:0] filter_data_i,
  input  logic [FILTER_LANES-1:0] filter_lanes_i,
  input  logic        tap_valid_i,
  output logic        tap_ready_o,
  input  logic        tap_phase_i,
  input  logic [31:0] tap_data_i,
  input  logic        parameters_valid_i,
  output logic        parameters_ready_o,
  input  logic        parameters_phase_i,
  input  logic [63:0] parameters_data_i,
  input  logic        parameters_half_i,

  // Words to the PEs of rows 0 and 1.
  output logic        top_valid_o,
  input  logic        top_ready_i,
  output logic [31:0] top_data_o,
  output logic        middle_valid_o,
  input  logic        middle_ready_i,
  output logic [31:0] middle_data_o,

  // Depthwise sums of the rows above.
  input  logic        above_valid_i,
  output logic        above_ready_o,
  input  logic [4*DwSumWidth-1:0] above_sums_i,

  // Sum chain.
  input  logic        chain_valid_i,
  output logic        chain_ready_o,
  input  logic [15:0] chain_control_i,
  input  logic [63:0] chain_sums_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [15:0] out_control_o,
  output logic [63:0] out_sums_o,  // of one pixel: the second is 0

  output logic        overrun_o,  // has come

  output logic [31:0] macs_o,
  output logic [31:0] zero_skipped_o
);

  array_config_t       cfg;
  array_passes_t       passes;
  operands_t           operands;
  operands_ready_t     operands_ready;
  word_request_t [1:0] words;
  chain_transfer_t     chain;
  pe_activity_t        activity;
  logic                overrun;

  assign cfg.shape       = array_shape_t'(cfg_shape_i);
  assign cfg.loops       = array_loops_t'(cfg_loops_i);
  assign cfg.depthwise   = depthwise_output_t'(cfg_depthwise_i);
  assign operands.ifmap  = '{valid: ifmap_valid_i, pass_phase: ifmap_phase_i, lanes: ifmap_lanes_i,
                             to_pixels: ifmap_to_pixels_i, data: ifmap_data_i};
  assign operands.filter = '{valid: filter_valid_i, pass_phase: filter_phase_i, lanes: 2'(filter_lanes_i),
                             data: 64'(filter_data_i)};
  assign operands.tap    = '{valid: tap_valid_i, pass_phase: tap_phase_i, data: tap_data_i};
  assign ifmap_ready_o   = operands_ready.ifmap;
  assign filter_ready_o  = operands_ready.filter;
  assign tap_ready_o     = operands_ready.tap;
  assign top_valid_o     = words[0].valid;
  assign top_data_o      = words[0].data;
  assign middle_valid_o  = words[1].valid;
  assign middle_data_o   = words[1].data;
  assign out_valid_o     = chain.valid;
  assign out_control_o   = chain.control;
  assign out_sums_o      = {chain.control.two_pixels ? chain.sums[1] : 32'd0, chain.sums[0]};

  array_passes u_passes (.clk_i, .rst_ni, .cfg_i(cfg), .pass_phase_i, .passes_o(passes));

  localparam pe_sizes_t Sizes = '{
    multipliers: MULTIPLIERS, ifmap_words: IFMAP_WORDS, filter_words: FILTER_WORDS,
    pixel_words: PIXEL_WORDS, psum_words: PSUM_WORDS, word_buffer_words: WORD_BUFFER_WORDS,
    filter_lanes: FILTER_LANES
  };

  super_pe #(.SIZES(Sizes)) u_dut (
    .clk_i, .rst_ni,
    .passes_i        (passes),
    .pass_phase_o, .enable_i,
    .operands_i      (operands),
    .operands_ready_o(operands_ready),
    .parameters_i    ('{valid: parameters_valid_i, pass_phase: parameters_phase_i, half: parameters_half_i,
                        data: parameters_data_i}),
    .parameters_ready_o,
    .words_o         (words),
    .words_ready_i   ({middle_ready_i, top_ready_i}),
    .dw_i            ('{valid: above_valid_i, sums: above_sums_i}),
    .dw_ready_o      (above_ready_o),
    .chain_i         ('{valid: chain_valid_i, control: chain_control_t'(chain_control_i), sums: chain_sums_i}),
    .chain_ready_o,
    .chain_o         (chain),
    .chain_ready_i   (out_ready_i),
    .overrun_o       (overrun),
    .activity_o      (activity)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      macs_o         <= '0;
      zero_skipped_o <= '0;
      overrun_o      <= 1'b0;
    end else begin
      overrun_o      <= overrun_o || overrun;
      macs_o         <= macs_o + (activity.multiplies ? 32'(WordChannels) : '0);
      zero_skipped_o <= zero_skipped_o + 32'(activity.zero_skipped);
    end
  end

endmodule
