// SPDX-License-Identifier: Apache-2.0
// Loads the descriptor words of the streams, one stream after the other, two words per cycle: the
// options, then the loops in use, then address and range.
//
// wanted_i stays high until the stream has received its last words. load_o carries a pair of words
// for the stream whose valid bit is set; the pair is read one cycle before.

`include "assertions.svh"

module stream_loader
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [Streams-1:0] wanted_i,
  output logic               read_o,
  output config_pair_t       read_pair_o,
  input  glb_word_t [1:0]    read_words_i,
  output stream_load_t       load_o
);

  localparam int unsigned Pairs = StreamWords / 2;
  localparam int unsigned LastStep = Pairs - 1;  // last step of a stream with all loops

  typedef logic [$clog2(Pairs)-1:0]   pair_t;
  typedef logic [$clog2(Streams)-1:0] stream_t;

  logic               reading_q, choose;
  stream_t            stream_q, next;
  pair_t              step_q, last_q, pair;
  logic               last;  // last step of the stream
  stream_options_t    options;
  logic [Streams-1:0] waiting, served_q, valid_q;
  stream_pair_t       pair_q;

  // wanted_i of a stream is high until its last words have arrived.
  assign waiting = wanted_i & ~served_q & ~valid_q;
  assign choose  = !reading_q || last;

  // The options arrive in step 1, which reads the innermost loops.
  assign options = stream_options_t'(read_words_i[StreamOptionsOffset%2]);
  assign last    = step_q == pair_t'(LastStep) || (step_q > pair_t'(1) && step_q == last_q);

  logic unused_options;
  assign unused_options = ^options;

  always_comb begin : first_of_all
    next = '0;
    for (int signed stream = Streams - 1; stream >= 0; stream--) begin
      if (waiting[stream]) next = stream_t'(stream);
    end
  end

  assign pair        = last ? '0 : step_q + 1'b1;
  assign read_o      = reading_q;
  assign read_pair_o = config_pair_t'(StreamsIndex / 2) + config_pair_t'(pair) +
                       config_pair_t'(Pairs) * config_pair_t'(stream_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reading_q <= 1'b0;
      stream_q  <= '0;
      step_q    <= '0;
      served_q  <= '0;
      valid_q   <= '0;
    end else begin
      if (choose) begin
        reading_q <= waiting != '0;
        stream_q  <= next;
        step_q    <= '0;
        served_q  <= '0;
        if (waiting != '0) served_q[next] <= 1'b1;
      end else begin
        step_q <= step_q + 1'b1;
      end
      valid_q <= '0;
      if (reading_q) valid_q[stream_q] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (reading_q) pair_q <= stream_pair_t'(pair);
    if (step_q == pair_t'(1)) last_q <= pair_t'(options.level_pairs) + pair_t'(2);
  end

  assign load_o = '{valid: valid_q, pair: pair_q, words: read_words_i};

  `EYRIE_STATIC(OptionsFirst, StreamOptionsOffset / 2 == 1 && StreamLevelsOffset / 2 == 2,
      "the options of a stream are not before its loops")
  `EYRIE_ASSERT_WHEN(WantedStays, valid_q != '0, (valid_q & wanted_i) == valid_q,
      "a stream receives words that it does not request")

endmodule
