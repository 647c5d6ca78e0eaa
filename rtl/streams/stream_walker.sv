// SPDX-License-Identifier: Apache-2.0
// The common part of read and write streams: accepts the descriptor of the pending pass and steps
// through its loops.
//
// A change of pending_phase_i marks a pending pass. The stream accepts it (accept_o) when it has
// finished the pass before and free_i is high. If the pass does not use the stream, it accepts at
// once. Otherwise wanted_o requests the descriptor words, and the stream accepts in the cycle in
// which the last of them arrive. The walk starts then: running_o is high from the next cycle;
// step_i moves to the next position; last_o marks the last one. cfg_o is the descriptor in use.

`include "assertions.svh"

module stream_walker
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             pending_phase_i,
  input  logic             pending_used_i,
  output logic             pass_phase_o,
  output logic             wanted_o,
  input  logic             load_valid_i,
  input  stream_pair_t     load_pair_i,
  input  glb_word_t [1:0]  load_words_i,

  input  logic             free_i,    // the descriptor in use is no longer needed
  output logic             accept_o,
  output stream_config_t   cfg_o,
  output logic             running_o,
  input  logic             step_i,
  output logic             last_o,
  output stream_position_t position_o
);

  localparam int unsigned LevelPair = StreamLevelsOffset / 2;

  stream_config_t  cfg_q;
  stream_address_t first_address;
  stream_range_t   first_range;
  logic            pass_phase_q, running_q, pending, start;

  assign pending      = !running_q && pending_phase_i != pass_phase_q && free_i;
  assign wanted_o     = pending && pending_used_i;
  assign start        = load_valid_i && load_pair_i == '0;
  assign accept_o     = pending && (start || !pending_used_i);
  assign last_o       = position_o.inner_last[Levels];
  assign pass_phase_o = pass_phase_q;
  assign cfg_o        = cfg_q;
  assign running_o    = running_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pass_phase_q <= 1'b0;
      running_q    <= 1'b0;
    end else begin
      if (accept_o) pass_phase_q <= pending_phase_i;
      if (start) running_q <= 1'b1;
      else if (step_i && last_o) running_q <= 1'b0;
    end
  end

  assign first_address = stream_address_t'(load_words_i[StreamAddressOffset]);
  assign first_range   = stream_range_t'(load_words_i[StreamRangeOffset]);

  always_ff @(posedge clk_i) begin
    if (load_valid_i) begin
      if (load_pair_i == '0) begin
        cfg_q.address <= first_address;
        cfg_q.range   <= first_range;
      end
      if (load_pair_i == stream_pair_t'(StreamOptionsOffset / 2)) begin
        cfg_q.options <= stream_options_t'(load_words_i[StreamOptionsOffset%2]);
        cfg_q.levels  <= '0;  // levels that are not loaded run once
      end
      for (int unsigned level = 0; level < Levels; level++) begin
        if (load_pair_i == stream_pair_t'(LevelPair + level / 2)) begin
          cfg_q.levels[level] <= stream_level_t'(load_words_i[level%2]);
        end
      end
    end
  end

  address_generator u_generator (
    .clk_i, .rst_ni,
    .cfg_i    (cfg_q),
    .address_i(first_address),
    .range_i  (first_range),
    .start_i  (start),
    .step_i   (step_i && !last_o),
    .position_o
  );

  `EYRIE_ASSERT_WHEN(StepsRunning, step_i, running_q, "a step without a pass")
  `EYRIE_ASSERT_WHEN(LoadsWanted, load_valid_i, wanted_o, "descriptor words for a running stream")
  `EYRIE_ASSERT_NEXT(RequestHolds, pending_phase_i != pass_phase_q, $stable(pending_phase_i),
      "a pass is requested before the last one is accepted")

endmodule
