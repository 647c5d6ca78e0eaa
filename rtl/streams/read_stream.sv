// SPDX-License-Identifier: Apache-2.0
// Reads a tensor from the GLB in the order of its descriptor and hands it on, word by word (LANES =
// 1) or in pairs of adjacent pixels (LANES = 2), each with its tag.
//
// Words outside of the tensor (y or x out of range) are the pad value, without a GLB access.
// Reading runs ahead of the consumer by DEPTH beats.
//
// A pass's descriptor is taken when all beats of the pass before have been handed on; swap_o marks
// that cycle, for the IDs of the network behind. Then the stream waits for go_i (tokens), and at
// each new chunk (options.chunk) until another filter chunk has been loaded; chunk_freed_o: one has
// been read for the last time.

`include "assertions.svh"

module read_stream
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned LANES = 1,  // words a beat: 1 or 2
  parameter int unsigned DEPTH = 4   // beats read ahead
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  stream_config_t        cfg_i,
  input  logic                  cfg_epoch_i,
  output logic                  cfg_epoch_o,
  output logic                  swap_o,
  input  logic                  go_i,
  input  logic [15:0]           chunks_loaded_i,
  output logic                  chunk_freed_o,
  output logic                  waiting_o,      // for go_i or for a chunk

  output logic                  request_valid_o,
  input  logic                  request_ready_i,
  output glb_request_t          request_o,
  input  logic                  read_valid_i,
  input  glb_word_t [1:0]       read_data_i,

  output logic                  valid_o,
  input  logic                  ready_i,
  output glb_word_t [LANES-1:0] data_o,
  output logic [LANES-1:0]      lanes_o,
  output tag_t                  tag_o,
  output stream_options_t       options_o
);

  typedef struct packed {
    tag_t             tag;
    logic [LANES-1:0] lanes;    // handed on
    logic [LANES-1:0] fetched;  // of these, from the GLB
  } beat_t;

  stream_config_t    cfg_q;
  logic              epoch_q, running_q;
  logic [15:0]       chunks_taken_q;
  logic              take, start, step;
  glb_address_t      address;
  logic signed [11:0] x;
  logic              y_inside;
  tag_t              tag;
  logic [Levels:0]   inner_first, inner_last;
  logic [Levels-1:0] at_first, at_last;
  logic [2:0]        pair_level, reuse_level;

  // ---- Pass ----

  logic beats_empty, chunk_starts, chunk_missing;

  assign take        = !running_q && cfg_epoch_i != epoch_q && beats_empty;
  assign start       = take && cfg_i.options.enable;
  assign swap_o      = take;
  assign cfg_epoch_o = epoch_q;
  assign options_o   = cfg_q.options;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      epoch_q        <= 1'b0;
      running_q      <= 1'b0;
      chunks_taken_q <= '0;
    end else begin
      if (take) epoch_q <= cfg_epoch_i;
      if (start) running_q <= 1'b1;
      else if (step && inner_last[Levels]) running_q <= 1'b0;
      if (step && chunk_starts) chunks_taken_q <= chunks_taken_q + 16'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) cfg_q <= cfg_i;
  end

  // ---- Where it stands ----

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

  assign reuse_level   = cfg_q.options.chunk_level + 3'd1;
  assign chunk_starts  = cfg_q.options.chunk && at_first[reuse_level] &&
                         inner_first[{1'b0, cfg_q.options.chunk_level}];
  assign chunk_missing = chunk_starts && chunks_taken_q == chunks_loaded_i;
  assign chunk_freed_o = step && cfg_q.options.chunk && at_last[reuse_level] &&
                         inner_last[{1'b0, cfg_q.options.chunk_level}];

  // ---- Request, or pad ----

  beat_t beat, head;
  logic  beat_valid, beat_ready, need_read, active;

  assign pair_level = {1'b0, cfg_q.options.pair_level};

  always_comb begin : place_lanes
    beat.tag = tag;
    for (int signed lane = 0; lane < LANES; lane++) begin
      logic signed [11:0] lane_x;
      lane_x = x + 12'(lane);
      beat.lanes[lane]   = !(lane == 0 && LANES == 2 && cfg_q.options.trim_first &&
                             at_first[pair_level]) &&
                           !(lane == 1 && cfg_q.options.trim_last && at_last[pair_level]);
      beat.fetched[lane] = beat.lanes[lane] && y_inside && !lane_x[11] &&
                           lane_x < $signed(cfg_q.range.cols);
    end
  end

  assign waiting_o       = running_q && (!go_i || chunk_missing);
  assign active          = running_q && go_i && !chunk_missing;
  assign need_read       = beat.fetched != '0;
  assign request_valid_o = active && need_read && beat_ready;
  assign step            = active && beat_ready && (!need_read || request_ready_i);
  assign beat_valid      = step;

  always_comb begin : build_request
    request_o         = '0;
    request_o.address = address;
    for (int unsigned lane = 0; lane < LANES; lane++) begin
      request_o.strobe[lane] = {8{beat.fetched[lane]}};
    end
  end

  // ---- Beats and their data, in order ----

  logic head_valid, data_valid, data_ready, head_fetched;
  logic [LANES-1:0][63:0] data;
  logic [$clog2(DEPTH+1)-1:0] beat_count, unused_data_count;

  fifo #(.WIDTH($bits(beat_t)), .DEPTH(DEPTH)) u_beats (
    .clk_i, .rst_ni,
    .in_valid_i (beat_valid),
    .in_ready_o (beat_ready),
    .in_data_i  (beat),
    .out_valid_o(head_valid),
    .out_ready_i(valid_o && ready_i),
    .out_data_o (head),
    .count_o    (beat_count)
  );

  fifo #(.WIDTH(LANES * 64), .DEPTH(DEPTH)) u_data (
    .clk_i, .rst_ni,
    .in_valid_i (read_valid_i),
    .in_ready_o (data_ready),
    .in_data_i  (read_data_i[LANES-1:0]),
    .out_valid_o(data_valid),
    .out_ready_i(valid_o && ready_i && head_fetched),
    .out_data_o (data),
    .count_o    (unused_data_count)
  );

  assign beats_empty  = beat_count == '0;
  assign head_fetched = head.fetched != '0;
  assign valid_o      = head_valid && (data_valid || !head_fetched);
  assign lanes_o      = head.lanes;
  assign tag_o        = head.tag;

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lane
    assign data_o[lane] = head.fetched[lane] ? data[lane] : {8{cfg_q.options.pad}};
  end

  logic unused_signals;
  assign unused_signals = ^{at_first, at_last, read_data_i};

  `EYRIE_ASSERT_WHEN(DataFits, read_valid_i, data_ready, "data without a place")
  `EYRIE_STABLE(Beat, valid_o, ready_i, {data_o, lanes_o, tag_o})

endmodule
