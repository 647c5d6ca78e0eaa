// SPDX-License-Identifier: Apache-2.0
// Read stream: reads a tensor from the GLB in the order of its descriptor and sends it word by word
// (LANES = 1) or in pairs of adjacent pixels (LANES = 2), each transfer with its tag. With
// options.single a transfer has one word, at any column, in lane 0. With options.packed_pixels the
// two pixels of a pair are the halves of one word; each is sent as a word whose upper half is zero.
//
// A pair begins at an even column. If a row begins at an odd column, the stream reads the word
// before it as the first of the pair. That word, and the word after the end of a row, are not sent.
//
// Words outside the tensor (y or x out of range) have the pad value and need no GLB access. With
// KEEPS, nor does a word at the address of the last one that was read in the pass: a constant of a
// channel is read once for all pixels. The stream reads up to DEPTH transfers ahead.
//
// Timing: a skid buffer separates the path from a position to a bank from the path from a grant to
// the next position. A transfer is ready three cycles after its request, so DEPTH must be at least
// 4 for a transfer in every cycle.
//
// The stream accepts the descriptor of a pass when all transfers of the pass before have been sent;
// swap_o marks that cycle for the IDs of the network. Then it waits for go_i (semaphores). At each
// new chunk (options.chunk) it waits until the chunk has been loaded. chunk_freed_o: a chunk has
// been read for the last time.

