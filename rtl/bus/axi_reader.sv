// SPDX-License-Identifier: Apache-2.0
// AXI4 read master with several requesters; lower numbers come first, burst by burst.
//
// Each requester asks for stretches of words (see burst_splitter: window, legality, 4 KiB) and gets
// them in order. All bursts have one ID, so data comes back in the order of the bursts;
// data_valid_o says whose word data_o is. A requester should ask only for what it can take: one
// that does not stops the port for all.
//
// In flight are at most BURSTS bursts, and no new one starts while more than BEATS beats are still
// to come: that keeps the port busy up to a latency of about BEATS cycles, and bounds the time that
// an urgent requester waits behind the others.
//
// data_error_o: RRESP of this word was not OKAY. halt_i: nothing new is issued, what comes is
// swallowed; idle_o once all has come. beat_o: a beat for this requester arrived, swallowed or not.
`include "assertions.svh"

module axi_reader #(
  parameter int unsigned DATA_WIDTH = 64,  // bits of a beat
  parameter int unsigned REQUESTERS = 2,   // the first has priority
  parameter int unsigned BURSTS = 16,      // under way at a time
  parameter int unsigned BEATS = 64,       // still to come, where a burst may start
  parameter int unsigned MAX_BEATS = 64    // of a burst
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
  output logic [DATA_WIDTH-1:0]       data_o,
  output logic                        data_error_o,
  output logic [REQUESTERS-1:0]       beat_o,

  output logic [31:0]                 axi_araddr_o,
  output logic [7:0]                  axi_arlen_o,
  output logic [2:0]                  axi_arsize_o,
  output logic [1:0]                  axi_arburst_o,
  output logic                        axi_arvalid_o,
  input  logic                        axi_arready_i,
  input  logic [DATA_WIDTH-1:0]       axi_rdata_i,
  input  logic [1:0]                  axi_rresp_i,
  input  logic                        axi_rlast_i,
  input  logic                        axi_rvalid_i,
  output logic                        axi_rready_o
);

  localparam int unsigned BeatsWidth = $clog2(BEATS + MAX_BEATS + 1);
  localparam int unsigned OwnerWidth = REQUESTERS > 1 ? $clog2(REQUESTERS) : 1;
  typedef logic [OwnerWidth-1:0] owner_t;

  logic [REQUESTERS-1:0]       burst_valid, burst_ready;
  logic [REQUESTERS-1:0][31:0] burst_address;
  logic [REQUESTERS-1:0][8:0]  burst_beats;

  for (genvar r = 0; r < REQUESTERS; r++) begin : gen_splitter
    logic unused_burst_last; // the requesters count their words themselves
    burst_splitter #(.MAX_BEATS(MAX_BEATS), .BEAT_WORDS(DATA_WIDTH / 64)) u_splitter (
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

  // Issue: the first requester with a burst, if the address register and the flight have room.
  owner_t                issuer;
  logic                  issue, flight_ready, flight_valid;
  owner_t                owner;
  logic                  beat;
  logic [BeatsWidth-1:0] beats_d, beats_q;     // asked for and not yet there
  logic                  arvalid_d, arvalid_q;
  logic [31:0]           araddr_d, araddr_q;
  logic [7:0]            arlen_d, arlen_q;

  always_comb begin : choose
    issuer = '0;
    for (int unsigned r = REQUESTERS; r > 0; r--) begin
      if (burst_valid[r-1]) issuer = owner_t'(r - 1);
    end
  end

  assign issue = (burst_valid != '0) && flight_ready && beats_q <= BeatsWidth'(BEATS)
                 && (!arvalid_q || axi_arready_i);

  always_comb begin : issue_burst
    burst_ready = '0;
    arvalid_d   = arvalid_q && !axi_arready_i;
    araddr_d    = araddr_q;
    arlen_d     = arlen_q;
    beats_d     = beats_q - BeatsWidth'(beat);
    if (issue) begin
      burst_ready[issuer] = 1'b1;
      arvalid_d           = 1'b1;
      araddr_d            = burst_address[issuer];
      arlen_d             = 8'(burst_beats[issuer] - 9'd1);
      beats_d             = beats_d + BeatsWidth'(burst_beats[issuer]);
    end
  end

  // Whose data comes next.
  logic [$clog2(BURSTS+1)-1:0] unused_count;
  fifo #(.WIDTH(OwnerWidth), .DEPTH(BURSTS)) u_flight (
    .clk_i,
    .rst_ni,
    .in_valid_i(issue),
    .in_ready_o(flight_ready),
    .in_data_i(issuer),
    .out_valid_o(flight_valid),
    .out_ready_i(beat && axi_rlast_i),
    .out_data_o(owner),
    .count_o(unused_count)
  );

  assign beat         = axi_rvalid_i && axi_rready_o;
  assign axi_rready_o = flight_valid && (halt_i || data_ready_i[owner]);
  assign data_o       = axi_rdata_i;
  assign data_error_o = axi_rresp_i != 2'b00;

  always_comb begin : route
    data_valid_o        = '0;
    data_valid_o[owner] = axi_rvalid_i && flight_valid && !halt_i;
    beat_o              = '0;
    beat_o[owner]       = beat;
  end

  assign idle_o        = !flight_valid && !arvalid_q;
  assign axi_araddr_o  = araddr_q;
  assign axi_arlen_o   = arlen_q;
  assign axi_arsize_o  = 3'($clog2(DATA_WIDTH / 8));
  assign axi_arburst_o = 2'b01;
  assign axi_arvalid_o = arvalid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      arvalid_q <= '0;
      araddr_q  <= '0;
      arlen_q   <= '0;
      beats_q   <= '0;
    end else begin
      arvalid_q <= arvalid_d;
      araddr_q  <= araddr_d;
      arlen_q   <= arlen_d;
      beats_q   <= beats_d;
    end
  end

  `EYRIE_STABLE(Address, axi_arvalid_o, axi_arready_i, {axi_araddr_o, axi_arlen_o})
  `EYRIE_ASSERT_WHEN(DataExpected, axi_rvalid_i, flight_valid, "data that nobody asked for")
  `EYRIE_ASSERT_WHEN(BeatsCounted, beat, beats_q != '0, "more beats than asked for")
  `EYRIE_ASSERT_NEXT(Halted, halt_i, !$rose(axi_arvalid_o), "a burst issued after halt")

endmodule
