// SPDX-License-Identifier: Apache-2.0
// Configurations of the two passes that a PE or SUPER can run: the pending pass and the pass before
// it. They are stored once for all PEs, indexed by the pass ID (phase bit).
//
// cfg_i is stable until every PE and SUPER has accepted the pass. A unit that has not accepted it
// runs the pass before, whose configuration has the other phase bit. held has the pending
// configuration from the cycle after a change of pass_phase_i, which is when the first unit can
// have accepted it.

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

  logic                pass_phase_q;  // phase of the pass stored last
  array_config_t [1:0] held_q;
  group_words_t        group_words;
  group_words_t [1:0]  group_words_q;
  group_taps_t         group_taps;
  group_taps_t [1:0]   group_taps_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pass_phase_q <= 1'b0;
    else         pass_phase_q <= pass_phase_i;
  end

  always_ff @(posedge clk_i) begin
    if (pass_phase_i != pass_phase_q) begin
      held_q[pass_phase_i]        <= cfg_i;
      group_words_q[pass_phase_i] <= group_words;
      group_taps_q[pass_phase_i]  <= group_taps;
    end
  end

  assign group_words = ((group_words_t'(cfg_i.shape.pixels) - 1'b1) << cfg_i.shape.stride_2) +
                       group_words_t'(cfg_i.shape.taps);
  assign group_taps  = group_taps_t'(cfg_i.shape.taps) * group_taps_t'(cfg_i.loops.bands);
  assign passes_o    = '{
    pass_phase:  pass_phase_i,
    pending:     cfg_i.shape,
    held:        held_q,
    group_words: group_words_q,
    group_taps:  group_taps_q
  };

  `EYRIE_ASSERT_NEXT(HeldIsPending, pass_phase_i != pass_phase_q,
      held_q[pass_phase_q] == $past(cfg_i), "the pending configuration is not stored")

endmodule
