// SPDX-License-Identifier: Apache-2.0
// The global buffer (GLB): single-port banks with a fixed-priority arbiter.
//
// Consecutive words lie in consecutive banks, and each run of BANKS words is rotated against the
// run before: the bank is the sum of the three lowest digits of the address in base BANKS. Words at
// a distance of 1, BANKS or BANKS^2 therefore lie in different banks. Most feature maps have
// neighbours in a row, a column or a channel at these distances.
//
// A request (glb_request_t) accesses lane 0 at `address` and lane 1 at `address` + 1, each only if
// its strobe is not zero. `address` is even if lane 1 is used. The request is done in the cycle in
// which request_ready_o grants it, both lanes or none. The words of a read are at read_data_o with
// read_valid_o in the next cycle and must be accepted then. Lanes without an access read 0.
//
// LOAD and OFMAP write; all other clients read. A granted write waits in the queue of its bank
// until no client requests to read the bank, or until the queue is full (write_queue). A read after
// the cycle of a write with `last` finds all words of that cycle and before. Other reads can return
// older data. Writes to an address keep their order.
//
// A request beyond the last word is granted, reads 0, writes nothing and pulses error_o.
//
// error_o, bytes_o (bytes that the strobes of each client accessed) and conflicts_o (clients that
// waited) are registers: they report the previous cycle.
//
// Timing: requests should come from registers. A cycle decodes a request, compares it with those of
// the clients of higher priority, all at once, and routes it to its banks.
`include "assertions.svh"

module glb
  import eyrie_pkg::*;
#(
  parameter int unsigned BANKS = 8,          // number of banks
  parameter int unsigned BANK_WORDS = 1024,  // 64-bit words per bank
  parameter int unsigned QUEUE_WORDS = 4     // depth of the write queue of a bank
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  glb_request_t [Clients-1:0]   request_i,
  input  logic [Clients-1:0]           request_valid_i,
  output logic [Clients-1:0]           request_ready_o,
  output glb_word_t [Clients-1:0][1:0] read_data_o,
  output logic [Clients-1:0]           read_valid_o,

  output logic                         error_o,
  output logic [Clients-1:0][4:0]      bytes_o,
  output logic [3:0]                   conflicts_o
);

  localparam int unsigned BankWidth = $clog2(BANKS);
  localparam int unsigned RowWidth = $clog2(BANK_WORDS);
  localparam int unsigned Words = BANKS * BANK_WORDS;

  typedef logic [BankWidth-1:0] bank_t;

  // A word in a write queue
  typedef struct packed {
    logic [RowWidth-1:0] row;
    logic [7:0]          strobe;
    glb_word_t           data;
  } queued_t;

  bank_t [Clients-1:0][1:0]     bank;        // bank of each lane
  logic [Clients-1:0][1:0]      access;      // lanes with a legal access
  logic [Clients-1:0]           outside, last;
  logic [Clients-1:0][BANKS-1:0] banks;      // banks that a client needs
  logic [Clients-1:0]           granted;

  function automatic bank_t bank_of(glb_address_t address);
    return bank_t'(address) + bank_t'(address >> BankWidth) + bank_t'(address >> 2 * BankWidth);
  endfunction

  // Decode the banks that each request needs
  always_comb begin : decode
    banks = '0;
    for (int unsigned c = 0; c < Clients; c++) begin
      last[c] = request_i[c].last;
      // Beyond the GLB, or a pair at an odd address
      outside[c] = request_i[c].strobe != '0 && (32'(request_i[c].address) >= Words ||
                   (request_i[c].strobe[1] != '0 && request_i[c].address[0]));
      for (int unsigned lane = 0; lane < 2; lane++) begin
        bank[c][lane]   = bank_of(request_i[c].address) + bank_t'(lane);
        access[c][lane] = (request_i[c].strobe[lane] != '0) && !outside[c];
        if (access[c][lane]) banks[c][bank[c][lane]] = 1'b1;
      end
    end
  end

  logic [BANKS-1:0] urgent, reads;
  logic             settle;

  glb_arbiter #(.BANKS(BANKS)) u_arbiter (
    .valid_i (request_valid_i),
    .banks_i (banks),
    .urgent_i(urgent),
    .grant_o (request_ready_o),
    .reads_o (reads)
  );

  assign granted = request_valid_i & request_ready_o;
  assign settle  = (granted & last & GlbWriters) != '0;

  // At most one lane of one client reads a bank and one writes into its queue, so the selections
  // are ORs of ANDs. Lane 1 is in the row of lane 0, since its address is odd.
  logic [BANKS-1:0]               bank_read, push, write;
  logic [BANKS-1:0][RowWidth-1:0] read_row;
  queued_t [BANKS-1:0]             pushed, written;
  glb_word_t [BANKS-1:0]          bank_read_data;

  always_comb begin : select
    bank_read = '0;
    read_row  = '0;
    push      = '0;
    pushed    = '0;
    for (int unsigned b = 0; b < BANKS; b++) begin
      for (int unsigned c = 0; c < Clients; c++) begin
        for (int unsigned lane = 0; lane < 2; lane++) begin
          if (granted[c] && access[c][lane] && bank[c][lane] == bank_t'(b)) begin
            if (GlbWriters[c]) begin
              push[b] = 1'b1;
              pushed[b].row    |= request_i[c].address[BankWidth +: RowWidth];
              pushed[b].strobe |= request_i[c].strobe[lane];
              pushed[b].data   |= request_i[c].data[lane];
            end else begin
              bank_read[b] = 1'b1;
              read_row[b]  |= request_i[c].address[BankWidth +: RowWidth];
            end
          end
        end
      end
    end
  end

  for (genvar b = 0; b < BANKS; b++) begin : gen_bank
    write_queue #(.WIDTH($bits(queued_t)), .DEPTH(QUEUE_WORDS)) u_queue (
      .clk_i, .rst_ni,
      .push_i     (push[b]),
      .word_i     (pushed[b]),
      .settle_i   (settle),
      .bank_free_i(!reads[b]),
      .urgent_o   (urgent[b]),
      .write_o    (write[b]),
      .word_o     (written[b])
    );

    ram_1rw #(.WORDS(BANK_WORDS), .WIDTH($bits(glb_word_t))) u_bank (
      .clk_i,
      .enable_i    (bank_read[b] || write[b]),
      .write_i     (write[b]),
      .address_i   (write[b] ? written[b].row : read_row[b]),
      .strobe_i    (written[b].strobe),
      .write_data_i(written[b].data),
      .read_data_o (bank_read_data[b])
    );
  end

  // Reads return one cycle later: store the bank of each client and lane
  logic [Clients-1:0]       read_valid_q;
  logic [Clients-1:0][1:0]  read_access_q;
  bank_t [Clients-1:0][1:0] read_bank_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_valid_q  <= '0;
      read_access_q <= '0;
      read_bank_q   <= '0;
    end else begin
      for (int unsigned c = 0; c < Clients; c++) begin
        read_valid_q[c]  <= granted[c] && !GlbWriters[c];
        read_access_q[c] <= access[c];
        read_bank_q[c]   <= bank[c];
      end
    end
  end

  assign read_valid_o = read_valid_q;

  always_comb begin : return_words
    for (int unsigned c = 0; c < Clients; c++) begin
      for (int unsigned lane = 0; lane < 2; lane++) begin
        read_data_o[c][lane] = read_access_q[c][lane] ? bank_read_data[read_bank_q[c][lane]] : '0;
      end
    end
  end

  logic [Clients-1:0][4:0] bytes;
  logic [3:0]              conflicts;

  always_comb begin : count
    conflicts = '0;
    for (int unsigned c = 0; c < Clients; c++) begin
      bytes[c]  = (granted[c] && !outside[c]) ? 5'($countones(request_i[c].strobe)) : '0;
      conflicts += 4'(request_valid_i[c] && !request_ready_o[c]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      error_o     <= 1'b0;
      bytes_o     <= '0;
      conflicts_o <= '0;
    end else begin
      error_o     <= |(granted & outside);
      bytes_o     <= bytes;
      conflicts_o <= conflicts;
    end
  end

  for (genvar c = 0; c < Clients; c++) begin : gen_check
    `EYRIE_STABLE(Request, request_valid_i[c], request_ready_o[c], request_i[c])
  end
  for (genvar b = 0; b < BANKS; b++) begin : gen_check_bank
    logic [Clients-1:0] readers, writers;
    for (genvar c = 0; c < Clients; c++) begin : gen_user
      assign readers[c] = granted[c] && banks[c][b] && !GlbWriters[c];
      assign writers[c] = granted[c] && banks[c][b] && GlbWriters[c];
    end
    `EYRIE_ASSERT(OneReader, $onehot0({readers, write[b]}), "a bank has two accesses")
    `EYRIE_ASSERT(OneWriter, $onehot0(writers), "a write queue has two writers")
  end
  `EYRIE_COVER(Conflict, conflicts_o > 4'd1)

endmodule
