// SPDX-License-Identifier: Apache-2.0
// Core and GLB around one pass at a time. start_i begins a pass with the GLB words of image.hex (the first
// words_i of the GLB) and the descriptor of config.hex; when done_o rises, sums.hex holds the sums that left
// the array (a line per beat, column 0 first) and dump.hex these words of the GLB. Files lie in the
// simulation's folder.
//
// The streams' GLB clients are held back by other traffic: in stall_i of 256 cycles each side of the DMA, which
// comes before them, accesses a pair of words at a random address: one reads, the other writes behind the image, as
// the last of a transfer or not.
//
// stopped_o: done_o, or the pass does not end: overrun_o, or nothing has moved for HangCycles.
//
// activity_o, waits_o: cycles of ifmap stall, filter stall, drain busy, drain stall (from bit 0 on, 32
// bits each), as the core reports them and as its channels show them.
module pass_tb
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,
  parameter int unsigned COLS = 8,
  parameter int unsigned MULTIPLIERS = 4,
  parameter int unsigned GLB_BANKS = 8,
  parameter int unsigned GLB_BANK_WORDS = 1024,
  parameter int unsigned IFMAP_WORDS = 16,
  parameter int unsigned FILTER_WORDS = 24,
  parameter int unsigned PIXEL_WORDS = 14,
  parameter int unsigned PSUM_WORDS = 128,
  parameter int unsigned WORD_BUFFER_WORDS = 256,
  parameter int unsigned FILTER_LANES = 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [16:0] words_i,
  input  logic [7:0]  stall_i,
  output logic        done_o,
  output logic        overrun_o,  // has come
  output logic        stopped_o,
  output logic [31:0] cycles_o,
  output logic [127:0] activity_o,
  output logic [127:0] waits_o
);

  localparam int unsigned GlbWords = GLB_BANKS * GLB_BANK_WORDS;
  localparam int unsigned HangCycles = 2000;

  logic            load_valid, load_ready, store_valid, store_ready, read_valid;
  glb_request_t    load, store;
  glb_word_t [1:0] read_data;
  pass_control_t   control;
  pass_status_t    status;
  activity_t       activity;

  typedef enum logic [2:0] {StIdle, StLoad, StConfig, StPass, StRun, StSettle, StDump, StDone} state_e;
  state_e      state_q;
  logic [16:0] index_q, returned_q;
  logic [63:0] image [GlbWords];
  logic [63:0] descriptor [ConfigWords];
  int          sums_file, dump_file;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      index_q    <= '0;
      returned_q <= '0;
      cycles_o   <= '0;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) begin
          $readmemh("image.hex", image);
          $readmemh("config.hex", descriptor);
          sums_file  = $fopen("sums.hex", "w");
          dump_file  = $fopen("dump.hex", "w");
          state_q    <= StLoad;
          index_q    <= '0;
          returned_q <= '0;
          cycles_o   <= '0;
        end
        StLoad: if (load_ready) begin
          index_q <= index_q + 17'd1;
          if (index_q == words_i - 17'd1) begin
            state_q <= StConfig;
            index_q <= '0;
          end
        end
        StConfig: if (status.config_ready) begin
          index_q <= index_q + 17'd1;
          if (index_q == 17'(ConfigWords - 1)) begin
            state_q <= StPass;
            index_q <= '0;
          end
        end
        StPass: if (status.pass_ready) state_q <= StRun;
        StRun: begin
          cycles_o <= cycles_o + 32'd1;
          if (status.pass_done) state_q <= StSettle;
        end
        StSettle: if (busy_q == '0 && !status.reading) state_q <= StDump;
        StDump: begin
          if (store_valid && store_ready) index_q <= index_q + 17'd1;
          if (read_valid) begin
            $fwrite(dump_file, "%h\n", read_data[0]);
            returned_q <= returned_q + 17'd1;
            if (returned_q == words_i - 17'd1) begin
              state_q <= StDone;
              $fclose(dump_file);
              $fclose(sums_file);
            end
          end
        end
        default: if (!start_i) state_q <= StIdle;
      endcase
      if (u_core.sums_valid && u_core.sums_ready) begin
        for (int pixel = 0; pixel < (u_core.sums_flags.two_pixels ? 2 : 1); pixel++) begin
          for (int col = 0; col < COLS; col++) $fwrite(sums_file, "%h ", u_core.sums[pixel][col]);
          $fwrite(sums_file, "\n");
        end
      end
    end
  end

  assign done_o = state_q == StDone;

  logic [$clog2(HangCycles+1)-1:0] still_q;  // cycles in which nothing moved

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) still_q <= '0;
    else if (status.progress || !(state_q inside {StRun, StSettle})) still_q <= '0;
    else if (still_q != '1) still_q <= still_q + 1'b1;
  end

  assign stopped_o = done_o || overrun_o || 32'(still_q) >= HangCycles;

  // Traffic: a request stays until it is granted.
  logic         [1:0] busy_q;
  glb_request_t [1:0] traffic_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
    end else begin
      for (int side = 0; side < 2; side++) begin
        if (!busy_q[side] || (side == 0 ? load_ready : store_ready)) begin
          busy_q[side] <= state_q == StRun && 8'($urandom_range(255)) < stall_i &&
                          (side == 1 || 32'(words_i) < GlbWords - 1);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int side = 0; side < 2; side++) begin
      if (!busy_q[side] || (side == 0 ? load_ready : store_ready)) begin
        traffic_q[side]         <= '0;
        traffic_q[side].last    <= $urandom_range(7) == 0;
        traffic_q[side].address <= 16'($urandom_range(GlbWords / 2 - 1, side == 0 ? (32'(words_i) + 1) / 2 : 0) * 2);
        traffic_q[side].strobe  <= '1;
      end
    end
  end

  always_comb begin
    load_valid = busy_q[0];
    load       = traffic_q[0];
    if (state_q == StLoad) begin
      load_valid     = 1'b1;
      load           = '0;
      load.last      = index_q == words_i - 17'd1;
      load.address   = index_q[15:0];
      load.strobe[0] = '1;
      load.data[0]   = image[index_q[$clog2(GlbWords)-1:0]];
    end
    store_valid = busy_q[1];
    store       = traffic_q[1];
    if (state_q == StDump) begin
      store_valid     = index_q < words_i;
      store           = '0;
      store.address   = index_q[15:0];
      store.strobe[0] = '1;
    end
  end

  assign control = '{
    config_valid:  state_q == StConfig,
    config_index:  index_q[$bits(config_index_t)-1:0],
    config_data:   descriptor[index_q[$bits(config_index_t)-1:0]],
    pass_valid:    state_q == StPass,
    wait_passes:   '0,
    passes_done:   '0,
    chunks_loaded: '0
  };

  configuration_check #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .PSUM_WORDS(PSUM_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .IFMAP_WORDS(IFMAP_WORDS), .PIXEL_WORDS(PIXEL_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .FILTER_LANES(FILTER_LANES)
  ) u_configuration_check ();

  eyrie_core #(
    .ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS), .GLB_BANKS(GLB_BANKS),
    .GLB_BANK_WORDS(GLB_BANK_WORDS), .IFMAP_WORDS(IFMAP_WORDS), .FILTER_WORDS(FILTER_WORDS),
    .PIXEL_WORDS(PIXEL_WORDS), .PSUM_WORDS(PSUM_WORDS), .WORD_BUFFER_WORDS(WORD_BUFFER_WORDS),
    .FILTER_LANES(FILTER_LANES)
  ) u_core (
    .clk_i, .rst_ni,
    .control_i         (control),
    .status_o          (status),
    .activity_o        (activity),
    .load_valid_i      (load_valid),
    .load_ready_o      (load_ready),
    .load_request_i    (load),
    .store_valid_i     (store_valid),
    .store_ready_o     (store_ready),
    .store_request_i   (store),
    .store_read_valid_o(read_valid),
    .store_read_data_o (read_data)
  );

  logic [3:0] reported, waits;

  assign reported =
      {activity.drain_stall, activity.drain_busy, activity.filter_stall, activity.ifmap_stall};
  assign waits = {
    (u_core.sums_valid && !u_core.sums_ready) ||
        (u_core.words.valid && !u_core.words_ready && activity.elementwise),
    (u_core.sums_valid && u_core.sums_ready && u_core.sums_flags.to_ppu) ||
        (u_core.words.valid && u_core.words_ready),
    u_core.filter.valid && !u_core.filter_ready,
    (u_core.ifmap.valid && !u_core.ifmap_ready) || (u_core.words.valid && !u_core.words_ready)
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      activity_o <= '0;
      waits_o    <= '0;
      overrun_o  <= 1'b0;
    end else begin
      overrun_o  <= overrun_o || status.overrun;
      for (int n = 0; n < 4; n++) begin
        activity_o[32*n +: 32] <= activity_o[32*n +: 32] + 32'(reported[n]);
        waits_o[32*n +: 32]    <= waits_o[32*n +: 32] + 32'(waits[n]);
      end
    end
  end

endmodule
