// SPDX-License-Identifier: Apache-2.0
// The seven streams between the GLB and the units of the core. Each is a GLB client on one side and
// a stream interface on the other.
//
// Each stream accepts the pending pass on its own (accepted_o: all have). The ifmap stream of a
// pass then waits until passes_done_i has reached wait_passes_i. Filters in chunks wait until each
// chunk is loaded. ofmap_done_o: the ofmap of a pass, if it has one, is written. ofmap_unequal_o: a
// pass has more or fewer words than its ofmap. reading_o: a stream has words left to send.

`include "assertions.svh"

module stream_set
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned FILTER_LANES = 1  // filter words per cycle: 1 or 2
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         pending_phase_i,
  input  logic [Streams-1:0]           pending_used_i,
  output logic [Streams-1:0]           wanted_o,        // streams that request descriptor words
  input  stream_load_t                 load_i,
  input  count_t                       wait_passes_i,
  output logic                         accepted_o,
  input  count_t                       passes_done_i,
  input  count_t                       chunks_loaded_i,
  output logic                         chunk_freed_o,
  output logic                         ofmap_done_o,
  output logic                         ofmap_unequal_o,
  output logic                         reading_o,
  output logic                         ifmap_waits_o,   // waits for passes_done_i
  output logic                         filter_waits_o,  // waits for chunks_loaded_i

  // GLB clients, one per stream
  output logic         [Streams-1:0]   request_valid_o,
  input  logic         [Streams-1:0]   request_ready_i,
  output glb_request_t [Streams-1:0]   request_o,
  input  logic         [Streams-1:0]   read_valid_i,
  input  glb_word_t [Streams-1:0][1:0] read_data_i,

  // Stream interfaces of the array, the drain and the PPU
  output ifmap_stream_t                ifmap_o,
  input  logic                         ifmap_ready_i,
  output elementwise_stream_t          words_o,         // first operands of a vector pass
  input  logic                         words_ready_i,
  output filter_stream_t               filter_o,
  input  logic                         filter_ready_i,
  output filter_stream_t               depthwise_o,
  input  logic                         depthwise_ready_i,
  output word_stream_t                 parameters_o,
  input  logic                         parameters_ready_i,
  output word_stream_t                 residual_o,
  input  logic                         residual_ready_i,
  output word_stream_t                 ipsum_o,
  input  logic                         ipsum_ready_i,
  input  ofmap_stream_t                ofmap_i,
  output logic                         ofmap_ready_o
);

  logic [Streams-1:0] pass_phase;

  assign accepted_o = pass_phase == {Streams{pending_phase_i}};

  // ---- Streams ----

  logic                 [Streams-1:0] swap, waits, busy, freed, valid, ready, final_transfer;
  glb_word_t       [Streams-1:0][1:0] data;
  logic            [Streams-1:0][1:0] lanes;
  tag_t                 [Streams-1:0] tag;
  stream_options_t      [Streams-1:0] options;
  count_t                             wait_passes_q;
  logic                               ifmap_go, to_ppu;

  // The ifmap stream keeps its wait count, since wait_passes_i is stable only until all units have
  // accepted the pass.
  always_ff @(posedge clk_i) begin
    if (swap[StreamIfmap]) wait_passes_q <= wait_passes_i;
  end
  assign ifmap_go = semaphore_reached(passes_done_i, wait_passes_q);

  for (genvar s = 0; s < Streams; s++) begin : gen_stream
    if (s != StreamOfmap) begin : gen_read
      localparam int unsigned Lanes = (s == StreamIfmap)  ? 2 :
                                      (s == StreamFilter) ? FILTER_LANES : 1;
      glb_word_t [Lanes-1:0] stream_data;
      logic [Lanes-1:0]      stream_lanes;

      read_stream #(.LANES(Lanes), .KEEPS(s == StreamResidual)) u_stream (
        .clk_i, .rst_ni, .chunks_loaded_i,
        .pending_phase_i,
        .pending_used_i (pending_used_i[s]),
        .pass_phase_o   (pass_phase[s]),
        .wanted_o       (wanted_o[s]),
        .load_valid_i   (load_i.valid[s]),
        .load_pair_i    (load_i.pair),
        .load_words_i   (load_i.words),
        .swap_o         (swap[s]),
        .go_i           (s != StreamIfmap || ifmap_go),
        .chunk_freed_o  (freed[s]),
        .waiting_o      (waits[s]),
        .busy_o         (busy[s]),
        .request_valid_o(request_valid_o[s]),
        .request_ready_i(request_ready_i[s]),
        .request_o      (request_o[s]),
        .read_valid_i   (read_valid_i[s]),
        .read_data_i    (read_data_i[s]),
        .valid_o        (valid[s]),
        .ready_i        (ready[s]),
        .data_o         (stream_data),
        .lanes_o        (stream_lanes),
        .last_o         (final_transfer[s]),
        .tag_o          (tag[s]),
        .options_o      (options[s])
      );
      assign data[s]  = 128'(stream_data);
      assign lanes[s] = 2'(stream_lanes);
    end else begin : gen_write
      write_stream u_stream (
        .clk_i, .rst_ni,
        .pending_phase_i,
        .pending_used_i (pending_used_i[s]),
        .pass_phase_o   (pass_phase[s]),
        .wanted_o       (wanted_o[s]),
        .load_valid_i   (load_i.valid[s]),
        .load_pair_i    (load_i.pair),
        .load_words_i   (load_i.words),
        .done_o         (ofmap_done_o),
        .unequal_o      (ofmap_unequal_o),
        .word_i         (ofmap_i),
        .word_ready_o   (ofmap_ready_o),
        .request_valid_o(request_valid_o[s]),
        .request_ready_i(request_ready_i[s]),
        .request_o      (request_o[s])
      );
      assign {swap[s], waits[s], busy[s], freed[s], valid[s], final_transfer[s]} = '0;
      assign {data[s], lanes[s], tag[s], options[s]} = '0;
    end
  end

  // ---- Stream interfaces ----

  // Only the filter stream has chunks.
  assign chunk_freed_o  = freed[StreamFilter];
  assign filter_waits_o = waits[StreamFilter];
  assign ifmap_waits_o  = waits[StreamIfmap];
  assign reading_o      = busy != '0;

  assign to_ppu  = options[StreamIfmap].destination == ToPpu;
  assign words_o = '{
    valid: valid[StreamIfmap] && to_ppu,
    last:  final_transfer[StreamIfmap],
    lanes: lanes[StreamIfmap],
    words: data[StreamIfmap]
  };
  assign ifmap_o = '{
    swap:        swap[StreamIfmap],
    pass_phase:  pass_phase[StreamIfmap],
    valid:       valid[StreamIfmap] && !to_ppu,
    data:        data[StreamIfmap],
    lanes:       lanes[StreamIfmap],
    to_pixels:   options[StreamIfmap].destination == ToPixels,
    half_by_set: options[StreamIfmap].half_by_set,
    more_bands:  options[StreamIfmap].more_bands,
    tag:         tag[StreamIfmap]
  };
  assign filter_o = '{
    swap:        swap[StreamFilter],
    pass_phase:  pass_phase[StreamFilter],
    valid:       valid[StreamFilter],
    data:        data[StreamFilter],
    lanes:       lanes[StreamFilter],
    half_by_set: options[StreamFilter].half_by_set,
    tag:         tag[StreamFilter]
  };
  assign depthwise_o = '{
    swap:        swap[StreamDepthwise],
    pass_phase:  pass_phase[StreamDepthwise],
    valid:       valid[StreamDepthwise],
    data:        data[StreamDepthwise],
    lanes:       lanes[StreamDepthwise],
    half_by_set: options[StreamDepthwise].half_by_set,
    tag:         tag[StreamDepthwise]
  };
  assign parameters_o = '{
    valid:      valid[StreamParameters],
    pass_phase: pass_phase[StreamParameters],
    word:       data[StreamParameters][0]
  };
  assign residual_o = '{
    valid:      valid[StreamResidual],
    pass_phase: pass_phase[StreamResidual],
    word:       data[StreamResidual][0]
  };
  assign ipsum_o = '{
    valid:      valid[StreamIpsum],
    pass_phase: pass_phase[StreamIpsum],
    word:       data[StreamIpsum][0]
  };

  assign ready[StreamIfmap]      = to_ppu ? words_ready_i : ifmap_ready_i;
  assign ready[StreamFilter]     = filter_ready_i;
  assign ready[StreamDepthwise]  = depthwise_ready_i;
  assign ready[StreamParameters] = parameters_ready_i;
  assign ready[StreamResidual]   = residual_ready_i;
  assign ready[StreamIpsum]      = ipsum_ready_i;
  assign ready[StreamOfmap]      = 1'b0;

  logic unused_signals;
  assign unused_signals = ^{swap, waits, freed, data, lanes,
                            tag, options, ready, final_transfer,
                            read_valid_i[StreamOfmap], read_data_i[StreamOfmap]};

  `EYRIE_STABLE(Ofmap, ofmap_i.valid, ofmap_ready_o, ofmap_i)
  `EYRIE_ASSERT_WHEN(OneLoads, load_i.valid != '0, $onehot(load_i.valid),
      "descriptor words for two streams in one cycle")

endmodule