`include "assertions.svh"

module read_stream
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned LANES = 1,  // words per transfer: 1 or 2
  parameter int unsigned DEPTH = 5,  // transfers read ahead, at least 4
  parameter bit          KEEPS = 0   // keeps the word read last, for positions at its address
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  pending_phase_i,  // see stream_walker
  input  logic                  pending_used_i,
  output logic                  pass_phase_o,
  output logic                  wanted_o,
  input  logic                  load_valid_i,
  input  stream_pair_t          load_pair_i,
  input  glb_word_t [1:0]       load_words_i,
  output logic                  swap_o,
  input  logic                  go_i,
  input  count_t                chunks_loaded_i,
  output logic                  chunk_freed_o,
  output logic                  waiting_o,      // waits for go_i or for a chunk
  output logic                  busy_o,         // words of a pass are left to send

  output logic                  request_valid_o,
  input  logic                  request_ready_i,
  output glb_request_t          request_o,
  input  logic                  read_valid_i,
  input  glb_word_t [1:0]       read_data_i,

  output logic                  valid_o,
  input  logic                  ready_i,
  output glb_word_t [LANES-1:0] data_o,
  output logic [LANES-1:0]      lanes_o,
  output logic                  last_o,         // last transfer of a pass
  output tag_t                  tag_o,
  output stream_options_t       options_o
);

  typedef struct packed {
    logic             last;     // last of the pass
    logic             again;    // the word that was read before it
    tag_t             tag;
    logic [LANES-1:0] lanes;    // lanes that are sent
    logic [LANES-1:0] fetched;  // lanes read from the GLB
  } transfer_t;

  typedef logic [$clog2(Levels)-1:0] level_t;

  // ---- Position ----

  stream_config_t   cfg;
  stream_position_t at;
  logic             running, step, last, transfers_empty;

  stream_walker u_walker (
    .clk_i, .rst_ni, .pending_phase_i, .pending_used_i, .pass_phase_o, .wanted_o,
    .load_valid_i, .load_pair_i, .load_words_i,
    .free_i    (transfers_empty),
    .accept_o  (swap_o),
    .cfg_o     (cfg),
    .running_o (running),
    .step_i    (step),
    .last_o    (last),
    .position_o(at)
  );

  assign options_o = cfg.options;

  // ---- Chunks ----

  count_t      chunks_accepted_q;
  level_t      chunk_level, reuse_level;
  logic        chunk_starts, chunk_missing;

  assign chunk_level   = level_t'(cfg.options.chunk_level);
  assign reuse_level   = chunk_level + 1'b1;
  assign chunk_starts  = cfg.options.chunk && at.at_first[reuse_level] &&
                         at.inner_first[chunk_level];
  assign chunk_missing = chunk_starts && chunks_accepted_q == chunks_loaded_i;
  assign chunk_freed_o = step && cfg.options.chunk && at.at_last[reuse_level] &&
                         at.inner_last[chunk_level];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) chunks_accepted_q <= '0;
    else if (step && chunk_starts) chunks_accepted_q <= chunks_accepted_q + 1'b1;
  end

  // ---- Request or pad ----

  localparam int unsigned RequestWidth = $bits(glb_address_t) + LANES;

  transfer_t        transfer, head;
  logic             transfer_ready, active, ready_to_ask, halved, odd;
  logic [LANES-1:0] x_inside, x_sent, words, ask;
  logic             again;
  logic             below;                      // x is negative
  logic signed [$bits(coordinate_t):0] beyond;  // not negative: x is beyond the last column

  assign halved = LANES == 2 && cfg.options.packed_pixels;
  assign odd    = LANES == 2 && !cfg.options.single && at.x[0];

  // x + 1 (or x - 1 for an odd x) is not computed. It is inside if x is, except at the ends.
  assign below  = at.x[$high(at.x)];
  assign beyond = ($bits(beyond))'(at.x) - ($bits(beyond))'({1'b0, cfg.range.cols});
  if (LANES > 1) begin : gen_pair
    level_t pair_level;
    assign pair_level  = level_t'(cfg.options.pair_level);
    assign x_inside[0] = !below && (beyond[$high(beyond)] || (odd && beyond == '0));
    assign x_inside[1] = !below && beyond[$high(beyond)] && (odd || !(&beyond));
    assign x_sent[0]   = !(odd && at.at_first[pair_level]);
    assign x_sent[1]   = !cfg.options.single &&
                         !((odd ^ cfg.options.odd_words) && at.at_last[pair_level]);
  end else begin : gen_single
    assign x_inside = !below && beyond[$high(beyond)];
    assign x_sent   = 1'b1;
  end

  assign words      = halved ? LANES'(transfer.fetched != '0) : transfer.fetched;

  always_comb begin : place_lanes
    transfer.last  = last;
    transfer.tag   = at.tag;
    transfer.again = again && at.y_inside && x_inside != '0;
    for (int signed lane = 0; lane < LANES; lane++) begin
      transfer.lanes[lane]   = x_sent[lane];
      transfer.fetched[lane] = x_sent[lane] && at.y_inside && x_inside[lane] && !again;
    end
  end

  assign waiting_o = running && (!go_i || chunk_missing);
  assign active    = running && go_i && !chunk_missing;
  assign step      = active && transfer_ready && ready_to_ask;

  skid_buffer #(.WIDTH(RequestWidth)) u_request (
    .clk_i, .rst_ni,
    .in_valid_i (active && transfer_ready && transfer.fetched != '0),
    .in_ready_o (ready_to_ask),
    .in_data_i  ({at.address ^ glb_address_t'(odd && !halved), words}),
    .out_valid_o(request_valid_o),
    .out_ready_i(request_ready_i),
    .out_data_o ({request_o.address, ask})
  );

  assign request_o.last = 1'b0;
  assign request_o.data = '0;
  for (genvar lane = 0; lane < 2; lane++) begin : gen_strobe
    if (lane < LANES) begin : gen_asked
      assign request_o.strobe[lane] = {8{ask[lane]}};
    end else begin : gen_none
      assign request_o.strobe[lane] = '0;
    end
  end

  // ---- Transfers and their data, in order ----

  logic head_valid, data_valid, data_ready, head_fetched;
  logic [LANES-1:0][63:0] data;
  glb_word_t kept;
  logic [$clog2(DEPTH+1)-1:0] transfer_count, unused_data_count;

  fifo #(.WIDTH($bits(transfer_t)), .DEPTH(DEPTH)) u_transfers (
    .clk_i, .rst_ni,
    .in_valid_i (step),
    .in_ready_o (transfer_ready),
    .in_data_i  (transfer),
    .out_valid_o(head_valid),
    .out_ready_i(valid_o && ready_i),
    .out_data_o (head),
    .count_o    (transfer_count)
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

  assign transfers_empty = transfer_count == '0;
  assign busy_o          = running || !transfers_empty;
  assign head_fetched    = head.fetched != '0;
  assign valid_o         = head_valid && (data_valid || !head_fetched);
  assign lanes_o         = head.lanes;
  assign last_o          = head.last;
  assign tag_o           = head.tag;

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lane
    assign data_o[lane] = head.again          ? kept :
                          !head.fetched[lane] ? {8{cfg.options.pad}} :
                          halved              ? 64'(data[0][32*lane +: 32]) : data[lane];
  end

  // ---- The last word that was read ----

  if (KEEPS) begin : gen_keep
    logic         asked_q;  // in this pass
    glb_address_t address_q;
    glb_word_t    kept_q;
    assign again = asked_q && at.address == address_q;
    assign kept  = kept_q;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni)     asked_q <= 1'b0;
      else if (swap_o) asked_q <= 1'b0;
      else if (step && transfer.fetched != '0) asked_q <= 1'b1;
    end

    always_ff @(posedge clk_i) begin
      if (step && transfer.fetched != '0)     address_q <= at.address;
      if (valid_o && ready_i && head_fetched) kept_q    <= data[0];
    end
  end else begin : gen_no_keep
    assign again = 1'b0;
    assign kept  = '0;
  end

  logic unused_signals;
  assign unused_signals = ^{cfg, at, beyond, read_data_i};

  `EYRIE_STATIC(DepthFits, DEPTH >= 4, "DEPTH is less than 4")
  `EYRIE_STATIC(KeepsOne, !KEEPS || LANES == 1, "only a stream of single words keeps one")
  `EYRIE_ASSERT_WHEN(DataFits, read_valid_i, data_ready, "no space for read data")
  `EYRIE_STABLE(Transfer, valid_o, ready_i, {data_o, lanes_o, last_o, tag_o})

endmodule
