// SPDX-License-Identifier: Apache-2.0
// The passes that PEs and SUPERs may be at: the one on offer and the one before, kept by pass_phase for
// all of them.
//
// cfg_i stands until all have taken it, so that whoever has not is at the pass before, whose
// configuration is that of the other pass_phase. held is the offer's from the cycle behind the change of
// pass_phase_i on, when the first can have taken it.

`include "assertions.svh"

module array_passes
  import eyrie_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  input  array_config_t cfg_i,
  input  logic          pass_phase_i,
  output array_passes_t passes_o
);

  logic                pass_phase_q;  // noted
  array_config_t [1:0] held_q;
  group_words_t        group_words;
  group_words_t [1:0]  group_words_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pass_phase_q <= 1'b0;
    else         pass_phase_q <= pass_phase_i;
  end

  always_ff @(posedge clk_i) begin
    if (pass_phase_i != pass_phase_q) begin
      held_q[pass_phase_i]        <= cfg_i;
      group_words_q[pass_phase_i] <= group_words;
    end
  end

  assign group_words = ((group_words_t'(cfg_i.shape.pixels) - 1'b1) << cfg_i.shape.stride_2) +
                       group_words_t'(cfg_i.shape.taps);
  assign passes_o    = '{
    pass_phase:  pass_phase_i,
    pending:     cfg_i.shape,
    held:        held_q,
    group_words: group_words_q
  };

  `EYRIE_ASSERT_NEXT(HeldIsPending, pass_phase_i != pass_phase_q,
      held_q[pass_phase_q] == $past(cfg_i), "the configuration on offer was not noted")

endmodule
