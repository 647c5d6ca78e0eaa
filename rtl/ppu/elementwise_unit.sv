// SPDX-License-Identifier: Apache-2.0
// The elementwise (vector) unit: an operation on packed int8 words (docs/hardware/ppu.md). The
// first operand is a word, or a window of words; a second operand is a word of another stream. A
// word takes two cycles: 4 lanes process the channels of its low half, then those of its high half.
// NONE passes words combinationally.
//
// The stream of the second operand also carries the lookup table of TABLE. A word of the second
// operand is accepted together with its word of the first operand; the 32 words of a table are
// accepted before the first word. The parameters of SUM are accepted with the high half. start_i
// begins a pass, whose configuration is valid from the next cycle and stable until the last word
// has left. All 8 channels are computed, so bytes of missing channels are not 0 afterwards.
//
//   ADD, SUB  addend = round((q - zero_point) * 2^20 * multiplier / 2^31), rounded-shifted right;
//             SUB negates the difference and rounds so that the addend is the negated one of ADD
//   SQUARED_DIFFERENCE  the square of the difference of SUB, with 2^7 in place of 2^20
//   MUL       the difference of B is multiplied by that of A; MAXIMUM, MINIMUM: by 1
//   TABLE     a table entry replaces the product
//   output    = requantize(first + second)
//
// Stages: difference to the zero point, or table entry; product, rounded to its high part; right
// shift, or the totals of a window; for SQUARED_DIFFERENCE, the square; stages of the requantizer.
// The results of the low half wait for the high half.
`include "assertions.svh"

module elementwise_unit
  import eyrie_pkg::*;
  import encoding_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  ppu_first_t  first_i,
  input  ppu_second_t second_i,
  input  ppu_result_t result_i,

  input  logic        word_valid_i,    // word of the first operand
  output logic        word_ready_o,
  input  glb_word_t   word_i,
  input  logic        word_last_i,

  input  logic        other_valid_i,   // word of the second operand, or a word of the table
  output logic        other_ready_o,
  input  glb_word_t   other_i,

  input  logic        window_valid_i,  // parameters of SUM
  output logic        window_ready_o,
  input  glb_word_t   window_i,

  output logic        word_valid_o,
  input  logic        word_ready_i,
  output glb_word_t   word_o,
  output logic        word_last_o
);

  localparam int unsigned Lanes = BlockChannels / 2;
  localparam int unsigned Stages = 3;             // stages before the requantizer
  localparam int unsigned LeftShift = 20;
  localparam int unsigned SquareShift = 7;
  // Dropped bits of (q - zero_point) * multiplier
  localparam int unsigned Drop = 31 - LeftShift;
  localparam int unsigned SquareDrop = 31 - SquareShift;
  localparam int unsigned RootWidth = 17;         // of a difference of two values below 2^15
  localparam int unsigned Rows = 5;               // base-4 digits of a 9-bit difference
  localparam int unsigned HighWidth = 29;         // 255 * 2^31 without the dropped bits
  localparam int unsigned TotalWidth = $bits(first_i.window) + 8;

  typedef struct packed {
    logic high;  // high half of a word
    logic last;  // last word of a pass
  } tag_t;

  // ---- The operation ----

  operation_e operation;
  logic       direct, windowed, joined, scaled, negates, squares, looks_up;

  assign operation = operation_e'(second_i.operation);
  assign direct    = operation == OperationNone;
  assign windowed  = first_i.window != '0;
  assign looks_up  = operation == OperationTable;
  assign squares   = operation == OperationSquaredDifference;
  assign negates   = operation == OperationSub || squares;
  assign scaled    = operation == OperationAdd || negates;
  assign joined    = !windowed && (scaled || operation == OperationMul ||
                     operation == OperationMaximum || operation == OperationMinimum);

  // ---- Entry of half words ----

  logic            move, accept, ready_beside, loaded;
  logic            high_q;       // the next half is the high one
  logic [5:0]      entries_q;    // words of the table received
  logic [Stages:1] valid_q;
  tag_t            tag_q [1:Stages];
  logic            root_valid_q; // stage of the square: its root
  tag_t            root_tag_q;
  logic            lanes_valid;
  tag_t            lanes_tag;
  logic [Lanes-1:0][7:0] lane_result, low_q;
  sum_t [Lanes-1:0]      addend_q [2];

  // Windows of words
  logic                             half_valid, half_ready, half_high, half_last, half_accept;
  logic                             totals_ready;
  logic [Lanes-1:0][TotalWidth-1:0] totals;
  window_t                          parameters;
  logic [30:0]                      multiplier_q;
  logic signed [5:0]                shift_q;

  // All stages move unless a finished word waits at the output.
  assign move         = !(lanes_valid && lanes_tag.high) || word_ready_i;
  assign loaded       = entries_q == 6'(LookupWords);
  assign ready_beside = joined ? other_valid_i : !looks_up || loaded;
  assign accept       = !direct && !windowed && move && word_valid_i && ready_beside;

  always_comb begin : ready
    word_ready_o = move && ready_beside && high_q;
    if (direct) word_ready_o = word_ready_i;
    else if (windowed) word_ready_o = totals_ready;
  end
  assign other_ready_o = looks_up ? !loaded : joined && move && word_valid_i && high_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      high_q       <= 1'b0;
      valid_q      <= '0;
      root_valid_q <= 1'b0;
      entries_q    <= '0;
    end else begin
      if (move) begin
        if (accept) high_q <= !high_q;
        root_valid_q        <= valid_q[Stages-1] && squares;
        valid_q[Stages]     <= windowed ? half_accept : squares ? root_valid_q : valid_q[Stages-1];
        valid_q[Stages-1:1] <= {valid_q[Stages-2:1], accept};
      end
      if (start_i) entries_q <= '0;
      else if (looks_up && other_valid_i && !loaded) entries_q <= entries_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      tag_q[1] <= '{high: high_q, last: word_last_i};
      for (int unsigned stage = 2; stage <= Stages; stage++) tag_q[stage] <= tag_q[stage-1];
      root_tag_q <= tag_q[Stages-1];
      if (windowed) tag_q[Stages] <= '{high: half_high, last: half_last};
      else if (squares) tag_q[Stages] <= root_tag_q;
      if (lanes_valid) low_q <= lane_result;
    end
  end

  // ---- Windows ----

  window_totals u_window_totals (
    .clk_i, .rst_ni,
    .operation_i (operation),
    .size_i      (first_i.window),
    .word_valid_i(word_valid_i && windowed && !direct),
    .word_ready_o(totals_ready),
    .word_i, .word_last_i,
    .half_valid_o(half_valid),
    .half_ready_i(half_ready),
    .half_o      (totals),
    .half_high_o (half_high),
    .half_last_o (half_last)
  );

  assign parameters     = window_t'(window_i);
  assign half_ready     = move && (operation != OperationSum || window_valid_i);
  assign half_accept    = half_valid && half_ready;
  assign window_ready_o = windowed && operation == OperationSum && move && half_valid && half_high;

  always_ff @(posedge clk_i) begin
    if (half_accept) begin
      multiplier_q <= parameters.multiplier;
      shift_q      <= parameters.shift;
    end
  end

  // ---- Lanes ----

  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lanes
    logic signed [7:0] a, b, chosen, entry;
    logic signed [8:0] difference_q [2];
    logic [2:0]        place_q;
    logic [7:0][7:0]   entries;
    logic signed [HighWidth:0] shifted [2];
    logic signed [RootWidth-1:0] root_q;
    logic [2*RootWidth-3:0] squared;

    assign a = high_q ? word_i[8*(lane+int'(Lanes)) +: 8] : word_i[8*lane +: 8];
    assign b = high_q ? other_i[8*(lane+int'(Lanes)) +: 8] : other_i[8*lane +: 8];

    always_comb begin : choose
      chosen = a;
      if (operation == OperationMaximum && b > a) chosen = b;
      if (operation == OperationMinimum && b < a) chosen = b;
    end

    always_ff @(posedge clk_i) begin
      if (move) begin
        difference_q[0] <= 9'(chosen) - 9'(first_i.zero_point);
        difference_q[1] <= negates ? 9'(second_i.zero_point) - 9'(b)
                                                       : 9'(b) - 9'(second_i.zero_point);
      end
      if (accept) place_q <= a[2:0];
    end

    // The address inverts the sign bit, so that entry 0 belongs to -128. The upper bits of a select
    // the word.
    ram_1r1w #(.WORDS(LookupWords), .WIDTH(64)) u_table (
      .clk_i,
      .write_i        (looks_up && other_valid_i && !loaded),
      .write_address_i(entries_q[4:0]),
      .write_data_i   (other_i),
      .read_i         (accept && looks_up),
      .read_address_i ({!a[7], a[6:3]}),
      .read_data_o    (entries)
    );
    assign entry = entries[place_q];

    square #(.WIDTH(RootWidth)) u_square (
      .value_i (root_q),
      .square_o(squared)
    );

    for (genvar side = 0; side < 2; side++) begin : gen_addends
      logic signed [31:0]          factor;
      logic signed [32:0]          rounding;
      logic signed [2*Rows+32:0]   product;
      logic signed [HighWidth-1:0] high_part, high_part_q;
      logic signed [32:0]          half_dropped;
      logic signed [HighWidth-1:0] dropped;
      logic [4:0]                  right_shift;

      assign half_dropped = 33'(1) << (squares ? SquareDrop : Drop);
      assign dropped      = HighWidth'(product >>> (squares ? SquareDrop + 1 : Drop + 1));

      // Twice the product. Adding half of the dropped part rounds to the nearest.
      booth_step #(.ROWS(Rows)) u_product (
        .value_i     (factor),
        .multiplier_i({difference_q[side][8], difference_q[side], 1'b0}),
        .addend_i    (rounding),
        .sum_o       (product)
      );

      if (side == 0) begin : gen_first
        always_comb begin : first
          factor      = 32'sd1;
          rounding    = '0;
          high_part   = HighWidth'(product >>> 1);
          right_shift = '0;
          if (scaled) begin
            factor      = {1'b0, first_i.multiplier};
            rounding    = half_dropped;
            high_part   = dropped;
            right_shift = first_i.right_shift;
          end else if (operation == OperationMul) begin
            factor = 32'(difference_q[1]);
          end else if (looks_up) begin
            high_part = HighWidth'(entry);
          end
        end
      end else begin : gen_second
        assign factor      = {1'b0, second_i.multiplier};
        assign rounding    = half_dropped - 33'(negates);
        assign high_part   = dropped;
        assign right_shift = second_i.right_shift;
      end

      rounding_shift #(.WIDTH(HighWidth), .RESULT_WIDTH(HighWidth)) u_shift (
        .value_i(high_part_q),
        .shift_i(right_shift),
        .value_o(shifted[side])
      );

      always_ff @(posedge clk_i) begin
        if (move) high_part_q <= high_part;
      end
    end

    always_ff @(posedge clk_i) begin
      if (move) begin
        root_q <= RootWidth'(shifted[0]) + RootWidth'(shifted[1]);
        if (windowed) begin
          addend_q[0][lane] <= sum_t'($signed(totals[lane]));
          addend_q[1][lane] <= (operation == OperationSum) ? sum_t'(parameters.bias)
                                                           : -sum_t'(first_i.zero_point);
        end else begin
          addend_q[0][lane] <= squares ? sum_t'(squared) : sum_t'(shifted[0]);
          addend_q[1][lane] <= scaled && !squares ? sum_t'(shifted[1]) : '0;
        end
      end
    end
  end

  logic sums_up;
  assign sums_up = operation == OperationSum;

  requantizer #(
    .LANES    (Lanes),
    .TAG_WIDTH($bits(tag_t))
  ) u_requantizer (
    .clk_i,
    .rst_ni,
    .enable_i    (move),
    .zero_point_i(result_i.zero_point),
    .act_min_i   (result_i.act_min),
    .act_max_i   (result_i.act_max),
    .valid_i     (valid_q[Stages]),
    .tag_i       (tag_q[Stages]),
    .sums_i      (addend_q[0]),
    .biases_i    (addend_q[1]),
    .multiplier_i({1'b0, sums_up ? multiplier_q : result_i.multiplier}),
    .shift_i     (8'(sums_up ? shift_q : result_i.shift)),
    .valid_o     (lanes_valid),
    .tag_o       (lanes_tag),
    .results_o   (lane_result)
  );

  assign word_valid_o = direct ? word_valid_i : lanes_valid && lanes_tag.high;
  assign word_o       = direct ? word_i : {lane_result, low_q};
  assign word_last_o  = direct ? word_last_i : lanes_tag.last;

  `EYRIE_STATIC(TotalsFit, TotalWidth <= $bits(sum_t), "the sum of a window exceeds 32 bits")
  `EYRIE_ASSERT_WHEN(ConfigHolds, |{valid_q, root_valid_q, lanes_valid, half_valid},
      $stable({first_i, second_i, result_i}), "configuration changes with words in flight")
  `EYRIE_STABLE(OtherStable, other_valid_i, other_ready_o, other_i)
  `EYRIE_STABLE(WordStable, word_valid_o, word_ready_i, {word_o, word_last_o})
  `EYRIE_ASSERT_WHEN(AcceptedTogether, joined,
      (word_valid_i && word_ready_o) == (other_valid_i && other_ready_o),
      "a word of the first operand without its word of the second operand")
  `EYRIE_ASSERT_WHEN(HalvesInTurn, direct || windowed, !high_q, "only half of a word has left")
  `EYRIE_ASSERT_WHEN(WindowsFit, windowed, operation == OperationSum ||
      operation == OperationMaximum || operation == OperationMinimum,
      "an operation without windows has a window")

endmodule
