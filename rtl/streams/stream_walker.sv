// SPDX-License-Identifier: Apache-2.0
// What all streams do alike: takes the descriptor of the pass on offer, and walks through its
// loops.
//
// A descriptor is taken (take_o) when the pass before has been walked through and free_i. With
// options.enable the walk starts then: running_o from the next cycle on; step_i goes on by one
// position; last_o marks the last one. cfg_o is the descriptor in use.

`include "assertions.svh"

module stream_walker
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,

  input  stream_config_t   cfg_i,
  input  logic             cfg_epoch_i,
  output logic             cfg_epoch_o,

  input  logic             free_i,    // the descriptor in use is not needed
  output logic             take_o,
  output stream_config_t   cfg_o,
  output logic             running_o,
  input  logic             step_i,
  output logic             last_o,
  output stream_position_t position_o
);

  stream_config_t cfg_q;
  logic           epoch_q, running_q, start;

  assign take_o      = !running_q && cfg_epoch_i != epoch_q && free_i;
  assign start       = take_o && cfg_i.options.enable;
  assign last_o      = position_o.inner_last[Levels];
  assign cfg_epoch_o = epoch_q;
  assign cfg_o       = cfg_q;
  assign running_o   = running_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      epoch_q   <= 1'b0;
      running_q <= 1'b0;
    end else begin
      if (take_o) epoch_q <= cfg_epoch_i;
      if (start) running_q <= 1'b1;
      else if (step_i && last_o) running_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_o) cfg_q <= cfg_i;
  end

  address_generator u_generator (
    .clk_i, .rst_ni,
    .cfg_i     (start ? cfg_i : cfg_q),
    .start_i   (start),
    .step_i    (step_i && !last_o),
    .position_o
  );

  `EYRIE_ASSERT_WHEN(StepsRunning, step_i, running_q, "a step of a stream without a pass")
  `EYRIE_ASSERT_NEXT(OfferStands, cfg_epoch_i != epoch_q, $stable(cfg_epoch_i),
      "a pass was offered before the one before was taken")

endmodule
