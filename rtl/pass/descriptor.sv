// SPDX-License-Identifier: Apache-2.0
// The shadow descriptor: the configuration words of the pass to come, written by CONFIG commands,
// and the views of them that the units take.

`include "assertions.svh"

module descriptor
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // of PEs, in sets of three
  parameter int unsigned COLS = 8   // of PEs
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       write_i,
  input  logic [6:0]                 index_i,
  input  logic [63:0]                data_i,
  output logic                       ids_written_o,  // this write changes IDs

  input  logic                       epoch_i,
  output pass_config_t               pass_o,
  output row_id_t [ROWS-1:0]         row_ids_o,
  output column_id_t [ROWS*COLS-1:0] column_ids_o
);

  logic [63:0] words_q [ConfigWords];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned word = 0; word < ConfigWords; word++) words_q[word] <= '0;
    end else if (write_i) begin
      words_q[index_i] <= data_i;
    end
  end

  assign ids_written_o = write_i && index_i >= 7'(RowIdsIndex) && index_i < 7'(StreamsIndex);

  drain_t drain;

  assign drain        = drain_t'(words_q[DrainIndex]);
  assign pass_o.epoch = epoch_i;
  assign pass_o.drain = drain;
  assign pass_o.array = '{
    shape:     array_shape_t'(words_q[ArrayShapeIndex]),
    loops:     array_loops_t'(words_q[ArrayLoopsIndex]),
    depthwise: depthwise_output_t'(words_q[DepthwiseIndex])
  };
  assign pass_o.post = '{
    finish:     ppu_config_t'(words_q[PpuIndex]),
    add_first:  ppu_addend_t'(words_q[PpuAddFirstIndex]),
    add_second: ppu_addend_t'(words_q[PpuAddSecondIndex]),
    add_result: ppu_add_result_t'(words_q[PpuAddResultIndex]),
    columns:    drain.columns,
    used:       drain.to_ppu
  };
  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    assign row_ids_o[row] = words_q[RowIdsIndex+row/IdsPerWord][8*(row%IdsPerWord) +: 8];
  end
  for (genvar pe = 0; pe < ROWS * COLS; pe++) begin : gen_column
    assign column_ids_o[pe] = words_q[ColumnIdsIndex+pe/IdsPerWord][8*(pe%IdsPerWord) +: 8];
  end

  for (genvar stream = 0; stream < Streams; stream++) begin : gen_stream
    localparam int unsigned First = StreamsIndex + stream * StreamWords;
    assign pass_o.streams[stream].address = stream_address_t'(words_q[First+StreamAddressOffset]);
    assign pass_o.streams[stream].range   = stream_range_t'(words_q[First+StreamRangeOffset]);
    assign pass_o.streams[stream].options = stream_options_t'(words_q[First+StreamOptionsOffset]);
    for (genvar level = 0; level < Levels; level++) begin : gen_level
      assign pass_o.streams[stream].levels[level] =
          stream_level_t'(words_q[First+StreamLevelsOffset+level]);
    end
  end

  `EYRIE_STATIC(RowIdsFit, RowIdsIndex * IdsPerWord + ROWS <= ColumnIdsIndex * IdsPerWord,
      "more rows than the descriptor has IDs for")
  `EYRIE_STATIC(ColumnIdsFit,
      ColumnIdsIndex * IdsPerWord + ROWS * COLS <= StreamsIndex * IdsPerWord,
      "more PEs than the descriptor has IDs for")

endmodule
