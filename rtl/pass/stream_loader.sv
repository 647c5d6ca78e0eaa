// SPDX-License-Identifier: Apache-2.0
// Hands the streams their words of the descriptor, one stream after the other, two words a cycle:
// options first, then the loops that these say are used, address and range last.
//
// wanted_i stays until the stream has got its last words. load_o carries the words for the stream
// whose bit of valid is set; they are read a cycle before.

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
  localparam int unsigned Most = Pairs - 1;  // of the steps of a stream, counted from 0

  typedef logic [$clog2(Pairs)-1:0]   pair_t;
  typedef logic [$clog2(Streams)-1:0] stream_t;

  logic               reading_q, choose;
  stream_t            stream_q, next;
  pair_t              step_q, last_q, pair;
  logic               last;  // step of a stream
  stream_options_t    options;
  logic [Streams-1:0] waiting, served_q, valid_q;
  stream_pair_t       pair_q;

  // A stream goes on wanting until its last words have come.
  assign waiting = wanted_i & ~served_q & ~valid_q;
  assign choose  = !reading_q || last;

  // The options come with step 1, which is that of the innermost loops.
  assign options = stream_options_t'(read_words_i[StreamOptionsOffset%2]);
  assign last    = step_q == pair_t'(Most) || (step_q > pair_t'(1) && step_q == last_q);

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
      "a stream's options are not in front of its loops")
  `EYRIE_ASSERT_WHEN(WantedStays, valid_q != '0, (valid_q & wanted_i) == valid_q,
      "a stream that wants no words gets some")

endmodule
