// SPDX-License-Identifier: Apache-2.0
// AXI4 read master for several requesters. A lower requester number has priority, burst by burst.
//
// A requester requests runs of consecutive words (burst_splitter checks the window and the legality
// and splits at 4 KiB) and receives them in order. All bursts have one ID, so that data returns in
// the order of the bursts. data_valid_o selects the requester of data_o. A requester should only
// request words that it can accept, since it otherwise stalls the port for all.
//
// At most BURSTS bursts are in flight. Requester 0 has few urgent requests and may always start a
// burst. The other requesters leave URGENT_BURSTS bursts to it and start none while more than BEATS
// beats are outstanding. This keeps the port busy up to a latency of about BEATS cycles and bounds
// the wait of requester 0. Read data is not buffered: a requester accepts each word when it
// arrives, or stalls the port. r_ready_o depends on registers only if data_ready_i does.
//
// data_error_o: RRESP of this word is not OKAY. halt_i: no burst is issued and arriving data is
// discarded; idle_o is high once all data has arrived. beat_o: a beat of this requester arrived,
// discarded or not.
`include "assertions.svh"

module axi_reader
  import bus_pkg::*;
#(
  parameter int unsigned BUS_WORDS = 1,     // 64-bit words per beat: 1 or 2
  parameter int unsigned REQUESTERS = 2,    // number of requesters
  parameter int unsigned BURSTS = 32,       // bursts in flight
  parameter int unsigned URGENT_BURSTS = 4, // bursts reserved for requester 0
  parameter int unsigned BEATS = 256,       // outstanding beats that stop the other requesters
  parameter int unsigned MAX_BEATS = 64     // beats per burst
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        halt_i,
  output logic                        idle_o,
  input  logic [31:0]                 window_base_i,
  input  logic [31:0]                 window_limit_i,

  input  logic [REQUESTERS-1:0]       request_valid_i,
  output logic [REQUESTERS-1:0]       request_ready_o,
  output logic [REQUESTERS-1:0]       request_legal_o,
  input  logic [REQUESTERS-1:0][31:0] request_address_i,
  input  logic [REQUESTERS-1:0][15:0] request_words_i,

  output logic [REQUESTERS-1:0]       data_valid_o,
  input  logic [REQUESTERS-1:0]       data_ready_i,
  output logic [BUS_WORDS-1:0][63:0]  data_o,
  output logic                        data_error_o,
  output logic [REQUESTERS-1:0]       beat_o,

  output axi_address_t                ar_o,
  output logic                        r_ready_o,
  input  axi_response_t               axi_i
);

  localparam int unsigned BeatsWidth = $clog2(BEATS + (URGENT_BURSTS + 1) * MAX_BEATS + 1);
  localparam int unsigned FlightWidth = $clog2(BURSTS + 1);
  localparam int unsigned OwnerWidth = REQUESTERS > 1 ? $clog2(REQUESTERS) : 1;
  typedef logic [OwnerWidth-1:0] owner_t;

  logic [REQUESTERS-1:0]       burst_valid, burst_ready;
  logic [REQUESTERS-1:0][31:0] burst_address;
  logic [REQUESTERS-1:0][8:0]  burst_beats;

  for (genvar r = 0; r < REQUESTERS; r++) begin : gen_splitter
    logic unused_burst_last; // the requesters count their words
    burst_splitter #(.MAX_BEATS(MAX_BEATS), .BEAT_WORDS(BUS_WORDS)) u_splitter (
      .clk_i,
      .rst_ni,
      .halt_i,
      .window_base_i,
      .window_limit_i,
      .request_valid_i(request_valid_i[r]),
      .request_ready_o(request_ready_o[r]),
      .request_legal_o(request_legal_o[r]),
      .request_address_i(request_address_i[r]),
      .request_words_i(request_words_i[r]),
      .burst_valid_o(burst_valid[r]),
      .burst_ready_i(burst_ready[r]),
      .burst_address_o(burst_address[r]),
      .burst_beats_o(burst_beats[r]),
      .burst_last_o(unused_burst_last)
    );
  end

  // Issue a burst of the first requester that has one, if the address register and the queue have
  // space.
  owner_t                issuer;
  logic                  issue, flight_ready, flight_valid;
  owner_t                owner;
  logic                  beat;
  logic [BeatsWidth-1:0] beats_d, beats_q;     // outstanding beats
  axi_address_t          ar_d, ar_q;

  logic                   room, wanted;        // room: for requesters 1 and up
  logic [FlightWidth-1:0] flights;
  assign room = beats_q <= BeatsWidth'(BEATS) && flights < FlightWidth'(BURSTS - URGENT_BURSTS);

  always_comb begin : choose
    issuer = '0;
    wanted = 1'b0;
    for (int unsigned r = REQUESTERS; r > 0; r--) begin
      if (burst_valid[r-1] && (r == 1 || room)) begin
        issuer = owner_t'(r - 1);
        wanted = 1'b1;
      end
    end
  end

  assign issue = wanted && flight_ready && (!ar_q.valid || axi_i.ar_ready);

  always_comb begin : issue_burst
    burst_ready = '0;
    ar_d        = ar_q;
    ar_d.valid  = ar_q.valid && !axi_i.ar_ready;
    beats_d     = beats_q - BeatsWidth'(beat);
    if (issue) begin
      burst_ready[issuer] = 1'b1;
      ar_d                = '{address: burst_address[issuer],
                              length:  8'(burst_beats[issuer] - 9'd1),
                              valid:   1'b1};
      beats_d             = beats_d + BeatsWidth'(burst_beats[issuer]);
    end
  end

  // Requesters of the bursts in flight
  fifo #(.WIDTH(OwnerWidth), .DEPTH(BURSTS)) u_flight (
    .clk_i,
    .rst_ni,
    .in_valid_i(issue),
    .in_ready_o(flight_ready),
    .in_data_i(issuer),
    .out_valid_o(flight_valid),
    .out_ready_i(beat && axi_i.r_last),
    .out_data_o(owner),
    .count_o(flights)
  );

  assign beat         = axi_i.r_valid && r_ready_o;
  assign r_ready_o    = flight_valid && (halt_i || data_ready_i[owner]);
  assign data_o       = axi_i.r_data[BUS_WORDS-1:0];
  assign data_error_o = axi_i.r_response != RespOkay;

  always_comb begin : route
    data_valid_o        = '0;
    data_valid_o[owner] = axi_i.r_valid && flight_valid && !halt_i;
    beat_o              = '0;
    beat_o[owner]       = beat;
  end

  assign idle_o = !flight_valid && !ar_q.valid;
  assign ar_o   = ar_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_q    <= '0;
      beats_q <= '0;
    end else begin
      ar_q    <= ar_d;
      beats_q <= beats_d;
    end
  end

  logic unused_axi; // signals of the writer
  assign unused_axi = ^axi_i;

  `EYRIE_STATIC(BurstsForAll, URGENT_BURSTS < BURSTS, "no bursts for requesters 1 and up")
  `EYRIE_STABLE(Address, ar_o.valid, axi_i.ar_ready, {ar_o.address, ar_o.length})
  `EYRIE_ASSERT_WHEN(DataExpected, axi_i.r_valid, flight_valid, "unexpected data")
  `EYRIE_ASSERT_WHEN(BeatsCounted, beat, beats_q != '0, "more beats than requested")
  `EYRIE_ASSERT_NEXT(Halted, halt_i, !$rose(ar_o.valid), "a burst is issued after halt")

endmodule
