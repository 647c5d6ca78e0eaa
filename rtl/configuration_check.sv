// SPDX-License-Identifier: Apache-2.0
// Written by scripts/gen_pkg.py from model/config.py, which documents the ranges: do not edit here.
//
// Rejects an illegal configuration at elaboration, in simulation and synthesis. It has no logic.

`include "assertions.svh"

module configuration_check #(
  parameter int unsigned ROWS = 6,  // PE rows, in sets of three
  parameter int unsigned COLS = 8,  // PE columns
  parameter int unsigned MULTIPLIERS = 4,  // multipliers of a PE
  parameter int unsigned GLB_BANKS = 8,  // single-port banks of the GLB
  parameter int unsigned GLB_BANK_WORDS = 1024,  // 64-bit words of a bank
  parameter int unsigned PSUM_WORDS = 128,  // 32-bit sums in a half of a PE's psum buffer
  parameter int unsigned FILTER_WORDS = 24,  // 32-bit words of a PE's filter queue
  parameter int unsigned IFMAP_WORDS = 16,  // 32-bit words of a PE's ifmap queue
  parameter int unsigned PIXEL_WORDS = 14,  // 32-bit words of a PE's pixel queue
  parameter int unsigned WORD_BUFFER_WORDS = 256,  // 32-bit depthwise words that a SUPER keeps
  parameter int unsigned BUS_WORDS = 1,  // 64-bit words in a beat of the DRAM port
  parameter int unsigned FILTER_LANES = 1,  // filter words from the GLB to the array in a cycle
  parameter int unsigned WEIGHT_CODES = 0,  // decoders of coded weights
  parameter int unsigned READ_BEATS = 256  // beats under way from the DRAM, above which no load requests more
) ();

  `EYRIE_STATIC(RowsLegal,
      ROWS >= 3 && ROWS <= 15 && ROWS % 3 == 0,
      $sformatf("ROWS = %0d: must be 3, 6, 9, 12 or 15",
                ROWS))
  `EYRIE_STATIC(ColsLegal,
      COLS >= 2 && COLS <= 16,
      $sformatf("COLS = %0d: must be 2 to 16",
                COLS))
  `EYRIE_STATIC(MultipliersLegal,
      MULTIPLIERS == 1 || MULTIPLIERS == 4,
      $sformatf("MULTIPLIERS = %0d: must be 1 or 4",
                MULTIPLIERS))
  `EYRIE_STATIC(GlbBanksLegal,
      GLB_BANKS == 4 || GLB_BANKS == 8 || GLB_BANKS == 16,
      $sformatf("GLB_BANKS = %0d: must be 4, 8 or 16",
                GLB_BANKS))
  `EYRIE_STATIC(GlbBankWordsLegal,
      GLB_BANK_WORDS >= 128 && GLB_BANK_WORDS <= 16384,
      $sformatf("GLB_BANK_WORDS = %0d: must be 128 to 16384",
                GLB_BANK_WORDS))
  `EYRIE_STATIC(PsumWordsLegal,
      PSUM_WORDS >= 32 && PSUM_WORDS <= 256,
      $sformatf("PSUM_WORDS = %0d: must be 32 to 256",
                PSUM_WORDS))
  `EYRIE_STATIC(FilterWordsLegal,
      FILTER_WORDS >= 3 && FILTER_WORDS <= 32,
      $sformatf("FILTER_WORDS = %0d: must be 3 to 32",
                FILTER_WORDS))
  `EYRIE_STATIC(IfmapWordsLegal,
      IFMAP_WORDS >= 4 && IFMAP_WORDS <= 32,
      $sformatf("IFMAP_WORDS = %0d: must be 4 to 32",
                IFMAP_WORDS))
  `EYRIE_STATIC(PixelWordsLegal,
      PIXEL_WORDS >= 2 && PIXEL_WORDS <= 32,
      $sformatf("PIXEL_WORDS = %0d: must be 2 to 32",
                PIXEL_WORDS))
  `EYRIE_STATIC(WordBufferWordsLegal,
      WORD_BUFFER_WORDS >= 64 && WORD_BUFFER_WORDS <= 1024,
      $sformatf("WORD_BUFFER_WORDS = %0d: must be 64 to 1024",
                WORD_BUFFER_WORDS))
  `EYRIE_STATIC(BusWordsLegal,
      BUS_WORDS == 1 || BUS_WORDS == 2,
      $sformatf("BUS_WORDS = %0d: must be 1 or 2",
                BUS_WORDS))
  `EYRIE_STATIC(FilterLanesLegal,
      FILTER_LANES == 1 || FILTER_LANES == 2,
      $sformatf("FILTER_LANES = %0d: must be 1 or 2",
                FILTER_LANES))
  `EYRIE_STATIC(WeightCodesLegal,
      WEIGHT_CODES == 0 || WEIGHT_CODES == 1,
      $sformatf("WEIGHT_CODES = %0d: must be 0 or 1",
                WEIGHT_CODES))
  `EYRIE_STATIC(ReadBeatsLegal,
      READ_BEATS == 64 || READ_BEATS == 128 || READ_BEATS == 256 || READ_BEATS == 512 || READ_BEATS == 1024,
      $sformatf("READ_BEATS = %0d: must be 64, 128, 256, 512 or 1024",
                READ_BEATS))
  `EYRIE_STATIC(GlbLegal,
      GLB_BANKS * GLB_BANK_WORDS >= 2048 && GLB_BANKS * GLB_BANK_WORDS <= 65536,
      $sformatf("GLB_BANKS x GLB_BANK_WORDS = %0d: must be 2048 to 65536",
                GLB_BANKS * GLB_BANK_WORDS))

endmodule
