// SPDX-License-Identifier: Apache-2.0
// The passes that PEs and SUPERs may be at: the one on offer and the one before, kept by epoch for
// all of them.
//
// cfg_i stands until all have taken it, so that whoever has not is at the pass before, whose
// configuration is that of the other epoch. held is the offer's from the cycle behind the change of
// cfg_epoch_i on, when the first can have taken it.

`include "assertions.svh"

module array_passes
  import eyrie_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  input  array_config_t cfg_i,
  input  logic          cfg_epoch_i,
  output array_passes_t passes_o
);

  logic                epoch_q;  // noted
  array_config_t [1:0] held_q;
  group_words_t        group_words;
  group_words_t [1:0]  group_words_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) epoch_q <= 1'b0;
    else         epoch_q <= cfg_epoch_i;
  end

  always_ff @(posedge clk_i) begin
    if (cfg_epoch_i != epoch_q) begin
      held_q[cfg_epoch_i]        <= cfg_i;
      group_words_q[cfg_epoch_i] <= group_words;
    end
  end

  assign group_words = ((group_words_t'(cfg_i.shape.pixels) - 1'b1) << cfg_i.shape.stride_2) +
                       group_words_t'(cfg_i.shape.taps);
  assign passes_o    = '{
    epoch:       cfg_epoch_i,
    offer:       cfg_i.shape,
    held:        held_q,
    group_words: group_words_q
  };

  `EYRIE_ASSERT_NEXT(HeldIsOffered, cfg_epoch_i != epoch_q, held_q[epoch_q] == $past(cfg_i),
      "the configuration on offer was not noted")

endmodule
