// SPDX-License-Identifier: Apache-2.0
// The drain sequencer starts the psum readout (drain): it sends transfers into the adder chains in
// the order in which finished sums leave the array (docs/hardware/overview.md, "Drain order"): tile
// and block of pixels, block of up to 8 filters, pixel, filter. The last block of filters may have
// fewer filters.
//
// A transfer selects the rows that add and the index of their psums, and carries the flags for the
// PPU. With two_pixels it has the sums of two pixels; the last of an odd number of pixels is alone.
// With ipsum a transfer waits for its GLB words of two columns each. overrun_o: a pass receives
// more ipsum words than it uses.
//
// A pass is accepted when all transfers of the pass before have left the array, since the links of
// the chains can change. done_o: the last transfer of a pass has left the array. An elementwise
// pass has no transfers.

`include "assertions.svh"

module drain_sequencer
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,  // PE columns
  localparam int unsigned Sets = ROWS / SetRows
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  drain_t              cfg_i,
  input  array_loops_t        loops_i,
  input  logic [8:0]          pixels_i,
  input  logic [1:0]          rotation_i,       // of the shape of the array
  input  logic                pass_phase_i,
  output logic                pass_phase_o,
  output logic                done_o,
  output logic                overrun_o,

  input  word_stream_t        ipsum_i,
  output logic                ipsum_ready_o,

  output drain_stream_t       drain_o,
  output sum_t [COLS-1:0]     sums_o,       // start values of the chains: ipsum or 0
  input  logic                ready_i,
  input  logic                empty_i       // the chains are empty
);

  drain_t         cfg_q;
  array_loops_t   loops_q, tile_loops;
  logic [8:0]     pixels_q;
  logic [1:0]     rotation_q;
  logic           pass_phase_q, accept, sent, valid;
  chain_control_t control;
  drain_flags_t   flags;
  logic [2:0]     set;
  logic [MaxCols-1:0] columns;

  // ---- Pass ----

  typedef enum logic [1:0] {
    StIdle,  // between passes
    StRun,   // sends transfers
    StEmpty  // the last transfer of the pass is in the chains
  } state_e;

  state_e state_d, state_q;

  assign accept       = state_q == StIdle && pass_phase_i != pass_phase_q;
  assign pass_phase_o = pass_phase_q;
  assign done_o       = state_q == StEmpty && empty_i;

  always_comb begin : next_state
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (accept) state_d = (cfg_i.mode == DrainNone) ? StEmpty : StRun;
      StRun:   if (sent && flags.pass_last) state_d = StEmpty;
      StEmpty: if (empty_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      pass_phase_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (accept) pass_phase_q <= pass_phase_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept) begin
      cfg_q      <= cfg_i;
      loops_q    <= loops_i;
      pixels_q   <= pixels_i;
      rotation_q <= rotation_i;
    end
  end

  for (genvar col = 0; col < MaxCols; col++) begin : gen_column
    assign columns[col] = 5'(col) < cfg_q.columns;
  end

  // ---- Loops: tile, (chain,) block, pixel, filter of the block ----

  logic [10:0] block_q;
  logic [8:0] pixel_q;
  logic [3:0] slot_q;           // filter or set within the block
  logic [2:0] chain_q;          // outer loop if chains drain one after the other
  logic       slot_last, pixel_last, block_last, chain_last, tile_end, two_pixels;
  logic [8:0] next_pixel;
  logic       group_first, group_last, replay_last, tile_last, outer_last;
  logic [1:0] first_row;            // pointwise: row with the first filter of the tile

  assign slot_last  = block_last ? slot_q == cfg_q.last_block - 4'd1
                                 : slot_q == cfg_q.block - 4'd1;
  assign two_pixels = cfg_q.two_pixels && pixel_q != pixels_q - 9'd1;
  assign next_pixel = pixel_q + (two_pixels ? 9'd2 : 9'd1);
  assign pixel_last = next_pixel == pixels_q;
  assign block_last = block_q == cfg_q.blocks - 11'd1;
  assign chain_last = !cfg_q.fold || chain_q == cfg_q.chains - 3'd1;
  assign tile_end   = slot_last && pixel_last && block_last && chain_last;

  // The sums of a tile are finished once for all groups.
  always_comb begin : tiles_only
    tile_loops        = loops_q;
    tile_loops.groups = 14'd1;
  end

  pass_loops u_loops (
    .clk_i, .rst_ni,
    .loops_i      (tile_loops),
    .start_i      (accept),
    .step_i       (sent && tile_end),
    .group_first_o(group_first),
    .group_last_o (group_last),
    .replay_last_o(replay_last),
    .tile_last_o  (tile_last),
    .outer_last_o (outer_last)
  );

  filter_round_robin u_round_robin (
    .clk_i, .rst_ni,
    .rotation_i (rotation_q),
    .start_i    (accept),
    .tile_end_i (sent && tile_end && replay_last),
    .tile_last_i(tile_last),
    .row_o      (first_row)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {chain_q, block_q, pixel_q, slot_q} <= '0;
    end else if (sent) begin
      slot_q <= slot_last ? '0 : slot_q + 4'd1;
      if (slot_last) pixel_q <= pixel_last ? '0 : next_pixel;
      if (slot_last && pixel_last) block_q <= block_last ? '0 : block_q + 11'd1;
      if (slot_last && pixel_last && block_last) chain_q <= chain_last ? '0 : chain_q + 3'd1;
    end
  end

  // ---- Chain, rows and psum of a transfer ----

  logic [2:0] chain;         // chain of the transfer
  // Pointwise filters are assigned to the rows of a set round-robin; row_q counts from first_row.
  logic [1:0] row_q, row_start_q, row;
  logic [2:0] row_and_more;
  psum_index_t base_q, base_start_q;     // psum index of the first pixel of the filter
  logic [3:0] set_filter_q;              // convolution: filter within its set
  logic [2:0] block_chain_q;
  logic [1:0] next_row;
  psum_index_t next_base;
  logic       chain_filter_last;

  // Filters are assigned one by one, or in pairs. The second filter of a pair stays in the row. The
  // first filter of the next pair returns to the index at which the pair began, unless the row
  // wraps to 0.
  always_comb begin : assign_rows
    next_row  = (row_q == 2'(SetRows - 1)) ? '0 : row_q + 2'd1;
    next_base = (row_q == 2'(SetRows - 1)) ? base_q + pixels_q[7:0] : base_q;
    if (cfg_q.pairs && !slot_q[0]) begin
      next_row  = row_q;
      next_base = base_q + pixels_q[7:0];
    end else if (cfg_q.pairs && row_q != 2'(SetRows - 1)) begin
      next_base = base_q - pixels_q[7:0];
    end
  end

  assign chain_filter_last = set_filter_q == cfg_q.set_filters - 4'd1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {row_q, row_start_q, base_q, base_start_q, set_filter_q, block_chain_q} <= '0;
    end else if (accept) begin
      {row_q, row_start_q, base_q, base_start_q, set_filter_q, block_chain_q} <= '0;
    end else if (sent) begin
      unique case (cfg_q.mode)
        DrainPointwise: begin
          // The filters of a block advance over the rows; each pixel starts the block again.
          if (tile_end) begin
            {row_q, row_start_q, base_q, base_start_q} <= '0;
          end else if (slot_last && !pixel_last) begin
            row_q  <= row_start_q;
            base_q <= base_start_q;
          end else begin
            row_q  <= next_row;
            base_q <= next_base;
            if (slot_last) begin
              row_start_q  <= next_row;
              base_start_q <= next_base;
            end
          end
        end
        default: begin
          set_filter_q <= chain_filter_last ? '0 : set_filter_q + 4'd1;
          base_q       <= chain_filter_last ? '0 : base_q + pixels_q[7:0];
          if (slot_last) block_chain_q <= '0;
          else if (chain_filter_last) block_chain_q <= block_chain_q + 3'd1;
        end
      endcase
    end
  end

  assign chain = cfg_q.fold ? chain_q : block_chain_q;

  assign row_and_more = 3'(row_q) + 3'(first_row);
  assign row = 2'((row_and_more >= 3'(SetRows)) ? row_and_more - 3'(SetRows) : row_and_more);

  always_comb begin : build_control
    control            = '0;
    control.index      = base_q + pixel_q[7:0];
    control.two_pixels = two_pixels;
    unique case (cfg_q.mode)
      DrainPointwise: begin
        control.add[row] = 1'b1;
        if (tile_end) control.free = cfg_q.rows;
      end
      DrainWords: control.word = 1'b1;
      default: begin
        control.add = cfg_q.rows;
        if (chain_filter_last && pixel_last && block_last) control.free = cfg_q.rows;
      end
    endcase
  end

  assign set = chain * cfg_q.chain_sets;
  assign flags = '{
    two_pixels: two_pixels,
    to_ppu:     cfg_q.to_ppu,
    channel:    slot_q[2:0],
    block_last: slot_last,
    pixel_last: pixel_last,
    tile_last:  tile_end,
    pass_last:  tile_end && replay_last && tile_last && outer_last
  };

  // ---- Ipsum: COLS / 2 words per transfer ----

  logic [COLS-1:0][31:0] ipsum_q;
  logic [4:0]            ipsum_columns_q;  // columns received
  logic                  ipsum_available;

  assign ipsum_available = ipsum_columns_q >= cfg_q.columns;
  assign ipsum_ready_o   = state_q == StRun && cfg_q.ipsum && !ipsum_available &&
                           ipsum_i.pass_phase == pass_phase_q;
  assign overrun_o       = ipsum_i.valid &&
                           is_overrun(ipsum_i.pass_phase, pass_phase_q, pass_phase_i,
                                    state_q == StRun);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ipsum_columns_q <= '0;
    else if (sent || accept) ipsum_columns_q <= '0;
    else if (ipsum_i.valid && ipsum_ready_o) ipsum_columns_q <= ipsum_columns_q + 5'd2;
  end

  always_ff @(posedge clk_i) begin
    if (ipsum_i.valid && ipsum_ready_o) begin
      for (int unsigned col = 0; col < COLS; col++) begin
        if (ipsum_columns_q == 5'(col & ~1)) begin
          ipsum_q[col] <= col[0] ? ipsum_i.word[63:32] : ipsum_i.word[31:0];
        end
      end
    end
  end

  assign valid = state_q == StRun && (!cfg_q.ipsum || ipsum_available);
  assign sent    = valid && ready_i;
  assign sums_o  = cfg_q.ipsum ? ipsum_q : '0;
  assign drain_o = '{
    valid:       valid,
    set:         set,
    control:     control,
    flags:       flags,
    link_enable: cfg_q.link_enable,
    columns:     columns
  };

  logic unused_signals;
  assign unused_signals = ^{group_first, group_last};

  `EYRIE_STABLE(Transfer, valid, ready_i, {drain_o, sums_o})
  `EYRIE_ASSERT_WHEN(WithinBlock, valid,
      slot_q < (block_last ? cfg_q.last_block : cfg_q.block) && block_q < cfg_q.blocks &&
      pixel_q < pixels_q,
      "a transfer beyond its block of filters or pixels")
  `EYRIE_ASSERT_WHEN(PairsOfSums, valid && two_pixels,
      !cfg_q.ipsum && !control.word && next_pixel <= pixels_q,
      "two pixels with ipsum or words, or beyond the last pixel")
  `EYRIE_ASSERT_WHEN(SetExists, valid, 8'(chain) * 8'(cfg_q.chain_sets) < 8'(Sets),
      "a transfer for a chain beyond the array")

endmodule
