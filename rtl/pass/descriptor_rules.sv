// SPDX-License-Identifier: Apache-2.0
// Written by scripts/gen_pkg.py from model/legality.py, which documents the rules: do not edit
// here.
//
// Checks the rules for the pending descriptor. Combinational.

module descriptor_rules
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, in sets of three
  parameter int unsigned COLS = 8,  // PE columns
  parameter int unsigned IFMAP_WORDS = 16,  // 32-bit words of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // 32-bit words of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,  // 32-bit words of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,  // 32-bit sums in a half of a PE's psum buffer
  parameter int unsigned FILTER_LANES = 1  // filter words from the GLB to the array in a cycle
) (
  input  pass_config_t pass_i,
  output logic         illegal_o
);

  localparam int unsigned SETS = ROWS / SetRows;

  function automatic int unsigned links_within_set();
    links_within_set = 0;
    for (int unsigned row = 0; row < ROWS - 1; row++) begin
      if (row % SetRows != SetRows - 1) links_within_set |= 1 << row;
    end
  endfunction
  localparam int unsigned LINKS_WITHIN_SET = links_within_set();

  logic [58:0] broken;

  // unknown array mode
  assign broken[0] = !(32'(pass_i.array.shape.mode) <= 32'(ArrayElementwise));
  // a pass needs at least one pixel
  assign broken[1] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.array.shape.pixels) >= 32'd1));
  // every loop needs at least one iteration
  assign broken[2] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      ((32'(pass_i.array.loops.groups) >= 32'd1) && (32'(pass_i.array.loops.inner) >= 32'd1) &&
      (32'(pass_i.array.loops.tiles) >= 32'd1) && (32'(pass_i.array.loops.outer) >= 32'd1)));
  // a vector pass has no filters
  assign broken[3] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (((32'(pass_i.array.shape.filters_0) + 32'(pass_i.array.shape.filters_1)) +
      32'(pass_i.array.shape.filters_2)) == 32'd0));
  // psums of set row 0 do not fit a half of the psum buffer
  assign broken[4] = !((32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)) ||
      ((32'(pass_i.array.shape.pixels) * 32'(pass_i.array.shape.filters_0)) <= PSUM_WORDS));
  // psums of set row 1 do not fit a half of the psum buffer
  assign broken[5] = !((32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)) ||
      ((32'(pass_i.array.shape.pixels) * 32'(pass_i.array.shape.filters_1)) <= PSUM_WORDS));
  // psums of set row 2 do not fit a half of the psum buffer
  assign broken[6] = !((32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)) ||
      ((32'(pass_i.array.shape.pixels) * 32'(pass_i.array.shape.filters_2)) <= PSUM_WORDS));
  // the pixels do not fit the pixel queue
  assign broken[7] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayPointwise))) || (32'(pass_i.array.shape.pixels) <=
      PIXEL_WORDS));
  // depthwise work, and no other, needs bands of kernel rows
  assign broken[8] = !(32'(((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)))) == 32'((32'(pass_i.array.loops.bands)
      >= 32'd1)));
  // depthwise filters need at least one tap
  assign broken[9] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise))) || (32'(pass_i.array.shape.taps) >=
      32'd1));
  // the depthwise group does not fit the ifmap queue
  assign broken[10] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise))) || ((((32'(pass_i.array.shape.pixels) -
      32'd1) + ((32'(pass_i.array.shape.stride_2) != 32'd0) ? (32'(pass_i.array.shape.pixels) -
      32'd1) : 32'd0)) + 32'(pass_i.array.shape.taps)) <= IFMAP_WORDS));
  // a PE adds up the bands of at most 4 pixels
  assign broken[11] = !((32'(pass_i.array.loops.bands) <= 32'd1) || (32'(pass_i.array.shape.pixels)
      <= 32'd4));
  // ifmap rows go to other bands than the pass has
  assign broken[12] = !((32'(pass_i.more_bands) == 32'd0) || ((32'(pass_i.more_bands) + 32'd1) ==
      32'(pass_i.array.loops.bands)));
  // the ifmap rows of all bands do not fit the ifmap queue
  assign broken[13] = !((32'(pass_i.more_bands) == 32'd0) || ((((32'(pass_i.array.shape.pixels) -
      32'd1) + ((32'(pass_i.array.shape.stride_2) != 32'd0) ? (32'(pass_i.array.shape.pixels) -
      32'd1) : 32'd0)) + 32'(pass_i.array.shape.taps)) <= ((32'(pass_i.array.loops.bands) == 32'd3)
      ? (IFMAP_WORDS / 32'd3) : (IFMAP_WORDS / 32'd2))));
  // filters of set row 0 do not fit the filter queue
  assign broken[14] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) * 32'(pass_i.array.shape.filters_0)) <= FILTER_WORDS));
  // filters of set row 1 do not fit the filter queue
  assign broken[15] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) * 32'(pass_i.array.shape.filters_1)) <= FILTER_WORDS));
  // filters of set row 2 do not fit the filter queue
  assign broken[16] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) * 32'(pass_i.array.shape.filters_2)) <= FILTER_WORDS));
  // rotation needs a pointwise pass with filters in all three set rows
  assign broken[17] = !((32'(pass_i.array.shape.rotation) == 32'd0) ||
      (((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) || (32'(pass_i.array.shape.mode) ==
      32'(ArrayPointwise))) && (32'(pass_i.array.shape.rotation) < 32'd3) &&
      (32'(pass_i.array.shape.filters_0) >= 32'd1) && (32'(pass_i.array.shape.filters_1) >= 32'd1)
      && (32'(pass_i.array.shape.filters_2) >= 32'd1)));
  // a convolution needs one to three taps
  assign broken[18] = !((32'(pass_i.array.shape.mode) != 32'(ArrayConvolution)) ||
      ((32'(pass_i.array.shape.taps) >= 32'd1) && (32'(pass_i.array.shape.taps) <= 32'd3)));
  // the clamp of depthwise words is empty
  assign broken[19] = !(!((32'(pass_i.array.shape.mode) == 32'(ArrayFused)) ||
      (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise))) || (32'(pass_i.array.depthwise.act_min)
      <= 32'(pass_i.array.depthwise.act_max)));
  // the drain mode does not match the array mode
  assign broken[20] = !((32'((32'(pass_i.drain.mode) == 32'(DrainNone))) ==
      32'((32'(pass_i.array.shape.mode) == 32'(ArrayElementwise)))) && (32'((32'(pass_i.drain.mode)
      == 32'(DrainConvolution))) == 32'((32'(pass_i.array.shape.mode) == 32'(ArrayConvolution)))) &&
      (32'((32'(pass_i.drain.mode) == 32'(DrainWords))) == 32'((32'(pass_i.array.shape.mode) ==
      32'(ArrayDepthwise)))));
  // the columns in use exceed the array
  assign broken[21] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) || ((32'd1 <=
      32'(pass_i.drain.columns)) && (32'(pass_i.drain.columns) <= COLS)));
  // a block needs 1 to 8 filters
  assign broken[22] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) || ((32'd1 <=
      32'(pass_i.drain.block)) && (32'(pass_i.drain.block) <= 32'd8) && (32'(pass_i.drain.blocks) >=
      32'd1) && (32'(pass_i.drain.set_filters) >= 32'd1)));
  // the last block needs 1 to `block` filters
  assign broken[23] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) || ((32'd1 <=
      32'(pass_i.drain.last_block)) && (32'(pass_i.drain.last_block) <= 32'(pass_i.drain.block))));
  // only pointwise passes may have a smaller last block
  assign broken[24] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.drain.mode) == 32'(DrainPointwise)) || (32'(pass_i.drain.last_block) ==
      32'(pass_i.drain.block)));
  // a chain begins at a set beyond the array
  assign broken[25] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      ((32'(pass_i.drain.chains) >= 32'd1) && (((32'(pass_i.drain.chains) - 32'd1) *
      32'(pass_i.drain.chain_sets)) < SETS)));
  // a block has more filters than its chains
  assign broken[26] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.drain.mode) == 32'(DrainPointwise)) || (32'(pass_i.drain.block) <=
      (32'(pass_i.drain.set_filters) * ((32'(pass_i.drain.fold) != 32'd0) ? 32'd1 :
      32'(pass_i.drain.chains)))));
  // the filters of set row 0 differ from the drain
  assign broken[27] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.array.shape.filters_0) == ((((32'(pass_i.drain.rows) >> 32'd0) & 32'd1) != 32'd0)
      ? 32'(pass_i.drain.set_filters) : 32'd0)));
  // the filters of set row 1 differ from the drain
  assign broken[28] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.array.shape.filters_1) == ((((32'(pass_i.drain.rows) >> 32'd1) & 32'd1) != 32'd0)
      ? 32'(pass_i.drain.set_filters) : 32'd0)));
  // the filters of set row 2 differ from the drain
  assign broken[29] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.array.shape.filters_2) == ((((32'(pass_i.drain.rows) >> 32'd2) & 32'd1) != 32'd0)
      ? 32'(pass_i.drain.set_filters) : 32'd0)));
  // a convolution drains one block of filters per chain
  assign broken[30] = !((32'(pass_i.drain.mode) != 32'(DrainConvolution)) ||
      (32'(pass_i.drain.blocks) == 32'd1));
  // the drain and the array have different filter counts
  assign broken[31] = !((32'(pass_i.drain.mode) != 32'(DrainPointwise)) || ((32'(pass_i.drain.block)
      * 32'(pass_i.drain.blocks)) == (((32'(pass_i.array.shape.filters_0) +
      32'(pass_i.array.shape.filters_1)) + 32'(pass_i.array.shape.filters_2)) +
      (32'(pass_i.drain.block) - 32'(pass_i.drain.last_block)))));
  // pointwise filters must be assigned to all three set rows, in pairs only with two lanes
  assign broken[32] = !((32'(pass_i.drain.mode) != 32'(DrainPointwise)) || ((32'(pass_i.drain.rows)
      == 32'd7) && (32'(pass_i.drain.pairs) < FILTER_LANES)));
  // depthwise words need blocks of two halves and no ipsum
  assign broken[33] = !((32'(pass_i.drain.mode) != 32'(DrainWords)) || ((32'(pass_i.drain.block) ==
      32'd2) && !(32'(pass_i.drain.ipsum) != 32'd0)));
  // a chain is cut within a set
  assign broken[34] = !(!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      ((32'(pass_i.drain.link_enable) & LINKS_WITHIN_SET) == LINKS_WITHIN_SET));
  // a vector pass needs the PPU
  assign broken[35] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.drain.to_ppu) != 32'd0));
  // raw words need drain mode WORDS and no other mode
  assign broken[36] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.raw) ==
      32'((32'(pass_i.drain.mode) == 32'(DrainWords)))));
  // unknown pooling mode
  assign broken[37] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.pool) <=
      32'(PoolMax)));
  // raw words cannot be pooled
  assign broken[38] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || !(32'(pass_i.post.finish.raw) !=
      32'd0) || (32'(pass_i.post.finish.pool) == 32'(PoolNone)));
  // a vector pass cannot pool
  assign broken[39] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.post.finish.pool) == 32'(PoolNone)));
  // the clamp is empty
  assign broken[40] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.raw) !=
      32'd0) || (32'(pass_i.post.finish.act_min) <= 32'(pass_i.post.finish.act_max)));
  // max pooling needs an even number of columns and of pixels
  assign broken[41] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.pool) !=
      32'(PoolMax)) || (((32'(pass_i.drain.columns) | 32'(pass_i.array.shape.pixels)) & 32'd1) ==
      32'd0));
  // average pooling needs 1 to 1024 pixels
  assign broken[42] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.finish.pool) !=
      32'(PoolAverage)) || ((32'd1 <= 32'(pass_i.post.finish.pool_count)) &&
      (32'(pass_i.post.finish.pool_count) <= 32'd1024)));
  // unknown operation
  assign broken[43] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.second.operation)
      <= 32'(OperationPrelu)));
  // the clamp of the operation is empty
  assign broken[44] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.second.operation)
      == 32'(OperationNone)) || (32'(pass_i.post.result.act_min) <=
      32'(pass_i.post.result.act_max)));
  // the shift is not within -31 to 30
  assign broken[45] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || ((32'(pass_i.post.result.shift) !=
      32'd31) && ((32'(pass_i.post.result.shift) + 32'd32) != 32'd0)));
  // windows need MAXIMUM, MINIMUM or SUM in a vector pass
  assign broken[46] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.first.window) ==
      32'd0) || (!(32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) &&
      ((32'(pass_i.post.second.operation) == 32'(OperationMaximum)) ||
      (32'(pass_i.post.second.operation) == 32'(OperationMinimum)) ||
      (32'(pass_i.post.second.operation) == 32'(OperationSum)))));
  // SUM needs a window
  assign broken[47] = !(!(32'(pass_i.drain.to_ppu) != 32'd0) || (32'(pass_i.post.second.operation)
      != 32'(OperationSum)) || (32'(pass_i.post.first.window) >= 32'd1));
  // the ifmap stream is not in use
  assign broken[48] = !pass_i.streams[StreamIfmap];
  // the destination of ifmap words does not match the array mode
  assign broken[49] = !((32'((32'(pass_i.destination) == 32'(ToPixels))) ==
      32'((32'(pass_i.array.shape.mode) == 32'(ArrayPointwise)))) && (32'((32'(pass_i.destination)
      == 32'(ToPpu))) == 32'((32'(pass_i.array.shape.mode) == 32'(ArrayElementwise)))));
  // packed pixels need two lanes
  assign broken[50] = !(!(32'(pass_i.packed_pixels) != 32'd0) || !(32'(pass_i.single) != 32'd0));
  // the words of a vector pass without windows come one by one
  assign broken[51] = !((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ||
      (32'(pass_i.single) != 32'd0) || (32'(pass_i.post.first.window) != 32'd0));
  // the filter stream does not match the array mode
  assign broken[52] = !(32'(pass_i.streams[StreamFilter]) == 32'(((32'(pass_i.array.shape.mode) !=
      32'(ArrayElementwise)) && (32'(pass_i.array.shape.mode) != 32'(ArrayDepthwise)))));
  // the depthwise stream does not match the array mode
  assign broken[53] = !(32'(pass_i.streams[StreamDepthwise]) == 32'(((32'(pass_i.array.shape.mode)
      == 32'(ArrayFused)) || (32'(pass_i.array.shape.mode) == 32'(ArrayDepthwise)))));
  // the parameter stream does not match the pass
  assign broken[54] = !(32'(pass_i.streams[StreamParameters]) == 32'(((32'(pass_i.drain.to_ppu) !=
      32'd0) && (((32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)) ?
      32'(!(32'(pass_i.post.finish.raw) != 32'd0)) : 32'((32'(pass_i.post.second.operation) ==
      32'(OperationSum)))) != 32'd0))));
  // the ipsum stream does not match the drain
  assign broken[55] = !(32'(pass_i.streams[StreamIpsum]) == 32'(((32'(pass_i.drain.ipsum) != 32'd0)
      && (32'(pass_i.array.shape.mode) != 32'(ArrayElementwise)))));
  // the ofmap stream does not match the drain
  assign broken[56] = !(32'(pass_i.streams[StreamOfmap]) == 32'(pass_i.drain.to_ppu));
  // the residual stream does not match the operation
  assign broken[57] = !(32'(pass_i.streams[StreamResidual]) == 32'(((32'(pass_i.drain.to_ppu) !=
      32'd0) && (((32'(pass_i.post.second.operation) == 32'(OperationAdd)) ||
      (32'(pass_i.post.second.operation) == 32'(OperationSub)) || (32'(pass_i.post.second.operation)
      == 32'(OperationMul)) || (32'(pass_i.post.second.operation) ==
      32'(OperationSquaredDifference)) || (32'(pass_i.post.second.operation) == 32'(OperationPrelu))
      || ((32'(pass_i.post.first.window) == 32'd0) && ((32'(pass_i.post.second.operation) ==
      32'(OperationMaximum)) || (32'(pass_i.post.second.operation) == 32'(OperationMinimum))))) ||
      (32'(pass_i.post.second.operation) == 32'(OperationTable))))));
  // two pixels need psums without ipsum, pooling or operation
  assign broken[58] = !(!(32'(pass_i.drain.two_pixels) != 32'd0) || (((32'(pass_i.drain.mode) ==
      32'(DrainConvolution)) || (32'(pass_i.drain.mode) == 32'(DrainPointwise))) &&
      !(32'(pass_i.drain.ipsum) != 32'd0) && (!(32'(pass_i.drain.to_ppu) != 32'd0) ||
      ((32'(pass_i.post.finish.pool) == 32'(PoolNone)) && (32'(pass_i.post.second.operation) ==
      32'(OperationNone))))));

  assign illegal_o = broken != '0;

  logic unused_fields;
  assign unused_fields = ^pass_i;

endmodule
