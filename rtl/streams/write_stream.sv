// SPDX-License-Identifier: Apache-2.0
// Write stream: writes the words of the PPU into the GLB at the addresses of its descriptor. Words
// outside the ofmap (ragged edges) are dropped. The second of two pixels goes to the next address.
// Both are written in one cycle if the first address is even, otherwise one after the other.
//
// done_o: the last word of a pass has been written; a pass without ofmap is done when all passes
// before it are. unequal_o: the last word of the PPU is not the last one of the descriptor's loops.
//
// Timing: requests leave through a skid buffer. Dropped words pass it, too, but request no access.
// The last word of a pass always requests an access, so that passes finish in order and their words
// are in place.

`include "assertions.svh"

module write_stream
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            pending_phase_i,  // see stream_walker
  input  logic            pending_used_i,
  output logic            pass_phase_o,
  output logic            wanted_o,
  input  logic            load_valid_i,
  input  stream_pair_t    load_pair_i,
  input  glb_word_t [1:0] load_words_i,
  output logic            done_o,
  output logic            unequal_o,

  input  ofmap_stream_t   word_i,
  output logic            word_ready_o,

  output logic            request_valid_o,
  input  logic            request_ready_i,
  output glb_request_t    request_o
);

  typedef struct packed {
    logic            last;   // last word of its pass
    logic [1:0]      lanes;  // lanes to write; none: dropped
    glb_address_t    address;
    logic [7:0]      strobe;
    glb_word_t [1:0] data;
  } write_t;

  stream_config_t   cfg;
  stream_position_t at;
  write_t           into, out;
  logic             running, accept, step, last, skip, into_ready, out_valid, out_ready;
  logic [1:0]       in_map;         // words inside the ofmap
  logic             apart;          // two words in two cycles
  logic             second_q;       // second word of the two
  logic signed [$bits(coordinate_t):0] beyond;  // not negative: x is beyond the last column

  stream_walker u_walker (
    .clk_i, .rst_ni, .pending_phase_i, .pending_used_i, .pass_phase_o, .wanted_o,
    .load_valid_i, .load_pair_i, .load_words_i,
    .free_i    (into_ready),
    .accept_o  (accept),
    .cfg_o     (cfg),
    .running_o (running),
    .step_i    (step),
    .last_o    (last),
    .position_o(at)
  );

  // x + 1 is not computed. It is inside if x is, except at the ends.
  assign beyond    = ($bits(beyond))'(at.x) - ($bits(beyond))'({1'b0, cfg.range.cols});
  assign in_map[0] = at.y_inside && !at.x[$high(at.x)] && beyond[$high(beyond)];
  assign in_map[1] = word_i.two_pixels && at.y_inside && (!at.x[$high(at.x)] || &at.x) &&
                     beyond[$high(beyond)] && !(&beyond);

  // It does not depend on the position, so that ready comes from registers.
  assign apart = word_i.two_pixels && at.address[0];

  assign skip         = accept && !pending_used_i;
  assign word_ready_o = running && into_ready && (!apart || second_q);
  assign step         = word_i.valid && word_ready_o;
  assign unequal_o    = step && word_i.last != last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) second_q <= 1'b0;
    else if (word_i.valid && running && into_ready) second_q <= apart && !second_q;
  end

  assign into = '{
    last:    skip || (step && last),
    lanes:   skip ? '0 : second_q ? {1'b0, in_map[1]} : {in_map[1] && !apart, in_map[0]},
    address: at.address + glb_address_t'(second_q),
    strobe:  (at.at_last[OfmapBlockLevel] && at.at_last[OfmapTileLevel])
                 ? cfg.options.last_strobe : '1,
    data:    {word_i.words[1], word_i.words[second_q]}
  };

  skid_buffer #(.WIDTH($bits(write_t))) u_request (
    .clk_i, .rst_ni,
    .in_valid_i (skip || (word_i.valid && running)),
    .in_ready_o (into_ready),
    .in_data_i  (into),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready),
    .out_data_o (out)
  );

  assign request_valid_o = out_valid && (out.lanes != '0 || out.last);
  assign out_ready       = request_ready_i || !request_valid_o;
  assign done_o          = out_valid && out_ready && out.last;

  always_comb begin : build_request
    request_o         = '0;
    request_o.last    = out.last;
    request_o.address = out.address;
    request_o.data    = out.data;
    for (int unsigned lane = 0; lane < 2; lane++) begin
      request_o.strobe[lane] = out.strobe & {8{out.lanes[lane]}};
    end
  end

  logic unused_signals;
  assign unused_signals = ^{cfg, at, beyond};

  `EYRIE_STABLE(Request, request_valid_o, request_ready_i, request_o)
  `EYRIE_ASSERT_WHEN(PairsEven, request_valid_o && out.lanes[1], !out.address[0],
      "two words in one cycle at an odd address")
  `EYRIE_COVER(Apart, step && second_q)
  `EYRIE_ASSERT_WHEN(SkipFits, skip, into_ready, "the end of a pass is lost")
  `EYRIE_ASSERT(SkipOrStep, !(skip && step), "a pass ends and steps in one cycle")

endmodule
