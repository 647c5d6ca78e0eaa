// SPDX-License-Identifier: Apache-2.0
// Decodes chunks of coded weights, up to 16 weights a cycle; model/weight_codes.py has the format.
//
// A start names the words that a chunk becomes, and whether it begins a chain, with a table of
// classes. Other chunks go on with the bits and units that the chunk before left. The beats of the
// chunk follow, the last one marked. A step makes two words; out_single_o: only word 0 is valid,
// since the words are odd. The decoder reads no beat of the next chunk before all weights of this
// one are decoded. in_ready_o depends on out_ready_i, and nothing else on an input within a cycle.
//
// error_o: the chunk ends within its table, a weight needs more bits than the chunk has left, or
// the window is full before the last step, and beats are left. It stays until reset; the two words
// of this step do not leave, and beats are discarded. No chunk makes more words than its start
// names, whatever its bits are.
`include "assertions.svh"

module weight_decoder
  import encoding_pkg::*;
#(
  parameter int unsigned BUS_WORDS = 1,  // 64-bit words in a beat of the chunk: 1 or 2
  localparam int unsigned UnitBits = 8
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,

  input  logic                       start_valid_i,
  output logic                       start_ready_o,
  input  logic [15:0]                start_words_i, // at least 1
  input  logic                       start_table_i,

  input  logic                       in_valid_i,
  output logic                       in_ready_o,
  input  logic [BUS_WORDS-1:0][63:0] in_data_i,
  input  logic                       in_last_i,

  output logic                       out_valid_o,
  input  logic                       out_ready_i,
  output logic [1:0][63:0]           out_data_o,
  output logic                       out_single_o,
  output logic                       out_last_o,

  output logic                       error_o
);

  localparam int unsigned BeatUnits = 8 * BUS_WORDS;
  localparam int unsigned Units = CodeLanes + BeatUnits;  // in the window: a turn takes 16 at most
  localparam int unsigned CountWidth = $clog2(Units + 1);
  localparam int unsigned HalfLanes = CodeLanes / 2;

  localparam int unsigned TableBeats = (CodeClasses / 2 + BUS_WORDS - 1) / BUS_WORDS;

  typedef enum logic [2:0] {
    StIdle,
    StTable,  // beats of the table
    StFirst,  // the first units of a chain
    StSteps,
    StError
  } state_e;
  state_e state_d, state_q;

  // ---- The code ----

  weight_class_t [CodeClasses-1:0] code_q;
  logic [7:0]                      centre_q;
  logic [$clog2(TableBeats+1)-1:0] table_q;  // beats of the table so far
  logic                            load_table;
  code_table_t [BUS_WORDS-1:0]     entries;  // of a beat

  function automatic weight_class_t legal(weight_class_t entry);
    legal        = entry;
    legal.length = (entry.length == 3'd7) ? 3'd6 : entry.length;
  endfunction

  assign load_table = in_valid_i && state_q == StTable;

  for (genvar b = 0; b < BUS_WORDS; b++) begin : gen_entries
    assign entries[b] = in_data_i[b][CodeTableWidth-1:0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {code_q, centre_q} <= '0;  // every weight is 0, without a bit
    end else if (load_table) begin
      for (int unsigned b = 0; b < BUS_WORDS; b++) begin
        if (int'(table_q) * BUS_WORDS + b < CodeClasses / 2) begin
          code_q[2 * (int'(table_q) * BUS_WORDS + b)]     <= legal(entries[b].first);
          code_q[2 * (int'(table_q) * BUS_WORDS + b) + 1] <= legal(entries[b].second);
        end
      end
      if (table_q == '0) centre_q <= entries[0].centre;
    end
  end

  always_ff @(posedge clk_i) begin
    table_q <= (state_q == StTable) ? table_q + load_table : '0;
  end

  // ---- Lanes, and the units that they want ----

  logic [15:0]                        words_q;       // left to decode
  logic [3:0]                         block_step_q;
  logic [CodeLanes-1:0]               active, wants, lacks, short, unit_valid;
  logic [CodeLanes-1:0][UnitBits-1:0] unit;
  logic [CodeLanes-1:0][7:0]          weight;
  logic                               start, begins, turn, step, first, any_lacks;
  logic                               begun_q;       // there was a chunk since the reset
  logic [Units-1:0][UnitBits-1:0]     window_q;
  logic [CountWidth-1:0]              count_q, wanted, kept;

  assign active = {{HalfLanes{words_q != 16'd1}}, {HalfLanes{1'b1}}};

  for (genvar l = 0; l < CodeLanes; l++) begin : gen_lane
    logic lane_wants;
    assign wants[l] = first || (lane_wants && active[l]);
    weight_lane #(.UNIT_BITS(UnitBits)) u_lane (
      .clk_i,
      .clear_i     (begins),
      .code_i      (code_q),
      .centre_i    (centre_q),
      .turn_i      (turn && !first && active[l]),
      .step_i      (!any_lacks),
      .block_end_i (block_step_q == '1 || words_q <= (l < HalfLanes ? 16'd2 : 16'd3)),
      .take_i      (turn && wants[l]),
      .unit_valid_i(unit_valid[l]),
      .unit_i      (unit[l]),
      .wants_o     (lane_wants),
      .lacks_o     (lacks[l]),
      .short_o     (short[l]),
      .weight_o    (weight[l])
    );
  end

  always_comb begin : deal  // the units in the order of the lanes that want one
    logic [CountWidth-1:0] place;
    place = '0;
    for (int unsigned l = 0; l < CodeLanes; l++) begin
      unit_valid[l] = place < count_q;
      unit[l]       = '0;
      for (int unsigned u = 0; u <= l; u++) begin
        unit[l] = unit[l] | (window_q[u] & {UnitBits{place == CountWidth'(u)}});
      end
      place = place + CountWidth'(wants[l]);
    end
    wanted = place;
    kept   = (wanted < count_q) ? count_q - wanted : '0;
  end

  // ---- Turns and steps ----

  logic                  ended_q, room, enough, last, bad;
  logic [CountWidth-1:0] left;

  assign start     = start_valid_i && start_ready_o;
  assign begins    = start && (start_table_i || !begun_q);
  assign first     = state_q == StFirst;
  assign room      = count_q <= CountWidth'(CodeLanes);
  assign enough    = ended_q || (wanted <= count_q && !(last && room));
  assign any_lacks = (lacks & active) != '0;
  assign last      = words_q <= 16'd2;
  assign bad       = (short & active) != '0 || (last && !ended_q);
  assign turn      = enough && (first || (state_q == StSteps && (any_lacks || out_ready_i)));
  assign step      = turn && !first && !any_lacks;
  assign left      = turn ? kept : count_q;

  // A chunk starts in the last step of the chunk before, at the earliest.
  assign start_ready_o = state_q == StIdle || (step && last && !bad);
  assign error_o       = state_q == StError;

  always_comb begin : next_state
    state_d = state_q;
    unique case (state_q)
      StIdle: ;
      StTable: if (load_table) begin
        if (in_last_i) state_d = StError;
        else if (32'(table_q) == TableBeats - 1) state_d = StFirst;
      end
      StFirst: if (enough) state_d = StSteps;
      StSteps: if (step) state_d = bad ? StError : last ? StIdle : StSteps;
      default: state_d = StError;
    endcase
    if (start) state_d = start_table_i ? StTable : begins ? StFirst : StSteps;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {state_q, begun_q} <= {StIdle, 1'b0};
    else         {state_q, begun_q} <= {state_d, begun_q || start};
  end

  always_ff @(posedge clk_i) begin
    if (start)     {words_q, block_step_q} <= {start_words_i, 4'd0};
    else if (step) {words_q, block_step_q} <= {words_q - 16'd2, block_step_q + 4'd1};
  end

  // ---- The window of units ----

  logic                           accepts, accept;
  logic [Units-1:0][UnitBits-1:0] window_d;

  assign in_ready_o = accepts || error_o || state_q == StTable;
  assign accepts    = (first || state_q == StSteps) && !ended_q && left <= CountWidth'(CodeLanes);
  assign accept     = in_valid_i && accepts;

  always_comb begin : move_units
    logic [Units-1:0][UnitBits-1:0] rest, more;
    logic [CountWidth-1:0]          gone;  // if more than count_q, all go
    gone     = turn ? wanted : '0;
    rest     = window_q >> (UnitBits * gone);
    more     = (UnitBits * Units)'(in_data_i);
    window_d = accept ? rest | (more << (UnitBits * left)) : rest;
  end

  // The window needs no reset: the first chunk clears it.
  always_ff @(posedge clk_i) begin
    if (begins) begin
      window_q <= '0;
      count_q  <= '0;
    end else begin
      window_q <= window_d;
      count_q  <= left + (accept ? CountWidth'(BeatUnits) : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    ended_q <= !start && (ended_q || (accept && in_last_i));
  end

  // ---- Words ----

  assign out_valid_o  = state_q == StSteps && enough && !any_lacks && !bad;
  assign out_data_o   = weight;
  assign out_single_o = words_q == 16'd1;
  assign out_last_o   = last;

  `EYRIE_ASSERT_WHEN(SomeWords, start, start_words_i != '0, "a chunk of no words")
  `EYRIE_STABLE(Words, out_valid_o, out_ready_i, {out_data_o, out_single_o, out_last_o})

endmodule
