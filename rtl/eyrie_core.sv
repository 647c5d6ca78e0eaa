// SPDX-License-Identifier: Apache-2.0
// The core runs passes around the global buffer (GLB). The pass controller requests a pass from all
// units; streams carry words from the GLB into the PE array; the drain takes sums out through the
// PPU; a stream writes the results back. The DMA uses the other ports of the GLB (load_*, store_*;
// docs/hardware/glb.md).

`include "assertions.svh"

module eyrie_core
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,                 // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,                 // PE columns
  parameter int unsigned MULTIPLIERS = 4,          // multipliers of a PE: 1 or 4
  parameter int unsigned GLB_BANKS = 8,            // banks of the GLB
  parameter int unsigned GLB_BANK_WORDS = 1024,    // 64-bit words of a bank
  parameter int unsigned IFMAP_WORDS = 16,         // depth of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,        // depth of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,         // depth of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,         // psums in a half of a PE's psum buffer
  parameter int unsigned WORD_BUFFER_WORDS = 256,  // depth of a SUPER's word buffer
  parameter int unsigned FILTER_LANES = 1          // filter words per cycle: 1 or 2
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  pass_control_t   control_i,
  output pass_status_t    status_o,
  output activity_t       activity_o,

  input  logic            load_valid_i,
  output logic            load_ready_o,
  input  glb_request_t    load_request_i,
  input  logic            store_valid_i,
  output logic            store_ready_o,
  input  glb_request_t    store_request_i,
  output logic            store_read_valid_o,
  output glb_word_t [1:0] store_read_data_o
);

  // ---- Passes ----

  typedef enum int unsigned {UnitStreams, UnitArray, UnitDrain, UnitPpu, Units} unit_e;

  pass_config_t     pass;
  count_t           wait_passes;
  id_scan_t         scan;
  logic [Streams-1:0] streams_want;
  stream_load_t     stream_load;
  logic [Units-1:0] accepted;
  logic             drain_done, ofmap_done, drain_phase, ppu_phase;

  pass_controller #(
    .ROWS(ROWS), .COLS(COLS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .FILTER_LANES(FILTER_LANES), .UNITS(Units)
  ) u_pass_controller (
    .clk_i, .rst_ni, .control_i,
    .config_ready_o(status_o.config_ready),
    .pass_ready_o  (status_o.pass_ready),
    .pass_done_o   (status_o.pass_done),
    .illegal_o     (status_o.illegal_pass),
    .pass_o        (pass),
    .wait_passes_o (wait_passes),
    .scan_o        (scan),
    .streams_want_i(streams_want),
    .stream_load_o (stream_load),
    .accepted_i    (accepted),
    .drain_done_i  (drain_done),
    .ofmap_done_i  (ofmap_done)
  );

  // The rules check these options; the ifmap stream has its own copy.
  logic unused_options;
  assign unused_options = ^{pass.destination, pass.single, pass.packed_pixels, pass.more_bands};

  assign accepted[UnitDrain] = drain_phase == pass.pass_phase;
  assign accepted[UnitPpu]   = ppu_phase == pass.pass_phase;

  // ---- Words between the GLB and the units ----

  logic         [Clients-1:0]   request_valid, request_ready, read_valid;
  glb_request_t [Clients-1:0]   request;
  glb_word_t [Clients-1:0][1:0] read_data;
  ifmap_stream_t                ifmap;
  filter_stream_t               filter, depthwise;
  word_stream_t                 parameters, residual, ipsum;
  elementwise_stream_t          words;
  ofmap_stream_t                ofmap;
  logic                         ifmap_ready, words_ready, filter_ready, depthwise_ready;
  logic                         parameters_ready, residual_ready, ipsum_ready, ofmap_ready;
  logic                         ofmap_unequal, reading;

  stream_set #(.FILTER_LANES(FILTER_LANES)) u_stream_set (
    .clk_i, .rst_ni,
    .pending_phase_i   (pass.pass_phase),
    .pending_used_i    (pass.streams),
    .wanted_o          (streams_want),
    .load_i            (stream_load),
    .wait_passes_i     (wait_passes),
    .accepted_o        (accepted[UnitStreams]),
    .passes_done_i     (control_i.passes_done),
    .chunks_loaded_i   (control_i.chunks_loaded),
    .chunk_freed_o     (status_o.chunk_freed),
    .ofmap_done_o      (ofmap_done),
    .ofmap_unequal_o   (ofmap_unequal),
    .reading_o         (reading),
    .ifmap_waits_o     (activity_o.ifmap_waits),
    .filter_waits_o    (activity_o.filter_waits),
    .request_valid_o   (request_valid[Streams-1:0]),
    .request_ready_i   (request_ready[Streams-1:0]),
    .request_o         (request[Streams-1:0]),
    .read_valid_i      (read_valid[Streams-1:0]),
    .read_data_i       (read_data[Streams-1:0]),
    .ifmap_o           (ifmap),
    .ifmap_ready_i     (ifmap_ready),
    .words_o           (words),
    .words_ready_i     (words_ready),
    .filter_o          (filter),
    .filter_ready_i    (filter_ready),
    .depthwise_o       (depthwise),
    .depthwise_ready_i (depthwise_ready),
    .parameters_o      (parameters),
    .parameters_ready_i(parameters_ready),
    .residual_o        (residual),
    .residual_ready_i  (residual_ready),
    .ipsum_o           (ipsum),
    .ipsum_ready_i     (ipsum_ready),
    .ofmap_i           (ofmap),
    .ofmap_ready_o     (ofmap_ready)
  );

  assign request_valid[ClientLoad]  = load_valid_i;
  assign request[ClientLoad]        = load_request_i;
  assign load_ready_o               = request_ready[ClientLoad];
  assign request_valid[ClientStore] = store_valid_i;
  assign request[ClientStore]       = store_request_i;
  assign store_ready_o              = request_ready[ClientStore];
  assign store_read_valid_o         = read_valid[ClientStore];
  assign store_read_data_o          = read_data[ClientStore];

  glb #(.BANKS(GLB_BANKS), .BANK_WORDS(GLB_BANK_WORDS)) u_glb (
    .clk_i, .rst_ni,
    .request_valid_i(request_valid),
    .request_ready_o(request_ready),
    .request_i      (request),
    .read_valid_o   (read_valid),
    .read_data_o    (read_data),
    .error_o        (status_o.glb_error),
    .bytes_o        (activity_o.glb_bytes),
    .conflicts_o    (activity_o.glb_conflicts)
  );

  // ---- PE array, drain and PPU ----

  drain_stream_t   drain;
  sum_t [COLS-1:0] drain_sums;
  sum_t [1:0][COLS-1:0] sums;
  drain_flags_t     sums_flags;
  logic             drain_ready, drain_empty, sums_valid, sums_ready;
  logic             array_overrun, drain_overrun, ppu_overrun;

  localparam pe_sizes_t Sizes = '{
    multipliers: MULTIPLIERS, ifmap_words: IFMAP_WORDS, filter_words: FILTER_WORDS,
    pixel_words: PIXEL_WORDS, psum_words: PSUM_WORDS, word_buffer_words: WORD_BUFFER_WORDS,
    filter_lanes: FILTER_LANES
  };

  pe_array #(.SIZES(Sizes), .ROWS(ROWS), .COLS(COLS)) u_pe_array (
    .clk_i, .rst_ni,
    .cfg_i            (pass.array),
    .pass_phase_i     (pass.pass_phase),
    .accepted_o       (accepted[UnitArray]),
    .scan_i           (scan),
    .ifmap_i          (ifmap),
    .ifmap_ready_o    (ifmap_ready),
    .filter_i         (filter),
    .filter_ready_o   (filter_ready),
    .depthwise_i      (depthwise),
    .depthwise_ready_o(depthwise_ready),
    .drain_i          (drain),
    .drain_sums_i     (drain_sums),
    .drain_ready_o    (drain_ready),
    .drain_empty_o    (drain_empty),
    .overrun_o        (array_overrun),
    .sums_valid_o     (sums_valid),
    .sums_ready_i     (sums_ready),
    .sums_o           (sums),
    .sums_flags_o     (sums_flags),
    .macs_o           (activity_o.macs),
    .zero_skipped_o   (activity_o.zero_skipped),
    .waits_o          (activity_o.waits),
    .behind_o         (activity_o.behind)
  );

  drain_sequencer #(.ROWS(ROWS), .COLS(COLS)) u_drain_sequencer (
    .clk_i, .rst_ni,
    .cfg_i        (pass.drain),
    .loops_i      (pass.array.loops),
    .pixels_i     (pass.array.shape.pixels),
    .rotation_i   (pass.array.shape.rotation),
    .pass_phase_i (pass.pass_phase),
    .pass_phase_o (drain_phase),
    .done_o       (drain_done),
    .overrun_o    (drain_overrun),
    .ipsum_i      (ipsum),
    .ipsum_ready_o(ipsum_ready),
    .drain_o      (drain),
    .sums_o       (drain_sums),
    .ready_i      (drain_ready),
    .empty_i      (drain_empty)
  );

  ppu #(.COLS(COLS)) u_ppu (
    .clk_i, .rst_ni,
    .cfg_i             (pass.post),
    .pass_phase_i      (pass.pass_phase),
    .pass_phase_o      (ppu_phase),
    .sums_valid_i      (sums_valid),
    .sums_ready_o      (sums_ready),
    .sums_i            (sums),
    .flags_i           (sums_flags),
    .words_i           (words),
    .words_ready_o     (words_ready),
    .parameters_i      (parameters),
    .parameters_ready_o(parameters_ready),
    .residual_i        (residual),
    .residual_ready_o  (residual_ready),
    .word_o            (ofmap),
    .word_ready_i      (ofmap_ready),
    .overrun_o         (ppu_overrun),
    .elementwise_o     (activity_o.elementwise),
    .busy_o            (activity_o.drain_busy),
    .stall_o           (activity_o.drain_stall)
  );

  // ---- Overrun ----

  // Delay from the last transfer of a stream until an overrun stops the accelerator: a skid buffer,
  // a register here and a register in the tiling controller.
  localparam int unsigned OverrunDelay = 3;

  logic                    overrun_q;
  logic [OverrunDelay-1:0] reading_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      overrun_q <= 1'b0;
      reading_q <= '0;
    end else begin
      overrun_q <= array_overrun || drain_overrun || ppu_overrun || ofmap_unequal;
      reading_q <= {reading_q[OverrunDelay-2:0], reading};
    end
  end

  assign status_o.overrun = overrun_q;
  assign status_o.reading = reading || reading_q != '0;

  // ---- Activity ----

  assign activity_o.ifmap_stall  = (ifmap.valid && !ifmap_ready) || (words.valid && !words_ready);
  assign activity_o.filter_stall = filter.valid && !filter_ready;
  assign status_o.wants_chunk = activity_o.filter_waits && !activity_o.ifmap_waits;
  assign status_o.progress       = activity_o.macs != '0 || activity_o.drain_busy ||
                                   (request_valid & request_ready) != '0;

  // In each cycle a PE multiplies a word or waits for one reason.
  `EYRIE_ASSERT(EachPeOnce,
      16'(activity_o.macs) / 16'(WordChannels) + 16'(activity_o.waits[0]) +
      16'(activity_o.waits[1]) + 16'(activity_o.waits[2]) + 16'(activity_o.waits[3]) +
      16'(activity_o.waits[4]) <= 16'(ROWS * COLS), "a PE multiplies and waits in one cycle")

endmodule
