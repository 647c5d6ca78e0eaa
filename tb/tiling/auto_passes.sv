// SPDX-License-Identifier: Apache-2.0
// A pass side for long lists, without Python: passes end one after the other after a random while, and
// chunks are freed in their order after another. It holds what it finds in the GLB against what the list of
// tile9 puts there (tb/tiling/long_lists.py): errors_o counts what was too early or too late.
//
//   PASS number p needs the value p in word LoadBase + p % LoadWords when it is taken, and wait_passes p - Behind
//   (0 for the first); when it ends it writes p into word StoreBase + p % StoreWords.
//   Chunk number c, when it is freed, has the value c in word RingBase + c % RingWords.
module auto_passes
  import eyrie_pkg::*;
#(
  parameter int unsigned LOAD_BASE = 0,
  parameter int unsigned LOAD_WORDS = 8,
  parameter int unsigned STORE_BASE = 64,
  parameter int unsigned STORE_WORDS = 8,
  parameter int unsigned RING_BASE = 128,
  parameter int unsigned RING_WORDS = 4,
  parameter int unsigned BEHIND = 3
) (
  input  logic          clk_i,
  input  logic          rst_ni,      // begins anew
  input  logic          enable_i,
  input  longint        glb_i,       // the GLB's memory
  input  pass_control_t control_i,
  output logic          ready_o,
  output logic          done_o,
  output logic          freed_o,
  output int            passes_o,    // ended
  output int            chunks_o,    // freed
  output int            errors_o
);

  import "DPI-C" function longint dram_read(input longint base, input int word);
  import "DPI-C" function void dram_write(input longint base, input int word, input longint data,
                                          input int strobe);

  int taken;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ready_o  <= 1'b0;
      done_o   <= 1'b0;
      freed_o  <= 1'b0;
      taken    <= 0;
      passes_o <= 0;
      chunks_o <= 0;
      errors_o <= 0;
    end else begin
      int wrong;
      wrong = 0;
      ready_o <= enable_i && $urandom_range(3) != 0;
      done_o  <= 1'b0;
      freed_o <= 1'b0;
      if (ready_o && control_i.pass_valid) begin
        taken <= taken + 1;
        if (dram_read(glb_i, LOAD_BASE + taken % LOAD_WORDS) != longint'(taken)) wrong++;
        if (int'(control_i.wait_passes) != ((taken < BEHIND) ? 0 : taken - BEHIND)) wrong++;
      end
      if (enable_i && passes_o < taken && !done_o && $urandom_range(1) != 0) begin
        done_o   <= 1'b1;
        passes_o <= passes_o + 1;
        dram_write(glb_i, STORE_BASE + passes_o % STORE_WORDS, longint'(passes_o), 255);
      end
      if (enable_i && chunks_o < int'(control_i.chunks_loaded) && !freed_o && $urandom_range(1) != 0) begin
        freed_o  <= 1'b1;
        chunks_o <= chunks_o + 1;
        if (dram_read(glb_i, RING_BASE + chunks_o % RING_WORDS) != longint'(chunks_o)) wrong++;
      end
      errors_o <= errors_o + wrong;
    end
  end

endmodule
