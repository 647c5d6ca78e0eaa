// SPDX-License-Identifier: Apache-2.0
// Writes the PPU's words into the GLB, each where the descriptor says; words outside of the ofmap
// (ragged edges) are dropped.
//
// done_o: the last word of a pass has been written; a pass without ofmap is done as soon as it is
// taken.

`include "assertions.svh"

module write_stream
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_ni,

  input  stream_config_t cfg_i,
  input  logic           cfg_epoch_i,
  output logic           cfg_epoch_o,
  output logic           done_o,

  input  word_feed_t     word_i,
  output logic           word_ready_o,

  output logic           request_valid_o,
  input  logic           request_ready_i,
  output glb_request_t   request_o
);

  stream_config_t   cfg;
  stream_position_t at;
  logic             running, take, step, last, in_range;

  stream_walker u_walker (
    .clk_i, .rst_ni, .cfg_i, .cfg_epoch_i, .cfg_epoch_o,
    .free_i    (1'b1),
    .take_o    (take),
    .cfg_o     (cfg),
    .running_o (running),
    .step_i    (step),
    .last_o    (last),
    .position_o(at)
  );

  assign done_o          = (take && !cfg_i.options.enable) || (step && last);
  assign in_range        = at.y_inside && !at.x[11] && at.x < $signed(cfg.range.cols);
  assign request_valid_o = running && word_i.valid && in_range;
  assign word_ready_o    = running && (!in_range || request_ready_i);
  assign step            = word_i.valid && word_ready_o;

  always_comb begin : build_request
    request_o           = '0;
    request_o.write     = 1'b1;
    request_o.address   = at.address;
    request_o.data[0]   = word_i.word;
    request_o.strobe[0] = (at.at_last[OfmapBlockLevel] && at.at_last[OfmapTileLevel])
        ? cfg.options.last_strobe : '1;
  end

  logic unused_signals;
  assign unused_signals = ^{cfg, at};

  `EYRIE_STABLE(Request, request_valid_o, request_ready_i, request_o)
endmodule
