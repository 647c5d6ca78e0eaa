// SPDX-License-Identifier: Apache-2.0
// Records the first run of the accelerator after each reset in a file, if the simulation has the argument
// +events=FILE.
//
// A record is three 32-bit words: cycle, source, value. The first cycle that counts is cycle 0. A source is a state or
// an event. A state is recorded when it changes; it is 0 before and after the run. An event is recorded in its cycle.
// If the simulation ends during a run, the last record ends the state SourceRun.
// The increments of the performance counters are states, and a counter's number is its source. The other sources
// follow (source_e). The low three bits of a DRAM address are 0: they hold the other part of a value.
// runtime/trace/events.py reads the file.
module event_recorder
  import encoding_pkg::*;
  import eyrie_pkg::*;
#(
  parameter int unsigned ROWS,  // rows of PEs
  parameter int unsigned COLS   // columns of PEs
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      counting_i,
  input  logic [Counters-1:0][15:0] increment_i,
  input  logic [Counters-1:0]       late_i,           // counters whose increments are ActivityDelay cycles late
  input  pe_activity_t [ROWS-1:0][COLS-1:0] pe_activity_i,  // a cycle late
  input  logic [Streams-1:0]        stream_busy_i,    // streams with words of a pass left to move
  input  logic                      command_valid_i,  // the decoder has a command,
  input  logic                      command_first_i,  // its first word,
  input  logic [31:0]               command_i,        // its address,
  input  opcode_e                   opcode_i,         // and, with the first word, its opcode
  input  logic                      pass_begins_i,
  input  logic                      pass_ends_i,
  input  logic                      transfer_begins_i,
  input  logic [31:0]               transfer_i,       // address of its command
  input  logic                      is_store_i,
  input  logic                      transfer_ends_i,
  input  logic                      read_issue_i,     // a read burst
  input  logic                      read_load_i,      // of a LOAD instead of commands
  input  logic [31:0]               read_address_i,
  input  logic                      read_beat_i,
  input  logic                      read_last_i,      // the last beat of a burst
  input  logic                      write_issue_i,    // a write burst
  input  logic [31:0]               write_address_i,
  input  logic                      write_beat_i,
  input  logic                      write_last_i
);

  localparam int unsigned Sets = ROWS / SetRows;
  localparam int unsigned WaitWidth = 4;  // of a number of PEs in the state of a column

  // In the order of Source in runtime/trace/events.py
  typedef enum int unsigned {
    SourceRun = Counters,  // state: 1 during the run
    SourceCommand,         // state: address and opcode of the command in the decoder
    SourceStreams,         // state: busy streams, a bit each
    SourcePassBegins,      // event: a pass is requested
    SourcePassEnds,
    SourceTransferBegins,  // event: address of the command, and 1 for a STORE
    SourceTransferEnds,
    SourceReadIssue,       // event: address of a burst, and 1 for a LOAD, 0 for commands
    SourceReadBegins,      // event: first beat of a burst
    SourceReadEnds,        // event: last beat
    SourceWriteIssue,      // event: address of a burst
    SourceWriteBegins,
    SourceWriteEnds,
    SourceColumns          // state: of a set's column, the number of PEs by pe_wait_e. The other columns follow, by set
  } source_e;

  int    file;
  string name;
  initial begin
    file = 0;
    if ($value$plusargs("events=%s", name) != 0) file = $fopen(name, "wb");
  end

  logic [31:0]              now_q;       // cycles since the run began
  logic                     ended_q;
  logic [ActivityDelay-1:0] counting_q;  // counting_i of the cycles before
  logic                     in_read_q, in_write_q;  // in a burst
  opcode_e                  opcode_q;
  logic [SourceColumns + Sets*COLS - 1:0][31:0] state_q;

  function automatic logic [31:0] command_state();
    if (!command_valid_i) return '0;
    return command_i | 32'(command_first_i ? opcode_i : opcode_q);
  endfunction

  function automatic logic [31:0] column_state(int unsigned set, int unsigned col);
    column_state = '0;
    for (int unsigned row = SetRows * set; row < SetRows * (set + 1); row++) begin
      column_state += 32'd1 << (WaitWidth * 32'(pe_activity_i[row][col].waits));
    end
  endfunction

  task automatic write_state(int unsigned source, int unsigned delay, logic [31:0] value);
    if (value != state_q[source]) $fwrite(file, "%u%u%u", now_q - delay, source, value);
    state_q[source] <= value;
  endtask

  task automatic write_event(logic valid, source_e source, logic [31:0] value);
    if (valid) $fwrite(file, "%u%u%u", now_q, source, value);
  endtask

  task automatic write_states();
    for (int unsigned c = 0; c < Counters; c++) begin
      if (late_i[c]) write_state(c, ActivityDelay, counting_q[ActivityDelay-1] ? 32'(increment_i[c]) : '0);
      else           write_state(c, 0, counting_i ? 32'(increment_i[c]) : '0);
    end
    write_state(SourceRun, 0, 32'(counting_i));
    write_state(SourceCommand, 0, counting_i ? command_state() : '0);
    write_state(SourceStreams, 0, counting_i ? 32'(stream_busy_i) : '0);
    for (int unsigned set = 0; set < Sets; set++) begin
      for (int unsigned col = 0; col < COLS; col++) begin
        write_state(SourceColumns + COLS * set + col, 1, counting_q[0] ? column_state(set, col) : '0);
      end
    end
  endtask

  task automatic write_events();
    write_event(pass_begins_i, SourcePassBegins, '0);
    write_event(pass_ends_i, SourcePassEnds, '0);
    write_event(transfer_begins_i, SourceTransferBegins, transfer_i | 32'(is_store_i));
    write_event(transfer_ends_i, SourceTransferEnds, '0);
    write_event(read_issue_i, SourceReadIssue, read_address_i | 32'(read_load_i));
    write_event(read_beat_i && !in_read_q, SourceReadBegins, '0);
    write_event(read_beat_i && read_last_i, SourceReadEnds, '0);
    write_event(write_issue_i, SourceWriteIssue, write_address_i);
    write_event(write_beat_i && !in_write_q, SourceWriteBegins, '0);
    write_event(write_beat_i && write_last_i, SourceWriteEnds, '0);
  endtask

  always_ff @(posedge clk_i) begin : record
    if (!rst_ni) begin
      now_q      <= '0;
      ended_q    <= 1'b0;
      counting_q <= '0;
      in_read_q  <= 1'b0;
      in_write_q <= 1'b0;
      state_q    <= '0;
    end else if (file != 0 && !ended_q) begin
      write_states();
      if (counting_i) write_events();
      if (counting_i || now_q != '0) now_q <= now_q + 32'd1;
      counting_q <= ActivityDelay'({counting_q, counting_i});
      if (command_first_i) opcode_q <= opcode_i;
      if (read_beat_i) in_read_q <= !read_last_i;
      if (write_beat_i) in_write_q <= !write_last_i;
      if (now_q != '0 && !counting_i && counting_q == '0) begin
        ended_q <= 1'b1;
        $fflush(file);
      end
    end
  end

  final begin
    if (file != 0) begin
      if (state_q[SourceRun] != '0) $fwrite(file, "%u%u%u", now_q, SourceRun, 32'd0);
      $fclose(file);
    end
  end

endmodule
