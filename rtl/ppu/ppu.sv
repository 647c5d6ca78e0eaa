// SPDX-License-Identifier: Apache-2.0
// Post-processing unit (PPU): converts sums, one channel of every column at a time, to int8 GLB
// words.
//
//   sums -> bias, requantise, clamp (two lanes per column) -> max or average pooling
//        -> transposer (a block of up to 8 channels becomes a word per column) -> operation
//
// Sums arrive in drain order: block of filters, pixel, filter. flags_i of a transfer:
//   channel     0, 1, ... within the block, without gaps
//   block_last  the last channel of every (block, pixel)
//   pixel_last  every transfer of the last pixel of a block. The transfer with block_last and
//               pixel_last is the last one that uses the parameters of the block
//   tile_last   the very last transfer of a tile (not used here)
//   pass_last   the very last transfer of a pass
//   to_ppu      without it, the PPU accepts the transfer in any state and drops it
//   two_pixels  the transfer has the sums of two adjacent pixels, as all transfers of its channels.
//               Legal if words are neither raw nor pooled nor the operand of an operation
//
// Each occurrence of a block of filters uses 9 words of quantisation parameters (parameter_buffer).
// A raw pass (cfg_i.finish.raw) brings 32-bit words of 4 channels instead of sums, as channel 0
// (low half of the GLB word) and channel 1 (high half), and no parameters. A vector pass
// (cfg_i.elementwise) brings words_i for the operation instead of sums, the last of them marked.
//
// A (block, pixel or two) yields the words of columns 0 to columns - 1. Average pooling yields one
// word per block and run of columns, max pooling columns / 2 words per pair of pixels. word_o.last
// marks the last word of a pass.
//
// A toggle of pass_phase_i requests a pass. cfg_i is stable until pass_phase_o equals pass_phase_i.
// The PPU accepts the pass when the last word of the pass before has left. A pass that does not use
// the PPU (cfg_i.used) needs no further action; its transfers are dropped. The PPU accepts no other
// transfer between passes. Parameters and residual words of the pending pass may arrive at any
// time. overrun_o: a pass receives more of them than it uses.
//
// All stages before the transposer move together and stop while the transposer has no free bank.
// sums_ready_o depends on registers and flags_i.to_ppu; valid never depends on ready.
`include "assertions.svh"

module ppu
  import eyrie_pkg::*;
#(
  parameter int unsigned COLS = 8  // PE columns
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  ppu_pass_t            cfg_i,
  input  logic                 pass_phase_i,
  output logic                 pass_phase_o,

  input  logic                 sums_valid_i,
  output logic                 sums_ready_o,
  input  sum_t [1:0][COLS-1:0] sums_i,
  input  drain_flags_t         flags_i,
  input  elementwise_stream_t  words_i,
  output logic                 words_ready_o,

  input  word_stream_t         parameters_i,
  output logic                 parameters_ready_o,
  input  word_stream_t         residual_i,
  output logic                 residual_ready_o,
  output ofmap_stream_t        word_o,
  input  logic                 word_ready_i,

  output logic                 overrun_o,
  output logic                 elementwise_o,  // a vector pass runs
  output logic                 busy_o,         // a transfer or a word of words_i enters
  output logic                 stall_o         // a transfer or word is pending and not accepted
);

  typedef enum logic [1:0] {
    StIdle,  // between passes
    StRun,   // accepts transfers
    StFlush  // the last input has entered, the last word has not left
  } state_e;

  state_e       state_d, state_q;
  logic         pass_phase_q, accept_config, pending, parameters_own, left_over;
  ppu_pass_t    cfg_q;
  logic         average, maximum, elementwise, words_accepted, last_entered, last_left;

  logic               ready, push, advance;
  logic               parameters_valid, parameters_any, parameters_ready, for_windows;
  logic               residual_own, residual_ready, running;
  sum_t               bias;
  logic signed [31:0] multiplier;
  logic signed [7:0]  shift;
  logic               entered_q;
  sum_t [1:0][COLS-1:0] sums_q;
  drain_flags_t         flags_q;

  logic                      lanes_valid;
  drain_flags_t              lanes_flags;
  logic [1:0][COLS-1:0][7:0] lane_value;

  logic operates_q, operation_moves, operation_valid, operation_last, results_valid, results_last;
  sum_t [BlockChannels-1:0]      operation_sums;
  logic [30:0]                   operation_multiplier;
  logic signed [5:0]             operation_shift;
  logic [BlockChannels-1:0]      operation_second;
  logic [BlockChannels-1:0][7:0] results;

  logic                   max_valid, average_valid;
  logic [COLS/2-1:0][7:0] max_values;
  logic [COLS-1:0][7:0]   average_values;
  drain_flags_t           average_flags;

  logic             pack_valid, pack_ready;
  word_t [1:0][COLS-1:0] pack_values;
  drain_flags_t     pack_flags;
  logic [4:0]       pack_columns;
  logic             packed_valid, packed_ready, packed_two, packed_last;
  glb_word_t [1:0]  packed_words;

  // --- Passes ------------------------------------------------------------------------------------

  // A word that is left over holds the next pass back, so that the pass of that word does not
  // change.
  assign pending        = pass_phase_i != pass_phase_q;
  assign parameters_own = parameters_i.pass_phase == pass_phase_q;
  assign left_over      = (parameters_i.valid && parameters_own) ||
                          (residual_i.valid && residual_own);
  assign accept_config  = (state_q == StIdle) && pending && !left_over;
  assign pass_phase_o   = pass_phase_q;

  always_comb begin : next_state
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (accept_config && cfg_i.used) state_d = StRun;
      StRun: begin
        if (last_left) state_d = StIdle;  // in the cycle in which it entered
        else if (last_entered) state_d = StFlush;
      end
      StFlush: if (last_left) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q      <= StIdle;
      pass_phase_q <= 1'b0;
      cfg_q        <= '0;
      operates_q   <= 1'b0;
    end else begin
      state_q <= state_d;
      if (accept_config) begin
        pass_phase_q <= pass_phase_i;
        cfg_q        <= cfg_i;
        operates_q   <= cfg_i.second.operation != encoding_pkg::OperationNone;
      end
    end
  end

  logic unused_fields;  // used; flags that the transposer does not need
  assign unused_fields = ^{cfg_q.used, pack_flags};

  assign running        = state_q != StIdle;
  assign elementwise    = cfg_q.elementwise;
  assign elementwise_o  = elementwise && running;
  assign words_accepted = words_i.valid && words_ready_o;
  assign last_entered   = (push && flags_i.pass_last) || (words_accepted && words_i.last);
  assign last_left      = word_o.valid && word_ready_i && word_o.last;

  // Words of the next pass wait.
  assign residual_own     = residual_i.pass_phase == pass_phase_q;
  assign residual_ready_o = residual_ready && residual_own;
  assign overrun_o        =
      (!running && parameters_any) ||
      (parameters_i.valid &&
       is_overrun(parameters_i.pass_phase, pass_phase_q, pass_phase_i, running)) ||
      (residual_i.valid && is_overrun(residual_i.pass_phase, pass_phase_q, pass_phase_i, running));

  assign average = cfg_q.finish.pool == encoding_pkg::PoolAverage;
  assign maximum = cfg_q.finish.pool == encoding_pkg::PoolMax;

  // --- Entry: a transfer and its parameters ------------------------------------------------------

  assign ready        = (state_q == StRun) && !elementwise && advance &&
                        (cfg_q.finish.raw || parameters_valid);
  assign push         = sums_valid_i && flags_i.to_ppu && ready;
  assign sums_ready_o = ready || !flags_i.to_ppu;
  assign busy_o       = push || words_accepted;
  assign stall_o      = (sums_valid_i && !sums_ready_o) ||
                        (elementwise_o && words_i.valid && !words_ready_o);

  parameter_buffer u_parameters (
    .clk_i,
    .rst_ni,
    .pass_phase_i      (pass_phase_q),
    .parameters_valid_i(parameters_i.valid && !for_windows && (parameters_own || pending)),
    .parameters_ready_o(parameters_ready),
    .parameters_phase_i(parameters_i.pass_phase),
    .parameters_i      (parameters_i.word),
    .half_i            (1'b0),
    .valid_o           (parameters_valid),
    .any_o             (parameters_any),
    .read_i            (push && !cfg_q.finish.raw),
    .channel_i         (flags_i.channel),
    .bias_o            (bias),
    .multiplier_o      (multiplier),
    .shift_o           (shift),
    .pop_i             (push && flags_i.block_last && flags_i.pixel_last && !cfg_q.finish.raw)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) entered_q <= 1'b0;
    else if (advance) entered_q <= push;
  end

  always_ff @(posedge clk_i) begin
    if (push) begin
      sums_q[0] <= sums_i[0];
      if (flags_i.two_pixels) sums_q[1] <= sums_i[1];
      flags_q <= flags_i;
    end
  end

  // --- Requantisation and pooling ----------------------------------------------------------------

  ppu_requantizers #(
    .COLS(COLS)
  ) u_requantizers (
    .clk_i,
    .rst_ni,
    .operates_i            (operates_q),
    .zero_point_i          (cfg_q.finish.zero_point),
    .act_min_i             (cfg_q.finish.act_min),
    .act_max_i             (cfg_q.finish.act_max),
    .enable_i              (advance),
    .valid_i               (entered_q && !cfg_q.finish.raw),
    .flags_i               (flags_q),
    .sums_i                (sums_q),
    .bias_i                (bias),
    .multiplier_i          (multiplier),
    .shift_i               (shift),
    .valid_o               (lanes_valid),
    .flags_o               (lanes_flags),
    .values_o              (lane_value),
    .operation_zero_point_i(cfg_q.result.zero_point),
    .operation_act_min_i   (cfg_q.result.act_min),
    .operation_act_max_i   (cfg_q.result.act_max),
    .operation_enable_i    (operation_moves),
    .operation_valid_i     (operation_valid),
    .operation_last_i      (operation_last),
    .operation_sums_i      (operation_sums),
    .operation_multiplier_i(operation_multiplier),
    .operation_shift_i     (operation_shift),
    .operation_second_i    (operation_second),
    .operation_second_multiplier_i (cfg_q.first.multiplier),
    .operation_second_right_shift_i(cfg_q.first.right_shift),
    .operation_valid_o     (results_valid),
    .operation_last_o      (results_last),
    .operation_values_o    (results)
  );

  max_pool #(
    .COLS(COLS)
  ) u_max_pool (
    .clk_i,
    .rst_ni,
    .enable_i    (advance),
    .valid_i     (lanes_valid && maximum),
    .values_i    (lane_value[0]),
    .channel_i   (lanes_flags.channel),
    .block_last_i(lanes_flags.block_last),
    .pixel_last_i(lanes_flags.pixel_last),
    .valid_o     (max_valid),
    .values_o    (max_values)
  );

  average_pool #(
    .COLS(COLS)
  ) u_average_pool (
    .clk_i,
    .rst_ni,
    .enable_i    (advance),
    .columns_i   (cfg_q.columns),
    .span_i      (cfg_q.finish.pool_columns),
    .count_i     (cfg_q.finish.pool_count),
    .reciprocal_i(cfg_q.finish.pool_reciprocal),
    .shift_i     (cfg_q.finish.pool_shift),
    .valid_i     (lanes_valid && average),
    .values_i    (lane_value[0]),
    .flags_i     (lanes_flags),
    .valid_o     (average_valid),
    .values_o    (average_values),
    .flags_o     (average_flags)
  );

  // --- Packing -----------------------------------------------------------------------------------

  // Averages have a column per run of columns; maxima are the lower half of the columns.
  always_comb begin : select_packed
    pack_valid   = lanes_valid;
    pack_flags   = lanes_flags;
    pack_columns = cfg_q.columns;
    for (int unsigned pixel = 0; pixel < 2; pixel++) begin
      for (int unsigned column = 0; column < COLS; column++) begin
        pack_values[pixel][column] = word_t'(lane_value[pixel][column]);
      end
    end
    if (cfg_q.finish.raw) begin
      pack_valid     = entered_q;
      pack_flags     = flags_q;
      pack_values[0] = sums_q[0];
    end else if (average) begin
      pack_valid   = average_valid;
      pack_flags   = average_flags;
      pack_columns = ((cfg_q.columns - 1'b1) >> cfg_q.finish.pool_columns) + 1'b1;
      for (int unsigned n = 0; n < COLS; n++) pack_values[0][n] = word_t'(average_values[n]);
    end else if (maximum) begin
      pack_valid   = max_valid;
      pack_columns = cfg_q.columns >> 1;
      for (int unsigned n = 0; n < COLS / 2; n++) pack_values[0][n] = word_t'(max_values[n]);
    end
  end

  assign advance = !pack_valid || pack_ready;

  transposer #(
    .COLS(COLS)
  ) u_transposer (
    .clk_i,
    .rst_ni,
    .columns_i       (pack_columns),
    .raw_i           (cfg_q.finish.raw),
    .transfer_valid_i(pack_valid),
    .transfer_ready_o(pack_ready),
    .transfer_i      (pack_values),
    .two_pixels_i    (pack_flags.two_pixels),
    .channel_i       (pack_flags.channel),
    .last_i          (pack_flags.block_last),
    .pass_last_i     (pack_flags.pass_last),
    .word_valid_o    (packed_valid),
    .word_ready_i    (packed_ready),
    .words_o         (packed_words),
    .words_two_o     (packed_two),
    .word_last_o     (packed_last)
  );

  // --- Elementwise operation of the pass or of the ifmap stream ----------------------------------

  logic a_valid, a_ready, window_ready;

  assign a_valid               = elementwise ? words_i.valid && state_q == StRun : packed_valid;
  assign packed_ready          = !elementwise && a_ready;
  assign words_ready_o         = elementwise && state_q == StRun && a_ready;
  assign parameters_ready_o    = for_windows ? parameters_own && window_ready
                                             : (parameters_own || pending) && parameters_ready;

  // Whether the parameter stream brings window parameters, for this pass or the pending one
  assign for_windows = parameters_own
      ? elementwise && cfg_q.second.operation == encoding_pkg::OperationSum
      : cfg_i.elementwise && cfg_i.second.operation == encoding_pkg::OperationSum;

  elementwise_unit u_elementwise_unit (
    .clk_i,
    .rst_ni,
    .start_i        (accept_config),
    .first_i        (cfg_q.first),
    .second_i       (cfg_q.second),
    .result_i       (cfg_q.result),
    .words_valid_i  (a_valid),
    .words_ready_o  (a_ready),
    .words_i        ({words_i.words[1], elementwise ? words_i.words[0] : packed_words[0]}),
    .lanes_i        (elementwise ? words_i.lanes : 2'b01),
    .words_last_i   (elementwise ? words_i.last : packed_last),
    .other_valid_i  (residual_i.valid && residual_own),
    .other_ready_o  (residual_ready),
    .other_i        (residual_i.word),
    .window_valid_i (parameters_i.valid && for_windows && parameters_own),
    .window_ready_o (window_ready),
    .window_i       (parameters_i.word),
    .move_o         (operation_moves),
    .sums_valid_o   (operation_valid),
    .sums_last_o    (operation_last),
    .sums_o         (operation_sums),
    .multiplier_o   (operation_multiplier),
    .shift_o        (operation_shift),
    .second_o       (operation_second),
    .results_valid_i(results_valid),
    .results_last_i (results_last),
    .results_i      (results),
    .word_valid_o   (word_o.valid),
    .word_ready_i,
    .word_o         (word_o.words[0]),
    .word_last_o    (word_o.last)
  );

  // The second of two pixels bypasses the operation, which is NONE then (TwoPixelsLegal). Without
  // two pixels, words can leave while the transposer has none.
  assign word_o.two_pixels = packed_two;
  assign word_o.words[1]   = packed_words[1];

  `EYRIE_STATIC(ColsLegal, COLS >= 2 && COLS <= 16, "COLS is not 2 to 16")
  `EYRIE_STABLE(FlagsStable, sums_valid_i, sums_ready_o, flags_i)
  for (genvar column = 0; column < int'(COLS); column++) begin : gen_sums_check
    `EYRIE_STABLE(SumStable, sums_valid_i && state_q == StRun && 5'(column) < cfg_q.columns,
        sums_ready_o, {sums_i[0][column], flags_i.two_pixels ? sums_i[1][column] : '0})
  end
  `EYRIE_STABLE(WordStable, word_o.valid, word_ready_i,
      {word_o.last, word_o.two_pixels, word_o.words[0], word_o.two_pixels ? word_o.words[1] : '0})
  `EYRIE_ASSERT_WHEN(TwoPixelsLegal, push && flags_i.two_pixels,
      !cfg_q.finish.raw && !average && !maximum &&
      cfg_q.second.operation == encoding_pkg::OperationNone,
      "two pixels with raw words, pooling or an operation")
  `EYRIE_ASSERT_NEXT(RequestStable, pass_phase_i != pass_phase_q,
      $stable(pass_phase_i), "a pass is requested before the last one is accepted")
  `EYRIE_ASSERT_WHEN(PassEndsBlock, push && (flags_i.tile_last || flags_i.pass_last),
      flags_i.block_last && flags_i.pixel_last, "a tile or pass ends within a block")
  `EYRIE_ASSERT_WHEN(PassEndsTile, push && flags_i.pass_last,
      flags_i.tile_last, "a pass ends within a tile")
  `EYRIE_ASSERT_WHEN(ConfigLegal, state_q == StRun,
      !(cfg_q.finish.raw && (average || maximum)) && !(maximum && cfg_q.columns[0]),
      "raw words with pooling, or maxima of an odd number of columns")
  `EYRIE_ASSERT_WHEN(AverageEndsBlock, average_valid,
      average_flags.pixel_last && average_flags.to_ppu &&
      (average_flags.tile_last || !average_flags.pass_last),
      "an average leaves before the last pixel of its block")
  for (genvar run = 0; run < int'(COLS); run++) begin : gen_average_check
    `EYRIE_ASSERT_WHEN(AverageWithinClamp, average_valid && 5'(run) < pack_columns,
        ($signed(average_values[run]) >= cfg_q.finish.act_min) &&
        ($signed(average_values[run]) <= cfg_q.finish.act_max),
        "an average of clamped values is outside the clamp")
  end
  `EYRIE_ASSERT_WHEN(IdleIsEmpty, state_q == StIdle,
      !entered_q && !pack_valid && !packed_valid && !word_o.valid,
      "a pass ends with values in flight")
  `EYRIE_COVER(Run, (state_q == StIdle) && (state_d == StRun))
  `EYRIE_COVER(Flush, (state_q == StRun) && (state_d == StFlush))
  `EYRIE_COVER(Finish, (state_q == StFlush) && (state_d == StIdle))
  `EYRIE_COVER(SkipPass, accept_config && !cfg_i.used)
  `EYRIE_COVER(WaitParameters, stall_o && (state_q == StRun) && !parameters_valid)
  `EYRIE_COVER(WaitPacker, stall_o && (state_q == StRun) && !advance)

endmodule
