// SPDX-License-Identifier: Apache-2.0
// Core and GLB around one pass at a time. start_i begins a pass with the GLB words of image.hex and the
// descriptor of config.hex; when done_o rises, sums.hex holds the sums that left the array (a line per
// beat, column 0 first) and dump.hex the GLB. Files lie in the simulation's folder.
//
// Every GLB client is held back at random, in stall_i of 256 cycles.
//
// activity_o, waits_o: cycles of ifmap stall, filter stall, drain busy, drain stall (from bit 0 on, 32
// bits each), as the core reports them and as its channels show them.
module pass_tb
  import eyrie_pkg::*;
  import encoding_pkg::*;
#(
  parameter int unsigned ROWS = 6,
  parameter int unsigned COLS = 8,
  parameter int unsigned MULTIPLIERS = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [7:0]  stall_i,
  output logic        done_o,
  output logic        error_o,
  output logic [31:0] cycles_o,
  output logic [127:0] activity_o,
  output logic [127:0] waits_o
);

  localparam int unsigned GlbWords = 8192;
  localparam int unsigned CountWidth = $clog2(ROWS * COLS * WordChannels + 1);

  logic         [Clients-1:0]    request_valid, request_ready, read_valid;
  glb_request_t [Clients-1:0]    request;
  glb_word_t [Clients-1:0][1:0]  read_data;

  typedef enum logic [2:0] {StIdle, StLoad, StConfig, StPass, StRun, StDump, StDone} state_e;
  state_e      state_q;
  logic [15:0] index_q, returned_q;
  logic [63:0] image [GlbWords];
  logic [63:0] descriptor [ConfigWords];
  logic        config_ready, pass_ready, pass_done;
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
        StLoad: if (request_ready[ClientLoad]) begin
          index_q <= index_q + 16'd1;
          if (index_q == 16'(GlbWords - 1)) begin
            state_q <= StConfig;
            index_q <= '0;
          end
        end
        StConfig: if (config_ready) begin
          index_q <= index_q + 16'd1;
          if (index_q == 16'(ConfigWords - 1)) begin
            state_q <= StPass;
            index_q <= '0;
          end
        end
        StPass: if (pass_ready) state_q <= StRun;
        StRun: begin
          cycles_o <= cycles_o + 32'd1;
          if (pass_done) state_q <= StDump;
        end
        StDump: begin
          if (request_valid[ClientStore] && request_ready[ClientStore]) index_q <= index_q + 16'd1;
          if (read_valid[ClientStore]) begin
            $fwrite(dump_file, "%h\n", read_data[ClientStore][0]);
            returned_q <= returned_q + 16'd1;
            if (returned_q == 16'(GlbWords - 1)) begin
              state_q <= StDone;
              $fclose(dump_file);
              $fclose(sums_file);
            end
          end
        end
        default: if (!start_i) state_q <= StIdle;
      endcase
      if (u_core.sums_valid && u_core.sums_ready) begin
        for (int col = 0; col < COLS; col++) $fwrite(sums_file, "%h ", u_core.sums[col]);
        $fwrite(sums_file, "\n");
      end
    end
  end

  assign done_o = state_q == StDone;

  always_comb begin
    request_valid[ClientLoad]      = state_q == StLoad;
    request[ClientLoad]            = '0;
    request[ClientLoad].write      = 1'b1;
    request[ClientLoad].address    = index_q;
    request[ClientLoad].strobe[0]  = '1;
    request[ClientLoad].data[0]    = image[index_q[12:0]];
    request_valid[ClientStore]     = state_q == StDump && index_q < 16'(GlbWords);
    request[ClientStore]           = '0;
    request[ClientStore].address   = index_q;
    request[ClientStore].strobe[0] = '1;
  end

  logic [CountWidth-1:0] macs, gated;
  logic [3:0]            activity, waits;

  eyrie_core #(.ROWS(ROWS), .COLS(COLS), .MULTIPLIERS(MULTIPLIERS)) u_core (
    .clk_i, .rst_ni,
    .config_valid_i    (state_q == StConfig),
    .config_ready_o    (config_ready),
    .config_index_i    (index_q[6:0]),
    .config_data_i     (descriptor[index_q[6:0]]),
    .pass_valid_i      (state_q == StPass),
    .pass_ready_o      (pass_ready),
    .pass_wait_passes_i('0),
    .passes_done_i     ('0),
    .chunks_loaded_i   ('0),
    .pass_done_o       (pass_done),
    .chunk_freed_o     (),
    .request_valid_o   (request_valid[Streams-1:0]),
    .request_ready_i   (request_ready[Streams-1:0]),
    .request_o         (request[Streams-1:0]),
    .read_valid_i      (read_valid[Streams-1:0]),
    .read_data_i       (read_data[Streams-1:0]),
    .macs_o            (macs),
    .gated_o           (gated),
    .waits_o           (),
    .behind_o          (),
    .ifmap_waits_o     (),
    .filter_waits_o    (),
    .ifmap_stall_o     (activity[0]),
    .filter_stall_o    (activity[1]),
    .drain_busy_o      (activity[2]),
    .drain_stall_o     (activity[3])
  );

  assign waits = {
    u_core.sums_valid && !u_core.sums_ready,
    u_core.sums_valid && u_core.sums_ready && u_core.sums_beat.to_ppu,
    u_core.filter_valid && !u_core.filter_ready,
    u_core.ifmap_valid && !u_core.ifmap_ready
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      activity_o <= '0;
      waits_o    <= '0;
    end else begin
      for (int n = 0; n < 4; n++) begin
        activity_o[32*n +: 32] <= activity_o[32*n +: 32] + 32'(activity[n]);
        waits_o[32*n +: 32]    <= waits_o[32*n +: 32] + 32'(waits[n]);
      end
    end
  end

  // A client that is held back in this cycle is not seen by the GLB; one that was seen stays.
  logic [Clients-1:0] held, glb_valid, glb_ready;

  always_ff @(posedge clk_i) begin
    for (int c = 0; c < Clients; c++) begin
      held[c] <= !(glb_valid[c] && !glb_ready[c]) && 8'($urandom_range(255)) < stall_i;
    end
  end
  assign glb_valid     = request_valid & ~held;
  assign request_ready = glb_ready & ~held;

  glb u_glb (
    .clk_i, .rst_ni,
    .request_valid_i(glb_valid),
    .request_ready_o(glb_ready),
    .request_i      (request),
    .read_valid_o   (read_valid),
    .read_data_o    (read_data),
    .error_o,
    .bytes_o        (),
    .conflicts_o    ()
  );

endmodule
