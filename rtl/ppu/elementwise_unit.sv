// SPDX-License-Identifier: Apache-2.0
// The elementwise (vector) unit: an operation on GLB words of int8 (docs/hardware/ppu.md), one word
// per cycle. The first operand is a word, or a window of words, of which two can come at a time; a
// second operand is a word of another stream. NONE passes words combinationally, TABLE looks them
// up (lookup_table). For other operations the unit computes a sum of each channel, which the
// requantizer of the second pixel converts: it is free, since words of two pixels have no
// operation.
//
// The stream of the second operand also carries the table of TABLE. A word of the second operand is
// accepted together with its word of the first operand, the parameters of SUM together with the
// totals of their window. start_i begins a pass, whose configuration is valid from the next cycle
// and stable until the last word has left. All 8 channels are computed, so bytes of missing
// channels are not 0 afterwards.
//
//   ADD, SUB  addend = round((q - zero_point) * 2^20 * multiplier / 2^31), rounded-shifted right;
//             SUB negates the difference and rounds so that the addend is the negated one of ADD
//   SQUARED_DIFFERENCE  the square of the difference of SUB, with 2^7 in place of 2^20
//   MUL       the difference of B is multiplied by that of A; MAXIMUM, MINIMUM: by 1
//   PRELU     MUL, with the factor of first_i, where the difference of A is negative; others: by 1
//   sum       first + second, or the total of a window + bias
//
// Stages: difference to the zero point; product, rounded to its high part; right shift and sum; for
// SQUARED_DIFFERENCE, the square. Totals enter in the last stage.
`include "assertions.svh"

module elementwise_unit
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  localparam int unsigned Lanes = BlockChannels
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  ppu_first_t  first_i,
  input  ppu_second_t second_i,
  input  ppu_result_t result_i,

  input  logic        words_valid_i,    // word of the first operand (lane 0), or words of a window
  output logic        words_ready_o,
  input  glb_word_t [1:0] words_i,
  input  logic [1:0]  lanes_i,          // of a window: words that are valid
  input  logic        words_last_i,

  input  logic        other_valid_i,    // word of the second operand or of the table
  output logic        other_ready_o,
  input  glb_word_t   other_i,

  input  logic        window_valid_i,   // parameters of SUM
  output logic        window_ready_o,
  input  glb_word_t   window_i,

  output logic        move_o,           // the requantizer moves
  output logic        sums_valid_o,
  output logic        sums_last_o,
  output sum_t [Lanes-1:0]   sums_o,
  output logic [30:0]        multiplier_o,
  output logic signed [5:0]  shift_o,
  output logic [Lanes-1:0]   second_o,         // sums with the second factor
  input  logic        results_valid_i,  // from the requantizer
  input  logic        results_last_i,
  input  logic [Lanes-1:0][7:0] results_i,

  output logic        word_valid_o,
  input  logic        word_ready_i,
  output glb_word_t   word_o,
  output logic        word_last_o
);

  localparam int unsigned Stages = 3;
  localparam int unsigned LeftShift = 20;
  localparam int unsigned SquareShift = 7;
  // Dropped bits of (q - zero_point) * multiplier
  localparam int unsigned Drop = 31 - LeftShift;
  localparam int unsigned SquareDrop = 31 - SquareShift;
  localparam int unsigned RootWidth = 17;         // of a difference of two values below 2^15
  localparam int unsigned Rows = 5;               // base-4 digits of a 9-bit difference
  localparam int unsigned HighWidth = 29;         // 255 * 2^31 without the dropped bits
  localparam int unsigned TotalWidth = $bits(first_i.window) + 9;

  // ---- The operation ----

  operation_e operation;
  logic       direct, windowed, joined, scaled, negates, squares, slopes, looks_up;
  glb_word_t  word;

  assign operation = operation_e'(second_i.operation);
  assign word      = words_i[0];
  assign direct    = operation == OperationNone;
  assign windowed  = first_i.window != '0;
  assign looks_up  = operation == OperationTable;
  assign squares   = operation == OperationSquaredDifference;
  assign slopes    = operation == OperationPrelu;
  assign negates   = operation == OperationSub || squares;
  assign scaled    = operation == OperationAdd || negates;
  assign joined    = !windowed && (scaled || slopes || operation == OperationMul ||
                     operation == OperationMaximum || operation == OperationMinimum);

  // ---- Entry and stages ----

  logic            move, accept, ready_beside;
  logic [Stages:1] valid_q, last_q;
  logic            root_valid_q, root_last_q;  // stage of the square: its root

  // Words of TABLE
  logic      table_ready, lookup_ready, lookup_valid, lookup_last;
  glb_word_t lookup_word;

  // Windows of words
  logic                             totals_valid, totals_ready, totals_last, totals_accept;
  logic                             windows_ready;
  logic signed [Lanes-1:0][TotalWidth-1:0] totals;
  window_t                          parameters;
  logic [30:0]                      multiplier_q;
  logic signed [5:0]                shift_q;

  // All stages move unless a finished word waits at the output.
  assign move         = !results_valid_i || word_ready_i;
  assign ready_beside = !joined || other_valid_i;
  assign accept       = !direct && !looks_up && !windowed && move && words_valid_i && ready_beside;

  always_comb begin : ready
    words_ready_o = move && ready_beside;
    if (direct) words_ready_o = word_ready_i;
    else if (looks_up) words_ready_o = lookup_ready;
    else if (windowed) words_ready_o = windows_ready;
  end
  assign other_ready_o = looks_up ? table_ready : joined && move && words_valid_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q      <= '0;
      root_valid_q <= 1'b0;
    end else if (move) begin
      root_valid_q        <= valid_q[Stages-1] && squares;
      valid_q[Stages]     <= windowed ? totals_accept : squares ? root_valid_q : valid_q[Stages-1];
      valid_q[Stages-1:1] <= {valid_q[Stages-2:1], accept};
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      root_last_q        <= last_q[Stages-1];
      last_q[Stages]     <= windowed ? totals_last : squares ? root_last_q : last_q[Stages-1];
      last_q[Stages-1:1] <= {last_q[Stages-2:1], words_last_i};
    end
  end

  // ---- Table ----

  lookup_table u_lookup_table (
    .clk_i, .rst_ni, .start_i,
    .table_valid_i(other_valid_i && looks_up),
    .table_ready_o(table_ready),
    .table_i      (other_i),
    .word_valid_i (words_valid_i && looks_up),
    .word_ready_o (lookup_ready),
    .word_i       (word),
    .word_last_i  (words_last_i),
    .word_valid_o (lookup_valid),
    .word_ready_i,
    .word_o       (lookup_word),
    .word_last_o  (lookup_last)
  );

  // ---- Windows ----

  window_totals u_window_totals (
    .clk_i, .rst_ni,
    .operation_i   (operation),
    .size_i        (first_i.window),
    .words_valid_i (words_valid_i && windowed && !direct),
    .words_ready_o (windows_ready),
    .words_i, .lanes_i, .words_last_i,
    .totals_valid_o(totals_valid),
    .totals_ready_i(totals_ready),
    .totals_o      (totals),
    .totals_last_o (totals_last)
  );

  assign parameters     = window_t'(window_i);
  assign totals_ready   = move && (operation != OperationSum || window_valid_i);
  assign totals_accept  = totals_valid && totals_ready;
  assign window_ready_o = windowed && operation == OperationSum && move && totals_valid;

  always_ff @(posedge clk_i) begin
    if (totals_accept) begin
      multiplier_q <= parameters.multiplier;
      shift_q      <= parameters.shift;
    end
  end

  // ---- Lanes ----

  for (genvar lane = 0; lane < int'(Lanes); lane++) begin : gen_lanes
    logic signed [7:0] a, b, chosen;
    logic signed [8:0] difference_q [2];
    logic signed [HighWidth:0] shifted [2];
    logic signed [RootWidth-1:0] root_q;
    logic [2*RootWidth-3:0] squared;
    logic [2:1] negative_q;  // the first difference of this stage
    sum_t addend [2], sum_q;

    assign a = word[8*lane +: 8];
    assign b = other_i[8*lane +: 8];

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
    end

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
          end else if (operation == OperationMul || (slopes && difference_q[0][8])) begin
            factor = 32'(difference_q[1]);
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

    always_comb begin : add
      addend[0] = sum_t'(shifted[0]);
      addend[1] = scaled ? sum_t'(shifted[1]) : '0;
      if (windowed) begin
        addend[0] = sum_t'($signed(totals[lane]));
        addend[1] = (operation == OperationSum) ? sum_t'(parameters.bias)
                                                : -sum_t'(first_i.zero_point);
      end
    end

    always_ff @(posedge clk_i) begin
      if (move) begin
        negative_q <= {negative_q[1], difference_q[0][8]};
        root_q <= RootWidth'(addend[0]) + RootWidth'(addend[1]);
        sum_q  <= squares ? sum_t'(squared) : addend[0] + addend[1];
      end
    end

    assign sums_o[lane]   = sum_q;
    assign second_o[lane] = slopes && negative_q[2];
  end

  // ---- Requantisation, and words out ----

  logic sums_up;
  assign sums_up = operation == OperationSum;

  assign move_o       = move;
  assign sums_valid_o = valid_q[Stages];
  assign sums_last_o  = last_q[Stages];
  assign multiplier_o = sums_up ? multiplier_q : result_i.multiplier;
  assign shift_o      = sums_up ? shift_q : result_i.shift;

  always_comb begin : leave
    word_valid_o = results_valid_i;
    word_o       = results_i;
    word_last_o  = results_last_i;
    if (direct) begin
      word_valid_o = words_valid_i;
      word_o       = word;
      word_last_o  = words_last_i;
    end else if (looks_up) begin
      word_valid_o = lookup_valid;
      word_o       = lookup_word;
      word_last_o  = lookup_last;
    end
  end

  `EYRIE_STATIC(TotalsFit, TotalWidth <= $bits(sum_t), "the sum of a window exceeds 32 bits")
  `EYRIE_ASSERT_WHEN(ConfigHolds,
      |{valid_q, root_valid_q, results_valid_i, totals_valid, lookup_valid},
      $stable({first_i, second_i, result_i}), "configuration changes with words in flight")
  `EYRIE_STABLE(OtherStable, other_valid_i, other_ready_o, other_i)
  `EYRIE_STABLE(WordStable, word_valid_o, word_ready_i, {word_o, word_last_o})
  `EYRIE_ASSERT_WHEN(AcceptedTogether, joined,
      (words_valid_i && words_ready_o) == (other_valid_i && other_ready_o),
      "a word of the first operand without its word of the second operand")
  `EYRIE_ASSERT_WHEN(OneWord, words_valid_i && !windowed, lanes_i == 2'b01,
      "two words of the first operand without a window")
  `EYRIE_ASSERT_WHEN(WindowsFit, windowed, operation == OperationSum ||
      operation == OperationMaximum || operation == OperationMinimum,
      "an operation without windows has a window")

endmodule
