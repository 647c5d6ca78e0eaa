// SPDX-License-Identifier: Apache-2.0
// Nested counters: walks through a descriptor's loop levels and says where it is.
//
// A position is a row address (which wraps in a ring), an offset, coordinates (y, x) and a tag.
// Going on at level l adds that level's stride, step and tag to the position at which its present
// iteration started, and restarts all levels inside. A tag's row and column are added as one
// number, less tag_wrap where they reach it; its half bit is added by itself and not wrapped.
//
// start_i loads the first position; step_i goes on by one. Counts are numbers of iterations, at
// least 1. position_o is the present position.

`include "assertions.svh"

module address_generator
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  stream_config_t   cfg_i,
  input  logic             start_i,
  input  logic             step_i,
  output stream_position_t position_o
);

  typedef struct packed {
    logic [15:0]        row_address;
    logic [15:0]        offset;
    logic signed [11:0] y;
    logic signed [11:0] x;
    tag_t               tag;
  } position_t;

  position_t         base_q [Levels];   // where the present iteration of a level started
  position_t         from, next, first;
  logic [11:0]       count_q [Levels];
  logic [2:0]        level;             // the innermost one that is not in its last iteration
  stream_level_t     go;
  tag_t              go_tag;
  logic [Levels:0]   inner_first, inner_last;
  logic [Levels-1:0] at_first, at_last;

  assign first = '{
    row_address: cfg_i.address.row_address,
    offset:      cfg_i.address.offset,
    y:           cfg_i.range.y,
    x:           cfg_i.range.x,
    tag:         '0
  };

  assign inner_first[0] = 1'b1;
  assign inner_last[0]  = 1'b1;

  for (genvar l = 0; l < Levels; l++) begin : gen_compare
    assign at_first[l]      = count_q[l] == '0;
    assign at_last[l]       = count_q[l] == cfg_i.levels[l].count - 12'd1;
    assign inner_first[l+1] = inner_first[l] && at_first[l];
    assign inner_last[l+1]  = inner_last[l] && at_last[l];
  end

  always_comb begin : find_level
    level = '0;
    for (int l = Levels - 1; l >= 0; l--) begin
      if (!at_last[l]) level = 3'(l);
    end
  end

  assign go     = cfg_i.levels[level];
  assign go_tag = go.tag;
  assign from   = base_q[level];

  always_comb begin : next_position
    logic [15:0] row_address;
    logic [10:0] place;  // of the tag: row and column, with a carry
    next        = from;
    row_address = from.row_address + go.stride;
    if (go.axis == AxisRow) begin
      next.y           = from.y + 12'($signed(go.step));
      next.row_address = row_address;
      if (cfg_i.address.ring_size != '0 && row_address >= cfg_i.address.ring_end) begin
        next.row_address = row_address - cfg_i.address.ring_size;
      end
    end else begin
      next.offset = from.offset + go.stride;
      if (go.axis == AxisColumn) next.x = from.x + 12'($signed(go.step));
    end
    place = 11'({from.tag.row, from.tag.column}) + 11'({go_tag.row, go_tag.column});
    if (cfg_i.range.tag_wrap != '0 && place >= cfg_i.range.tag_wrap) place -= cfg_i.range.tag_wrap;
    next.tag = {from.tag.half ^ go_tag.half, place[9:0]};
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Levels; l++) begin
      if (start_i) begin
        base_q[l]  <= first;
        count_q[l] <= '0;
      end else if (step_i) begin
        if (l <= 32'(level)) base_q[l] <= next;
        if (l < 32'(level)) count_q[l] <= '0;
        else if (l == 32'(level)) count_q[l] <= count_q[l] + 12'd1;
      end
    end
  end

  assign position_o = '{
    address:     base_q[0].row_address + base_q[0].offset,
    x:           base_q[0].x,
    y_inside:    !base_q[0].y[11] && base_q[0].y < $signed(cfg_i.range.rows),
    tag:         base_q[0].tag,
    inner_first: inner_first,
    inner_last:  inner_last,
    at_first:    at_first,
    at_last:     at_last
  };

  // The streams use their options themselves; an iteration's end is at_last's.
  logic unused_fields;
  assign unused_fields = ^{cfg_i.options, go.count};

  `EYRIE_ASSERT_WHEN(NoStepBeyondEnd, step_i && !start_i, !inner_last[Levels],
      "step beyond the last position")

endmodule
