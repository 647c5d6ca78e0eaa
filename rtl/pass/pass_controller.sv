// SPDX-License-Identifier: Apache-2.0
// The pass controller: stores the shadow descriptor, scans IDs into the array, requests each pass
// from all units and counts finished passes.
//
// A PASS scans the IDs if they have changed, except for a vector pass, and then toggles
// pass_o.pass_phase. Every unit accepts the pass when it has finished the pass before
// (docs/hardware/overview.md, "Overlap of passes"); accepted_i has a bit per unit. A PASS whose
// descriptor breaks a rule is not requested: illegal_o stays high until a reset. CONFIG words are
// accepted only while no pass is pending. pass_done_o: the sums of a pass have left the array and
// its ofmap is written.

`include "assertions.svh"

module pass_controller
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,           // PE rows, a multiple of 3
  parameter int unsigned COLS = 8,           // PE columns
  parameter int unsigned IFMAP_WORDS = 16,   // depth of a PE's ifmap queue
  parameter int unsigned FILTER_WORDS = 24,  // depth of a PE's filter queue
  parameter int unsigned PIXEL_WORDS = 14,   // depth of a PE's pixel queue
  parameter int unsigned PSUM_WORDS = 128,   // psums in a half of a PE's psum buffer
  parameter int unsigned FILTER_LANES = 1,   // filter words per cycle: 1 or 2
  parameter int unsigned UNITS = 4           // units that accept passes
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  pass_control_t    control_i,  // from the tiling controller
  output logic             config_ready_o,
  output logic             pass_ready_o,
  output logic             pass_done_o,
  output logic             illegal_o,

  // Units
  output pass_config_t     pass_o,
  output count_t           wait_passes_o,  // wait count of the pending pass
  output id_scan_t         scan_o,
  input  logic [Streams-1:0] streams_want_i,  // streams that request their descriptor words
  output stream_load_t     stream_load_o,
  input  logic [UNITS-1:0] accepted_i,
  input  logic             drain_done_i,
  input  logic             ofmap_done_i
);

  // ---- Descriptor and request ----

  typedef enum logic [2:0] {StIdle, StScan, StRequest, StAccept, StIllegal} state_e;

  state_e                     state_d, state_q;
  logic                       pass_phase_q, ids_changed_q, ids_written, scan_start, scan_busy;
  logic                       all_accepted;
  logic                       illegal, illegal_q;
  count_t                     wait_passes_q;
  logic                       cleared, scan_read, load_read;
  row_id_t [ROWS-1:0]         row_ids;
  config_pair_t               scan_pair, load_pair;
  glb_word_t [1:0]            words;

  descriptor #(.ROWS(ROWS), .COLS(COLS)) u_descriptor (
    .clk_i, .rst_ni,
    .ready_o      (cleared),
    .write_i      (control_i.config_valid && config_ready_o),
    .index_i      (control_i.config_index),
    .data_i       (control_i.config_data),
    .ids_written_o(ids_written),
    .pass_phase_i (pass_phase_q),
    .pass_o,
    .row_ids_o    (row_ids),
    .read_i       (scan_read || load_read),
    .read_pair_i  (scan_read ? scan_pair : load_pair),
    .read_words_o (words)
  );

  assign all_accepted = accepted_i == '1;

  always_comb begin : request_fsm
    state_d    = state_q;
    scan_start = 1'b0;
    unique case (state_q)
      StIdle: begin
        if (control_i.pass_valid && cleared) begin
          scan_start = ids_changed_q && !pass_o.post.elementwise;
          state_d    = scan_start ? StScan : StRequest;
        end
      end
      StScan:    if (!scan_busy) state_d = StRequest;
      StRequest: state_d = illegal_q ? StIllegal : StAccept;
      StIllegal: state_d = StIllegal;
      default: if (all_accepted) state_d = StIdle;
    endcase
  end

  assign config_ready_o = state_q == StIdle && cleared;
  assign pass_ready_o   = state_q == StRequest && !illegal_q;
  assign illegal_o      = state_q == StIllegal;
  assign wait_passes_o  = wait_passes_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q       <= StIdle;
      pass_phase_q  <= 1'b0;
      ids_changed_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (pass_ready_o) pass_phase_q <= !pass_phase_q;
      if (ids_written) ids_changed_q <= 1'b1;
      else if (scan_start) ids_changed_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (control_i.pass_valid && pass_ready_o) wait_passes_q <= control_i.wait_passes;
  end

  // ---- Rules ----

  descriptor_rules #(
    .ROWS(ROWS), .COLS(COLS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .FILTER_LANES(FILTER_LANES)
  ) u_rules (
    .pass_i   (pass_o),
    .illegal_o(illegal)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) illegal_q <= 1'b0;
    else         illegal_q <= illegal;
  end

  // ---- IDs and streams ----

  id_scanner #(.ROWS(ROWS), .COLS(COLS)) u_id_scanner (
    .clk_i, .rst_ni,
    .start_i     (scan_start),
    .busy_o      (scan_busy),
    .read_o      (scan_read),
    .read_pair_o (scan_pair),
    .read_words_i(words),
    .row_ids_i   (row_ids),
    .scan_o
  );

  stream_loader u_stream_loader (
    .clk_i, .rst_ni,
    .wanted_i    (streams_want_i),
    .read_o      (load_read),
    .read_pair_o (load_pair),
    .read_words_i(words),
    .load_o      (stream_load_o)
  );

  // ---- Finished passes ----

  // A pass is done when drain and ofmap stream have finished it. Either can be up to two passes
  // ahead.
  logic [1:0] drains_q, ofmaps_q;

  assign pass_done_o = drains_q != '0 && ofmaps_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      drains_q <= '0;
      ofmaps_q <= '0;
    end else begin
      drains_q <= drains_q + 2'(drain_done_i) - 2'(pass_done_o);
      ofmaps_q <= ofmaps_q + 2'(ofmap_done_i) - 2'(pass_done_o);
    end
  end

  logic unused_signals;  // semaphores of the streams
  assign unused_signals = ^{control_i.passes_done, control_i.chunks_loaded};

  `EYRIE_ASSERT_WHEN(RulesSettled, state_q == StRequest, illegal_q == illegal,
      "a pass is requested before the rules are checked")
  `EYRIE_ASSERT(OneReads, !(scan_read && load_read), "IDs and streams are read in one cycle")
  `EYRIE_ASSERT_WHEN(RequestsAccepted, state_q == StRequest, all_accepted,
      "a pass is requested before the last one is accepted")
  `EYRIE_ASSERT(NoDoneOverflow,
      !(drains_q == 2'd3 && drain_done_i) && !(ofmaps_q == 2'd3 && ofmap_done_i),
      "more passes done than requested")

endmodule
