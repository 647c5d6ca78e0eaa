// SPDX-License-Identifier: Apache-2.0
// The shadow descriptor: the configuration words of the next pass, written by CONFIG commands.
//
// Registers hold the words that all units accept at once, the row IDs, the streams in use and the
// options of the ifmap stream. A memory holds the column IDs and the words of the streams. read_i
// reads a pair of words, an even one and the next, in one cycle. Words that were never written are
// 0: after a reset the memory is cleared while ready_o is low.

`include "assertions.svh"

module descriptor
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,  // PE rows, a multiple of 3
  parameter int unsigned COLS = 8   // PE columns
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  output logic               ready_o,
  input  logic               write_i,
  input  config_index_t      index_i,
  input  logic [63:0]        data_i,
  output logic               ids_written_o,  // the write changes IDs

  input  logic               pass_phase_i,
  output pass_config_t       pass_o,
  output row_id_t [ROWS-1:0] row_ids_o,

  input  logic               read_i,
  input  config_pair_t       read_pair_i,
  output glb_word_t [1:0]    read_words_o
);

  // ---- Registers ----

  logic [63:0]        words_q [ColumnIdsIndex];
  logic [Streams-1:0] used_q;
  destination_e       destination_q;  // destination of ifmap words
  logic               single_q, packed_pixels_q;
  logic [1:0]         more_bands_q;
  drain_t             drain;
  stream_options_t    options;  // the written word as stream options

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned word = 0; word < ColumnIdsIndex; word++) words_q[word] <= '0;
      used_q          <= '0;
      destination_q   <= ToRows;
      single_q        <= 1'b0;
      packed_pixels_q <= 1'b0;
      more_bands_q    <= '0;
    end else if (write_i) begin
      for (int unsigned word = 0; word < ColumnIdsIndex; word++) begin
        if (32'(index_i) == word) words_q[word] <= data_i;
      end
      for (int unsigned stream = 0; stream < Streams; stream++) begin
        if (32'(index_i) == StreamsIndex + stream * StreamWords + StreamOptionsOffset) begin
          used_q[stream] <= options.enable;
          if (stream == StreamIfmap) begin
            destination_q   <= destination_e'(options.destination);
            single_q        <= options.single;
            packed_pixels_q <= options.packed_pixels;
            more_bands_q    <= options.more_bands;
          end
        end
      end
    end
  end

  logic unused_options;
  assign options        = stream_options_t'(data_i);
  assign unused_options = ^options;

  assign ids_written_o = write_i && index_i >= config_index_t'(RowIdsIndex) &&
                         index_i < config_index_t'(StreamsIndex);

  assign pass_o.pass_phase = pass_phase_i;
  assign pass_o.streams    = used_q;
  assign pass_o.destination   = destination_q;
  assign pass_o.single        = single_q;
  assign pass_o.packed_pixels = packed_pixels_q;
  assign pass_o.more_bands    = more_bands_q;
  assign pass_o.array   = '{
    shape:     array_shape_t'(words_q[ArrayShapeIndex]),
    loops:     array_loops_t'(words_q[ArrayLoopsIndex]),
    depthwise: depthwise_output_t'(words_q[DepthwiseIndex])
  };
  assign drain        = drain_t'(words_q[DrainIndex]);
  assign pass_o.drain = drain;
  assign pass_o.post  = '{
    finish:      ppu_config_t'(words_q[PpuIndex]),
    first:       ppu_first_t'(words_q[PpuFirstIndex]),
    second:      ppu_second_t'(words_q[PpuSecondIndex]),
    result:      ppu_result_t'(words_q[PpuResultIndex]),
    columns:     drain.columns,
    used:        drain.to_ppu,
    elementwise: drain.mode == DrainNone
  };
  for (genvar row = 0; row < ROWS; row++) begin : gen_row
    assign row_ids_o[row] = words_q[RowIdsIndex+row/IdsPerWord][8*(row%IdsPerWord) +: 8];
  end

  // ---- Memory: even and odd words ----

  logic         clearing_q;
  config_pair_t clear_q;

  assign ready_o = !clearing_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      clear_q    <= '0;
    end else if (clearing_q) begin
      clearing_q <= clear_q != config_pair_t'(ConfigWords / 2 - 1);
      clear_q    <= clear_q + 1'b1;
    end
  end

  for (genvar odd = 0; odd < 2; odd++) begin : gen_memory
    ram_1r1w #(.WORDS(ConfigWords / 2), .WIDTH(64)) u_words (
      .clk_i,
      .write_i        (clearing_q || (write_i && index_i[0] == (odd == 1))),
      .write_address_i(clearing_q ? clear_q : index_i[$high(index_i):1]),
      .write_data_i   (clearing_q ? '0 : data_i),
      .read_i,
      .read_address_i (read_pair_i),
      .read_data_o    (read_words_o[odd])
    );
  end

  `EYRIE_STATIC(RowIdsFit, RowIdsIndex * IdsPerWord + ROWS <= ColumnIdsIndex * IdsPerWord,
      "more rows than the descriptor has IDs for")
  `EYRIE_STATIC(ColumnIdsFit,
      ColumnIdsIndex * IdsPerWord + ROWS * COLS <= StreamsIndex * IdsPerWord,
      "more PEs than the descriptor has IDs for")
  `EYRIE_STATIC(PairsWhole,
      ColumnIdsIndex % 2 == 0 && StreamsIndex % 2 == 0 && StreamWords % 2 == 0,
      "IDs or streams begin at an odd word")
  `EYRIE_ASSERT_WHEN(WrittenCleared, write_i || read_i, ready_o,
      "the descriptor is used before it is cleared")
  `EYRIE_ASSERT(NotBoth, !(write_i && read_i), "the descriptor is written and read in one cycle")

endmodule
