// SPDX-License-Identifier: Apache-2.0
// Address generator: nested counters that step through the loop levels of a stream and output its
// position.
//
// A position is a row address (which wraps in a circular buffer), an offset, coordinates (y, x) and
// a tag. A step at level l adds the stride, step and tag of that level to the position at which the
// current iteration of the level began, and restarts all inner levels. Row and column of a tag are
// added as one number, minus tag_wrap if the sum reaches it. The half bit of the tag is added
// separately and does not wrap.
//
// start_i loads the first position from address_i and range_i, which are in cfg_i from the next
// cycle. step_i moves to the next position. position_o is the current position.
//
// Timing: a step between registers selects the level, its increments and its base, adds, and
// selects the wrapped sum if necessary. The wrapped sum is computed in parallel with the sum.
// Counters count down, so that their ends are flags.

`include "assertions.svh"

module address_generator
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  stream_config_t   cfg_i,
  input  stream_address_t  address_i,  // first address
  input  stream_range_t    range_i,    // first coordinates
  input  logic             start_i,
  input  logic             step_i,
  output stream_position_t position_o
);

  localparam int unsigned PlaceWidth = TagWidth - 1;  // bits of the row and column of a tag

  typedef struct packed {
    glb_address_t row_address;
    glb_address_t offset;
    coordinate_t  y;
    coordinate_t  x;
    tag_t         tag;
  } position_t;

  typedef logic [$bits(cfg_i.levels[0].last)-1:0] loop_count_t;

  position_t         base_q [Levels];   // position at the start of the current iteration
  position_t         from, next, first;
  loop_count_t       left_q [Levels];   // iterations left after the current one
  logic [Levels-1:0] at_first_q, at_last_q;
  logic [Levels-1:0] go;                // innermost level not in its last iteration
  stream_level_t     by;                // increments of that level
  tag_t              by_tag;
  logic [Levels:0]   inner_first, inner_last;

  assign first = '{
    row_address: address_i.row_address,
    offset:      address_i.offset,
    y:           range_i.y,
    x:           range_i.x,
    tag:         '0
  };

  assign inner_first[0] = 1'b1;
  assign inner_last[0]  = 1'b1;
  for (genvar l = 0; l < Levels; l++) begin : gen_inner
    assign inner_first[l+1] = &at_first_q[l:0];
    assign inner_last[l+1]  = &at_last_q[l:0];
    assign go[l]            = inner_last[l] && !at_last_q[l];
  end

  // At most one level steps, so the selection is an OR of ANDs.
  always_comb begin : choose
    by   = '0;
    from = '0;
    for (int unsigned l = 0; l < Levels; l++) begin
      by   |= go[l] ? cfg_i.levels[l] : '0;
      from |= go[l] ? base_q[l] : '0;
    end
  end
  assign by_tag = by.tag;

  // ---- Sums, and sums that wrap in a circular buffer ----

  logic [16:0]         row_sum, row_wrapped, row_excess;
  logic [PlaceWidth:0] place_sum, place_wrapped;
  logic                row_wraps, place_wraps;
  logic                place_carry_unused;
  logic [1:0]          row_carries_unused;

  // A carry-save stage makes one addition of three terms.
  assign row_sum     = 17'(from.row_address) + 17'(by.stride[15:0]);
  assign row_wrapped = less(17'(from.row_address), 17'(by.stride[15:0]),
                            17'(cfg_i.address.ring_size), 1'b0);
  // Not negative if the sum is beyond ring_last
  assign row_excess  = less(17'(from.row_address), 17'(by.stride[15:0]),
                            17'(cfg_i.address.ring_last), 1'b1);
  assign row_wraps   = cfg_i.address.ring_size != '0 && !row_excess[16];

  assign place_sum     = (PlaceWidth + 1)'({from.tag.row, from.tag.column}) +
                         (PlaceWidth + 1)'({by_tag.row, by_tag.column});
  assign place_wrapped = (PlaceWidth + 1)'(
      less(17'({from.tag.row, from.tag.column}), 17'({by_tag.row, by_tag.column}),
           17'(cfg_i.range.tag_wrap), 1'b0));
  assign place_wraps   = cfg_i.range.tag_wrap != '0 && !place_wrapped[PlaceWidth];

  // a + b - c, minus one if `one`
  function automatic logic [16:0] less(logic [16:0] a, logic [16:0] b, logic [16:0] c, logic one);
    return (a ^ b ^ ~c) +
           {(a[15:0] & b[15:0]) | (a[15:0] & ~c[15:0]) | (b[15:0] & ~c[15:0]), !one};
  endfunction

  always_comb begin : next_position
    next = from;
    unique case (by.axis)
      AxisRow: begin
        next.row_address = row_wraps ? row_wrapped[15:0] : row_sum[15:0];
        next.y           = from.y + by.step;
      end
      AxisColumn: begin
        next.offset = from.offset + by.stride;
        next.x      = from.x + by.step;
      end
      default: next.offset = from.offset + by.stride;
    endcase
    next.tag = {from.tag.half ^ by_tag.half,
                place_wraps ? place_wrapped[PlaceWidth-1:0] : place_sum[PlaceWidth-1:0]};
  end

  assign place_carry_unused = place_sum[PlaceWidth];
  assign row_carries_unused = {row_sum[16], row_wrapped[16]};

  // ---- Levels: inner levels restart at the new position ----

  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Levels; l++) begin
      if (start_i) begin
        base_q[l]     <= first;
        left_q[l]     <= cfg_i.levels[l].last;
        at_first_q[l] <= 1'b1;
        at_last_q[l]  <= cfg_i.levels[l].last == '0;
      end else if (step_i) begin
        if (inner_last[l]) base_q[l] <= next;
        if (inner_last[l+1]) begin
          left_q[l]     <= cfg_i.levels[l].last;
          at_first_q[l] <= 1'b1;
          at_last_q[l]  <= cfg_i.levels[l].last == '0;
        end else if (inner_last[l]) begin
          left_q[l]     <= left_q[l] - 1'b1;
          at_first_q[l] <= 1'b0;
          at_last_q[l]  <= left_q[l] == loop_count_t'(1);
        end
      end
    end
  end

  assign position_o = '{
    address:     base_q[0].row_address + base_q[0].offset,
    x:           base_q[0].x,
    y_inside:    !base_q[0].y[$high(base_q[0].y)] &&
                 base_q[0].y < coordinate_t'({1'b0, cfg_i.range.rows}),
    tag:         base_q[0].tag,
    inner_first: inner_first,
    inner_last:  inner_last,
    at_first:    at_first_q,
    at_last:     at_last_q
  };

  // The streams use their options and columns; at_last_q marks the last iteration.
  logic unused_fields;
  assign unused_fields = ^{cfg_i, address_i, range_i, by.last, row_excess};

  `EYRIE_ASSERT_WHEN(NoStepBeyondEnd, step_i && !start_i, !inner_last[Levels],
      "a step beyond the last position")

endmodule
