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

  input  logic           word_valid_i,
  output logic           word_ready_o,
  input  glb_word_t      word_i,

  output logic           request_valid_o,
  input  logic           request_ready_i,
  output glb_request_t   request_o
);

  stream_config_t     cfg_q;
  logic               epoch_q, running_q, take, start, step, in_range;
  glb_address_t       address;
  logic signed [11:0] x;
  logic               y_inside;
  tag_t               tag;
  logic [Levels:0]    inner_first, inner_last;
  logic [Levels-1:0]  at_first, at_last;

  assign take        = !running_q && cfg_epoch_i != epoch_q;
  assign start       = take && cfg_i.options.enable;
  assign cfg_epoch_o = epoch_q;
  assign done_o      = (take && !cfg_i.options.enable) || (step && inner_last[Levels]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      epoch_q   <= 1'b0;
      running_q <= 1'b0;
    end else begin
      if (take) epoch_q <= cfg_epoch_i;
      if (start) running_q <= 1'b1;
      else if (step && inner_last[Levels]) running_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) cfg_q <= cfg_i;
  end

  address_generator u_generator (
    .clk_i, .rst_ni,
    .cfg_i        (start ? cfg_i : cfg_q),
    .start_i      (start),
    .step_i       (step && !inner_last[Levels]),
    .address_o    (address),
    .x_o          (x),
    .y_inside_o   (y_inside),
    .tag_o        (tag),
    .inner_first_o(inner_first),
    .inner_last_o (inner_last),
    .at_first_o   (at_first),
    .at_last_o    (at_last)
  );

  assign in_range        = y_inside && !x[11] && x < $signed(cfg_q.range.cols);
  assign request_valid_o = running_q && word_valid_i && in_range;
  assign word_ready_o    = running_q && (!in_range || request_ready_i);
  assign step            = word_valid_i && word_ready_o;

  always_comb begin : build_request
    request_o           = '0;
    request_o.write     = 1'b1;
    request_o.address   = address;
    request_o.data[0]   = word_i;
    request_o.strobe[0] = (at_last[OfmapBlockLevel] && at_last[OfmapTileLevel])
        ? cfg_q.options.last_strobe : '1;
  end

  logic unused_signals;
  assign unused_signals = ^{tag, inner_first, at_first, at_last};

  `EYRIE_STABLE(Request, request_valid_o, request_ready_i, request_o)
  `EYRIE_ASSERT_NEXT(OfferStands, cfg_epoch_i != epoch_q, $stable(cfg_epoch_i),
      "a pass was offered before the one before was taken")

endmodule
