// SPDX-License-Identifier: Apache-2.0
// DRAM for simulation: an AXI4 slave (INCR bursts, beats of BUS_WORDS 64-bit words) with a memory that the testbench
// shares (dram.cpp, dram.py).
//
// Several bursts can be in flight. A read accepted in cycle t returns its first beat in cycle t + latency_i at the
// earliest; bursts follow back to back, in order. The response of a write follows latency_i cycles after its last
// beat. Each direction moves at most beats_i beats in cycles_i cycles (beats_i 0: one per cycle). Each handshake
// stalls with a probability of stall_i / 256, from the seed of the simulator. The memory has bytes_i bytes, at most 4
// GiB. An access beyond returns outside_i (2'b11 DECERR or 2'b10 SLVERR) and has no effect. dead_i: these channels
// stop; they continue when it falls.
module axi_dram
  import bus_pkg::*;
#(
  parameter int unsigned BUS_WORDS = 1,
  parameter int unsigned BURSTS = 64
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [15:0] latency_i,
  input  logic [7:0]  beats_i,
  input  logic [7:0]  cycles_i,
  input  logic [7:0]  stall_i,
  input  logic [32:0] bytes_i,
  input  logic [1:0]  outside_i,
  input  logic [4:0]  dead_i,    // AR, R, AW, W, B from bit 0
  output logic [63:0] pointer_o, // address of the memory in the simulation process

  input  axi_request_t  axi_i,
  output axi_response_t axi_o
);

  import "DPI-C" function longint dram_new(input longint bytes);
  import "DPI-C" function longint dram_read(input longint base, input int word);
  import "DPI-C" function void dram_write(input longint base, input int word, input longint data,
                                          input int strobe);

  typedef struct {
    logic [31:0] address; // address of the next beat
    int          left;    // beats left
    longint      due;     // cycle after which the burst may continue
    logic        failed;
  } burst_t;

  longint memory;
  initial memory = dram_new(longint'(1) << 32);
  assign pointer_o = memory;

  longint now;
  int     read_credit, write_credit;
  burst_t reads [$], writes [$], responses [$];

  typedef enum int {Ar, R, Aw, W, B} channel_e;

  function automatic logic held(channel_e channel);
    return dead_i[channel] || 8'($urandom) < stall_i;
  endfunction

  function automatic int earned(int credit);
    if (beats_i == 0) return int'(cycles_i);
    return (credit < int'(cycles_i)) ? credit + int'(beats_i) : credit;
  endfunction

  // Blocking assignments order the steps within a cycle; ports use nonblocking assignments.
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now = 0;
      read_credit = 0;
      write_credit = 0;
      reads.delete();
      writes.delete();
      responses.delete();
      axi_o     <= '0;
    end else begin
      now = now + 1;
      read_credit  = earned(read_credit);
      write_credit = earned(write_credit);

      // Reads
      if (axi_i.ar.valid && axi_o.ar_ready) begin
        reads.push_back('{axi_i.ar.address, int'(axi_i.ar.length) + 1,
                          now + longint'(latency_i) - 1, 1'b0});
      end
      axi_o.ar_ready <= reads.size() < BURSTS && !held(Ar);
      if (!axi_o.r_valid || axi_i.r_ready) begin
        axi_o.r_valid <= 1'b0;
        if (reads.size() != 0 && reads[0].due <= now && !held(R)
            && (beats_i == 0 || read_credit >= int'(cycles_i))) begin
          logic outside;
          outside = {1'b0, reads[0].address} >= bytes_i;
          axi_o.r_valid <= 1'b1;
          for (int w = 0; w < BUS_WORDS; w++) begin
            axi_o.r_data[w] <= outside ? '0 : dram_read(memory, 32'(reads[0].address >> 3) + w);
          end
          axi_o.r_response  <= outside ? outside_i : 2'b00;
          axi_o.r_last  <= reads[0].left == 1;
          read_credit = read_credit - int'(cycles_i);
          reads[0].address = reads[0].address + 8 * BUS_WORDS;
          reads[0].left = reads[0].left - 1;
          if (reads[0].left == 0) void'(reads.pop_front());
        end
      end

      // Writes
      if (axi_i.aw.valid && axi_o.aw_ready) begin
        writes.push_back('{axi_i.aw.address, int'(axi_i.aw.length) + 1, 0, 1'b0});
      end
      if (axi_i.w_valid && axi_o.w_ready) begin
        if ({1'b0, writes[0].address} >= bytes_i) writes[0].failed = 1'b1;
        else begin
          for (int w = 0; w < BUS_WORDS; w++) begin
            dram_write(memory, 32'(writes[0].address >> 3) + w, axi_i.w_data[w], 32'(axi_i.w_strobe[w]));
          end
        end
        write_credit = write_credit - int'(cycles_i);
        writes[0].address = writes[0].address + 8 * BUS_WORDS;
        writes[0].left = writes[0].left - 1;
        assert (axi_i.w_last == (writes[0].left == 0)) else $error("axi_dram: WLAST is wrong");
        if (writes[0].left == 0) begin
          writes[0].due = now + longint'(latency_i) - 1;
          responses.push_back(writes.pop_front());
        end
      end
      axi_o.aw_ready <= writes.size() < BURSTS && !held(Aw);
      axi_o.w_ready  <= writes.size() != 0 && !held(W)
                       && (beats_i == 0 || earned(write_credit) >= int'(cycles_i)); // in the next cycle
      if (!axi_o.b_valid || axi_i.b_ready) begin
        axi_o.b_valid <= 1'b0;
        if (responses.size() != 0 && responses[0].due <= now && !held(B)) begin
          axi_o.b_valid <= 1'b1;
          axi_o.b_response  <= responses[0].failed ? outside_i : 2'b00;
          void'(responses.pop_front());
        end
      end
    end
  end

  WholeBurst: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_i.ar.valid |-> 32'(axi_i.ar.address[11:3]) + BUS_WORDS * 32'(axi_i.ar.length) < 512)
    else $error("axi_dram: a read burst crosses 4 KiB");
  WholeWriteBurst: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_i.aw.valid |-> 32'(axi_i.aw.address[11:3]) + BUS_WORDS * 32'(axi_i.aw.length) < 512)
    else $error("axi_dram: a write burst crosses 4 KiB");
  ReadStable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_i.ar.valid && !axi_o.ar_ready |=> axi_i.ar.valid && $stable(axi_i.ar))
    else $error("axi_dram: AR changed while it waited");
  WriteStable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_i.aw.valid && !axi_o.aw_ready |=> axi_i.aw.valid && $stable(axi_i.aw))
    else $error("axi_dram: AW changed while it waited");
  DataStable: assert property (@(posedge clk_i) disable iff (!rst_ni)
      axi_i.w_valid && !axi_o.w_ready
      |=> axi_i.w_valid && $stable({axi_i.w_data, axi_i.w_strobe, axi_i.w_last}))
    else $error("axi_dram: W changed while it waited");

endmodule
