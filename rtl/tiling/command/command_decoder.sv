// SPDX-License-Identifier: Apache-2.0
// Decodes the words of the command list and distributes commands to two queues. LOAD and STORE go
// to the queue of the DMA; CHUNKS and CODED, looped LOADs, go there as one LOAD per cycle. CONFIG
// words and PASS go to the pass queue, in order. The decoder stops at END (ended_o stays high).
//
// Illegal commands: an unknown opcode, as CODED without WEIGHT_CODES; a bit without meaning that is
// set (such as the chunk bit of a STORE); a count or a length of 0; a CONFIG word beyond the
// descriptor, behind those before it; a looped LOAD whose wait counts exceed the largest. For these
// fault_o.code is not ErrorNone and stays, with the address of the first word of the command, and
// the word is not accepted. command_o is that address in every cycle.

`include "assertions.svh"

module command_decoder
  import encoding_pkg::*;
  import eyrie_pkg::config_index_t;
  import tiling_pkg::*;
#(
  parameter int unsigned WEIGHT_CODES = 0  // decoders of coded weights: 0 or 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        word_valid_i,
  output logic        word_ready_o,
  input  logic [63:0] word_i,
  input  logic [31:0] word_address_i,
  input  error_code_e word_error_i,

  output logic        transfer_valid_o,
  input  logic        transfer_ready_i,
  output transfer_t   transfer_o,

  output logic        entry_valid_o,
  input  logic        entry_ready_i,
  output pass_entry_t entry_o,

  output logic        ended_o,
  output logic [31:0] command_o,
  output fault_t      fault_o
);

  localparam int unsigned MoreWords = 52;    // descriptor words in reach of the first of a CONFIG

  typedef enum logic [2:0] {
    StCommand, // first word of a command
    StConfig,  // words of a CONFIG
    StAddress, // second word of a transfer
    StRows,
    StPlanes,
    StChunks,  // third word of a looped LOAD; of a CHUNKS, until all its LOADs are queued
    StLengths, // lengths of four LOADs of a CODED, until these are queued
    StEnd
  } state_e;

  state_e            state_d, state_q;
  logic [31:0]       command_q;
  logic [8:0]        index_d, index_q;       // descriptor word that a CONFIG writes next
  config_index_t     first_d, first_q;       // descriptor word that it has written first
  logic [MoreWords-1:0] left_d, left_q;      // bit n: word first_q + 1 + n follows index_q
  transfer_command_t header_q;               // of CHUNKS: wait counts of the next LOAD
  transfer_address_t address_q;              // of a looped LOAD: address of the next one
  transfer_rows_t    rows_q;
  logic [15:0]       handed_q;               // LOADs of a looped LOAD queued
  transfer_chunks_t  chunks_q;               // third word of a CODED

  // The word in each of the formats
  opcode_e           opcode;
  config_command_t   as_config;
  pass_command_t     as_pass;
  transfer_command_t as_transfer;
  transfer_address_t as_address;
  transfer_chunks_t  as_chunks;
  assign opcode      = opcode_e'(word_i[3:0]);
  assign as_config   = word_i[ConfigCommandWidth-1:0];
  assign as_pass     = word_i[PassCommandWidth-1:0];
  assign as_transfer = word_i;
  assign as_address  = word_i;

  logic coded, chunks, last_chunk;           // of the command in header_q
  logic lengths_follow;
  assign lengths_follow = WEIGHT_CODES != 0 && state_q == StLengths;
  assign coded      = WEIGHT_CODES != 0 && header_q.opcode == OpCoded;
  assign chunks     = coded || header_q.opcode == OpChunks;
  assign as_chunks  = lengths_follow ? chunks_q : word_i[TransferChunksWidth-1:0];
  assign last_chunk = handed_q == as_chunks.count - 16'd1;

  // The lengths from the one of the next LOAD on, and whether the word has another
  logic [63:0] lengths;
  logic        last_length;
  assign lengths     = word_i >> {handed_q[1:0], 4'd0};
  assign last_length = handed_q[1:0] == '1 || last_chunk;

  logic [5:0] lowest;                        // bit of left_q, counted from 1
  always_comb begin : find_lowest
    lowest = '0;
    for (int unsigned n = MoreWords; n > 0; n--) if (left_q[n-1]) lowest = 6'(n);
  end

  logic transfer_legal, chunks_legal, lengths_legal;
  assign transfer_legal = !(as_transfer.chunk && opcode != OpLoad) &&
                          !(as_transfer.block && opcode == OpChunks);
  assign chunks_legal   = word_i[63:TransferChunksWidth] == '0 && as_chunks.count != '0
                          && (coded ? header_q.chunk || last_chunk
                                    : header_q.wait_chunks != '1 || last_chunk);
  assign lengths_legal  = lengths[15:0] != '0 && (!last_chunk || lengths[63:16] == '0)
                          && (header_q.wait_chunks != '1 || last_chunk);

  logic legal;
  always_comb begin : check
    legal = 1'b1;
    unique case (state_q)
      StCommand: begin
        unique case (opcode)
          OpEnd:           legal = word_i[63:EndCommandWidth] == '0;
          OpConfig:        legal = 1'b1;
          OpPass:          legal = word_i[63:PassCommandWidth] == '0;
          OpLoad, OpStore, OpChunks: legal = transfer_legal;
          OpCoded:         legal = WEIGHT_CODES != 0;
          default:         legal = 1'b0;
        endcase
      end
      StConfig:         legal = index_q < 9'(ConfigWords);
      StAddress:        legal = as_address.words != '0;
      StRows, StPlanes: legal = word_i[63:TransferRowsWidth] == '0
                                && word_i[TransferRowsWidth-1 -: 12] != '0;
      StChunks:         legal = chunks_legal;
      StLengths:        legal = WEIGHT_CODES == 0 || lengths_legal;
      default: ;
    endcase
  end

  logic good;                                // a legal word without error
  assign good = word_valid_i && word_error_i == ErrorNone && legal;

  assign command_o = (state_q == StCommand) ? word_address_i : command_q;
  assign ended_o   = state_q == StEnd;
  always_comb begin : report
    fault_o.command = command_o;
    fault_o.code    = ErrorNone;
    if (word_valid_i && state_q != StEnd) begin
      if (word_error_i != ErrorNone) fault_o.code = word_error_i;
      else if (!legal)               fault_o.code = ErrorIllegalCommand;
    end
  end

  // The last word of a command completes it.
  assign entry_valid_o = good && (state_q == StConfig
                                  || (state_q == StCommand && opcode == OpPass));
  always_comb begin : entry
    pass_t pass;
    pass = '{command: command_o, wait_passes: as_pass.wait_passes,
             wait_transfers: as_pass.wait_transfers};
    entry_o = '{is_pass: state_q == StCommand, index: config_index_t'(index_q),
                data: (state_q == StCommand) ? pass : $bits(pass_t)'(word_i)};
  end

  assign transfer_valid_o = good && ((state_q == StAddress && !header_q.block && !chunks)
                                     || state_q == StPlanes || (state_q == StChunks && !coded)
                                     || lengths_follow);
  always_comb begin : transfer
    transfer_o = '{
      coded:       '{used: coded, with_table: header_q.block && handed_q == '0,
                     words: lengths[15:0]},
      command:     command_q,
      store:       header_q.opcode == OpStore,
      chunk:       header_q.chunk || (chunks && !coded),
      wait_passes: header_q.wait_passes,
      wait_chunks: header_q.wait_chunks,
      address:     address_q,
      rows:        rows_q,
      planes:      word_i[TransferPlanesWidth-1:0]
    };
    if (!coded) transfer_o.coded = '0;
    if (state_q == StAddress) transfer_o.address = as_address;
    if (state_q != StPlanes) begin
      transfer_o.rows         = '0;
      transfer_o.rows.count   = 12'd1;
      transfer_o.planes       = '0;
      transfer_o.planes.count = 12'd1;
    end
  end

  always_comb begin : next_state
    state_d      = state_q;
    index_d      = index_q;
    first_d      = first_q;
    left_d       = left_q;
    word_ready_o = 1'b0;
    unique case (state_q)
      StCommand: if (good) begin
        word_ready_o = 1'b1;
        unique case (opcode)
          OpEnd:           state_d = StEnd;
          OpConfig: begin
            state_d = StConfig;
            index_d = 9'(as_config.index);
            first_d = as_config.index;
            left_d  = as_config.more;
          end
          OpPass:          word_ready_o = entry_ready_i;
          OpLoad, OpStore, OpChunks, OpCoded: state_d = StAddress;
          default: ;
        endcase
      end
      StConfig: if (good) begin
        word_ready_o = entry_ready_i;
        if (entry_ready_i) begin
          index_d = 9'(first_q) + 9'(lowest);
          left_d  = left_q & (left_q - 1'b1);
          if (left_q == '0) state_d = StCommand;
        end
      end
      StAddress: if (good) begin
        word_ready_o = header_q.block || chunks || transfer_ready_i;
        if (chunks)                state_d = StChunks;
        else if (header_q.block)   state_d = StRows;
        else if (transfer_ready_i) state_d = StCommand;
      end
      StRows: if (good) begin
        word_ready_o = 1'b1;
        state_d      = StPlanes;
      end
      StPlanes: if (good) begin
        word_ready_o = transfer_ready_i;
        if (transfer_ready_i) state_d = StCommand;
      end
      StChunks: if (good) begin
        word_ready_o = coded || (transfer_ready_i && last_chunk);
        if (word_ready_o) state_d = coded ? StLengths : StCommand;
      end
      StLengths: if (good) begin
        word_ready_o = transfer_ready_i && last_length;
        if (WEIGHT_CODES == 0 || (transfer_ready_i && last_chunk)) state_d = StCommand;
      end
      default: ;                             // StEnd lasts until the reset
    endcase
  end

  // The LOAD of the chunk after address_q
  transfer_address_t following;
  always_comb begin : follow
    following              = address_q;
    following.dram_address = address_q.dram_address
                             + 32'({coded ? lengths[15:0] : address_q.words, 3'd0});
    following.glb_address  = address_q.glb_address + address_q.words;
    if (following.glb_address == as_chunks.ring_end) following.glb_address = as_chunks.ring_first;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q   <= StCommand;
      index_q   <= '0;
      first_q   <= '0;
      left_q    <= '0;
      command_q <= '0;
      header_q  <= '0;
      address_q <= '0;
      rows_q    <= '0;
      handed_q  <= '0;
      chunks_q  <= '0;
    end else begin
      state_q <= state_d;
      index_q <= index_d;
      first_q <= first_d;
      left_q  <= left_d;
      if (word_ready_o && state_q == StCommand) begin
        command_q <= word_address_i;
        header_q  <= as_transfer;
      end
      if (word_ready_o && state_q == StAddress) address_q <= as_address;
      if (word_ready_o && state_q == StRows)    rows_q    <= word_i[TransferRowsWidth-1:0];
      if (coded && state_q == StChunks && good) chunks_q <= as_chunks;
      if ((state_q == StChunks || lengths_follow) && transfer_valid_o && transfer_ready_i) begin
        handed_q             <= last_chunk ? '0 : handed_q + 1'b1;
        address_q            <= following;
        if (header_q.wait_chunks != '0) header_q.wait_chunks <= header_q.wait_chunks + 1'b1;
      end
    end
  end

  logic unused_fields;
  assign unused_fields = ^{as_config.opcode, as_pass.opcode};

  `EYRIE_STATIC(WholeWords, TransferCommandWidth == 64 && TransferAddressWidth == 64,
      "a transfer command has unused bits")
  `EYRIE_STATIC(MoreBits, $bits(as_config.more) == MoreWords, "not the bits of a CONFIG")
  `EYRIE_STATIC(RowsLikePlanes, TransferRowsWidth == TransferPlanesWidth, "formats differ")
  `EYRIE_ASSERT_WHEN(ConfigAscends, state_q == StConfig && left_q != '0,
      9'(first_q) + 9'(lowest) > index_q, "a CONFIG word does not follow the one before")
  `EYRIE_ASSERT_NEXT(EndStays, state_q == StEnd, state_q == StEnd, "a command after END")
  `EYRIE_COVER(ChunksWait, state_q == StChunks && transfer_valid_o && !transfer_ready_i)
  `EYRIE_COVER(BlockTransfer, state_q == StPlanes && transfer_valid_o && transfer_ready_i)
  `EYRIE_COVER(PassQueueFull, entry_valid_o && !entry_ready_i)

endmodule
