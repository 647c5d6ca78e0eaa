// SPDX-License-Identifier: Apache-2.0
// Written by scripts/gen_pkg.py from model/legality.py, which says what each rule is for: do not
// edit here.
//
// Whether the descriptor on offer breaks a rule. Combinational.

module descriptor_rules
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, in sets of three
  parameter int unsigned COLS = 8,  // PE columns
  parameter int unsigned IFMAP_WORDS = 15,  // 32-bit words of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // 32-bit words of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,  // 32-bit words of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,  // 32-bit sums in a half of a PE's psum buffer
  parameter int unsigned FILTER_LANES = 1  // filter words from the GLB to the array in a cycle
) (
  input  pass_config_t pass_i,
  output logic         illegal_o
);

  localparam int unsigned SETS = ROWS / SetRows;

  function automatic int unsigned joints_within();
    joints_within = 0;
    for (int unsigned row = 0; row < ROWS - 1; row++) begin
      if (row % SetRows != SetRows - 1) joints_within |= 1 << row;
    end
  endfunction
  localparam int unsigned LN_WITHIN = joints_within();

  logic [52:0] broken;

  // a mode that there is not
  assign broken[0] = !(32'(pass_i.array.shape.mode) <= 32'(ArrayElementwise));
  // a pass of no pixels
  assign broken[1] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.array.shape.pixels) >= 32'd1));
  // a loop of none
  assign broken[2] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      ((32'(pass_i.array.loops.groups) >= 32'd1) && (32'(pass_i.array.loops.inner) >= 32'd1) &&
      (32'(pass_i.array.loops.tiles) >= 32'd1) && (32'(pass_i.array.loops.outer) >= 32'd1)));
  // filters of an elementwise pass
  assign broken[3] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (((32'(pass_i.array.shape.filters_0) + 32'(pass_i.array.shape.filters_1)) +
      32'(pass_i.array.shape.filters_2)) == 32'd0));
  // sums of row 0 of a set do not fit a psum half
  assign broken[4] = !((32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)) ||
      ((32'(pass_i.array.shape.pixels) * 32'(pass_i.array.shape.filters_0)) <= PSUM_WORDS));
  // sums of row 1 of a set do not fit a psum half
  assign broken[5] = !((32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)) ||
      ((32'(pass_i.array.shape.pixels) * 32'(pass_i.array.shape.filters_1)) <= PSUM_WORDS));
  // sums of row 2 of a set do not fit a psum half
  assign broken[6] = !((32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)) ||
      ((32'(pass_i.array.shape.pixels) * 32'(pass_i.array.shape.filters_2)) <= PSUM_WORDS));
  // pixels do not fit the pixel queue
  assign broken[7] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayPointwise))) || (32'(pass_i.array.shape.pixels) <=
      PIXEL_WORDS));
  // depthwise work has three taps
  assign broken[8] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise))) || (32'(pass_i.array.shape.taps) ==
      32'd3));
  // a depthwise group does not fit the ifmap queue
  assign broken[9] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise))) || ((((32'(pass_i.array.shape.pixels) -
      32'd1) * (32'(pass_i.array.shape.stride_2) + 32'd1)) + 32'd3) <= IFMAP_WORDS));
  // filters of row 0 of a set do not fit the filter queue
  assign broken[10] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) * 32'(pass_i.array.shape.filters_0)) <= FILTER_WORDS));
  // filters of row 1 of a set do not fit the filter queue
  assign broken[11] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) * 32'(pass_i.array.shape.filters_1)) <= FILTER_WORDS));
  // filters of row 2 of a set do not fit the filter queue
  assign broken[12] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) * 32'(pass_i.array.shape.filters_2)) <= FILTER_WORDS));
  // a deal that goes on where there is none, or to rows without filters
  assign broken[13] = !((32'(pass_i.array.shape.deal) == 32'd0) || (((32'(pass_i.array.shape.mode)
      == 32'(ArrayFused)) || (32'(pass_i.array.shape.mode) == 32'(ArrayPointwise))) &&
      (32'(pass_i.array.shape.deal) < 32'd3) && (32'(pass_i.array.shape.filters_0) >= 32'd1) &&
      (32'(pass_i.array.shape.filters_1) >= 32'd1) && (32'(pass_i.array.shape.filters_2) >=
      32'd1)));
  // a convolution of no taps
  assign broken[14] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      (32'(pass_i.array.shape.taps) >= 32'd1));
  // an empty clamp of depthwise words
  assign broken[15] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise))) || (32'(pass_i.array.depthwise.act_min)
      <= 32'(pass_i.array.depthwise.act_max)));
  // the drain takes other sums than the array makes
  assign broken[16] = !((32'((32'(pass_i.drain.mode) == 32'(DrainNone))) ==
      32'((32'(pass_i.array.shape.mode) == 32'(ArrayElementwise)))) && (32'((32'(pass_i.drain.mode)
      == 32'(DrainConvolution))) == 32'((32'(pass_i.array.shape.mode) == 32'(ArrayConvolution)))) &&
      (32'((32'(pass_i.drain.mode) == 32'(DrainWords))) == 32'((32'(pass_i.array.shape.mode) ==
      32'(ArrayDepthwise)))));
  // columns that there are not
  assign broken[17] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) || ((32'd1 <=
      32'(pass_i.drain.columns)) && (32'(pass_i.drain.columns) <= COLS)));
  // a block of none, or of more than 8
  assign broken[18] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) || ((32'd1 <=
      32'(pass_i.drain.block)) && (32'(pass_i.drain.block) <= 32'd8) && (32'(pass_i.drain.blocks) >=
      32'd1) && (32'(pass_i.drain.set_filters) >= 32'd1)));
  // a last block of none, or of more than the others
  assign broken[19] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) || ((32'd1 <=
      32'(pass_i.drain.last_block)) && (32'(pass_i.drain.last_block) <= 32'(pass_i.drain.block))));
  // a last block of fewer filters where these are not dealt
  assign broken[20] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.drain.mode) == 32'(DrainPointwise)) || (32'(pass_i.drain.last_block) ==
      32'(pass_i.drain.block)));
  // a chain at a set that there is not
  assign broken[21] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      ((32'(pass_i.drain.heads) >= 32'd1) && (((32'(pass_i.drain.heads) - 32'd1) *
      32'(pass_i.drain.head_sets)) < SETS)));
  // a block of more filters than its chains have
  assign broken[22] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.drain.mode) == 32'(DrainPointwise)) || (32'(pass_i.drain.block) <=
      (32'(pass_i.drain.set_filters) * ((32'(pass_i.drain.fold) != 32'd0) ? 32'd1 :
      32'(pass_i.drain.heads)))));
  // row 0 of a set has other filters than the drain takes
  assign broken[23] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.array.shape.filters_0) == ((((32'(pass_i.drain.rows) >> 32'd0) & 32'd1) != 32'd0)
      ? 32'(pass_i.drain.set_filters) : 32'd0)));
  // row 1 of a set has other filters than the drain takes
  assign broken[24] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.array.shape.filters_1) == ((((32'(pass_i.drain.rows) >> 32'd1) & 32'd1) != 32'd0)
      ? 32'(pass_i.drain.set_filters) : 32'd0)));
  // row 2 of a set has other filters than the drain takes
  assign broken[25] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.array.shape.filters_2) == ((((32'(pass_i.drain.rows) >> 32'd2) & 32'd1) != 32'd0)
      ? 32'(pass_i.drain.set_filters) : 32'd0)));
  // a convolution drains block by block
  assign broken[26] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.drain.blocks) == 32'd1));
  // the drain takes other filters than the array has
  assign broken[27] = !((32'(pass_i.drain.mode) != 32'(DrainPointwise)) || ((32'(pass_i.drain.block)
      * 32'(pass_i.drain.blocks)) == (((32'(pass_i.array.shape.filters_0) +
      32'(pass_i.array.shape.filters_1)) + 32'(pass_i.array.shape.filters_2)) +
      (32'(pass_i.drain.block) - 32'(pass_i.drain.last_block)))));
  // filters are not dealt as they come
  assign broken[28] = !((32'(pass_i.drain.mode) != 32'(DrainPointwise)) || ((32'(pass_i.drain.rows)
      == 32'd7) && (32'(pass_i.drain.pairs) < FILTER_LANES)));
  // words are halves without ipsum
  assign broken[29] = !((32'(pass_i.drain.mode) != 32'(DrainWords)) || ((32'(pass_i.drain.block) ==
      32'd2) && !(32'(pass_i.drain.ipsum) != 32'd0)));
  // a chain is cut within a set
  assign broken[30] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      ((32'(pass_i.drain.ln) & LN_WITHIN) == LN_WITHIN));
  // an elementwise pass without the PPU
  assign broken[31] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.drain.to_ppu) != 32'd0));
  // the PPU gets other words than it takes
  assign broken[32] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.raw) ==
      32'((32'(pass_i.drain.mode) == 32'(DrainWords)))));
  // a pooling that there is not
  assign broken[33] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.pool) <=
      32'(PoolMax)));
  // raw words are not pooled
  assign broken[34] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || !(32'(pass_i.post.finish.raw) !=
      32'd0) || (32'(pass_i.post.finish.pool) == 32'(PoolNone)));
  // a pooling of an elementwise pass
  assign broken[35] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.post.finish.pool) == 32'(PoolNone)));
  // an empty clamp
  assign broken[36] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.raw) !=
      32'd0) || (32'(pass_i.post.finish.act_min) <= 32'(pass_i.post.finish.act_max)));
  // maxima of an odd number of columns or pixels
  assign broken[37] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.pool) !=
      32'(PoolMax)) || (((32'(pass_i.drain.columns) | 32'(pass_i.array.shape.pixels)) & 32'd1) ==
      32'd0));
  // an average over none, or over more than 1024 pixels
  assign broken[38] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.pool) !=
      32'(PoolAverage)) || ((32'd1 <= 32'(pass_i.post.finish.pool_count)) &&
      (32'(pass_i.post.finish.pool_count) <= 32'd1024)));
  // an empty clamp of an operation
  assign broken[39] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.result.operation)
      == 32'(OperationNone)) || (32'(pass_i.post.result.act_min) <=
      32'(pass_i.post.result.act_max)));
  // a shift beyond -31 to 30
  assign broken[40] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || ((32'(pass_i.post.result.shift) !=
      32'd31) && ((32'(pass_i.post.result.shift) + 32'd32) != 32'd0)));
  // a window of what has none
  assign broken[41] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.first.window) ==
      32'd0) || (!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) &&
      ((32'(pass_i.post.result.operation) == 32'(OperationMaximum)) ||
      (32'(pass_i.post.result.operation) == 32'(OperationMinimum)) ||
      (32'(pass_i.post.result.operation) == 32'(OperationSum)))));
  // a sum over no window
  assign broken[42] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.result.operation)
      != 32'(OperationSum)) || (32'(pass_i.post.first.window) >= 32'd1));
  // a pass without ifmap
  assign broken[43] = !pass_i.streams[StreamIfmap];
  // ifmap words to where they are not taken
  assign broken[44] = !((32'((32'(pass_i.destination) == 32'(ToPixels))) ==
      32'((32'(pass_i.array.shape.mode) == 32'(ArrayPointwise)))) && (32'((32'(pass_i.destination)
      == 32'(ToPpu))) == 32'((32'(pass_i.array.shape.mode) == 32'(ArrayElementwise)))));
  // packed pixels that come one by one
  assign broken[45] = !(!(32'(pass_i.packed_pixels) != 32'd0) || (!(32'(pass_i.single) != 32'd0) &&
      (32'(pass_i.destination) != 32'(ToPpu))));
  // filters without use, or none
  assign broken[46] = !(32'(pass_i.streams[StreamFilter]) == 32'(((32'(pass_i.array.shape.mode) !=
      32'(ArrayElementwise)) && (32'(pass_i.array.shape.mode) != 32'(ArrayDepthwise)))));
  // depthwise filters without use, or none
  assign broken[47] = !(32'(pass_i.streams[StreamDepthwise]) == 32'(((32'(pass_i.array.shape.mode)
      == 32'(ArrayFused)) || (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)))));
  // tables without use, or none
  assign broken[48] = !(32'(pass_i.streams[StreamTable]) == 32'(((32'(pass_i.drain.to_ppu) != 32'd0)
      && (((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ?
      32'(!(32'(pass_i.post.finish.raw) != 32'd0)) : 32'((32'(pass_i.post.result.operation) ==
      32'(OperationSum)))) != 32'd0))));
  // an ipsum without use, or none
  assign broken[49] = !(32'(pass_i.streams[StreamIpsum]) == 32'(((32'(pass_i.drain.ipsum) != 32'd0)
      && (32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)))));
  // an ofmap without words, or none
  assign broken[50] = !(32'(pass_i.streams[StreamOfmap]) == 32'(pass_i.drain.to_ppu));
  // a residual without use, or none
  assign broken[51] = !(32'(pass_i.streams[StreamResidual]) == 32'(((32'(pass_i.drain.to_ppu) !=
      32'd0) && (((32'(pass_i.post.result.operation) == 32'(OperationAdd)) ||
      (32'(pass_i.post.result.operation) == 32'(OperationSub)) || (32'(pass_i.post.result.operation)
      == 32'(OperationMul)) || ((32'(pass_i.post.first.window) == 32'd0) &&
      ((32'(pass_i.post.result.operation) == 32'(OperationMaximum)) ||
      (32'(pass_i.post.result.operation) == 32'(OperationMinimum))))) ||
      (32'(pass_i.post.result.operation) == 32'(OperationTable))))));
  // two pixels at a time of what leaves one by one
  assign broken[52] = !(!(32'(pass_i.drain.two_pixels) != 32'd0) || (((32'(pass_i.drain.mode) ==
      32'(DrainConvolution)) || (32'(pass_i.drain.mode) == 32'(DrainPointwise))) &&
      !(32'(pass_i.drain.ipsum) != 32'd0) && (!(32'(pass_i.drain.to_ppu) != 32'd0) ||
      ((32'(pass_i.post.finish.pool) == 32'(PoolNone)) && (32'(pass_i.post.result.operation) ==
      32'(OperationNone))))));

  assign illegal_o = broken != '0;

  logic unused_fields;
  assign unused_fields = ^pass_i;

endmodule
