// SPDX-License-Identifier: Apache-2.0
// AXI4 write master with one requester.
//
// Requests are stretches of words (see burst_splitter: window, legality, 4 KiB); their data comes
// on the data channel in the same order. response_valid_o pulses when the last response of a
// request has come; request_tag_i comes back with it as response_tag_o, and response_error_o says
// that a BRESP of it was not OKAY.
//
// halt_i: nothing new is issued; what is missing of bursts already begun is sent with no byte
// enabled. idle_o once all responses have come.
`include "assertions.svh"

module axi_writer #(
  parameter int unsigned DATA_WIDTH = 64,  // bits of a beat
  parameter int unsigned TAG_WIDTH = 1,    // bits that come back with the response
  parameter int unsigned BURSTS = 8,       // under way at a time
  parameter int unsigned MAX_BEATS = 64    // of a burst
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    halt_i,
  output logic                    idle_o,
  input  logic [31:0]             window_base_i,
  input  logic [31:0]             window_limit_i,

  input  logic                    request_valid_i,
  output logic                    request_ready_o,
  output logic                    request_legal_o,
  input  logic [31:0]             request_address_i,
  input  logic [15:0]             request_words_i,
  input  logic [TAG_WIDTH-1:0]    request_tag_i,

  input  logic                    data_valid_i,
  output logic                    data_ready_o,
  input  logic [DATA_WIDTH-1:0]   data_i,

  output logic                    response_valid_o,
  output logic                    response_error_o,
  output logic [TAG_WIDTH-1:0]    response_tag_o,

  output logic [31:0]             axi_awaddr_o,
  output logic [7:0]              axi_awlen_o,
  output logic [2:0]              axi_awsize_o,
  output logic [1:0]              axi_awburst_o,
  output logic                    axi_awvalid_o,
  input  logic                    axi_awready_i,
  output logic [DATA_WIDTH-1:0]   axi_wdata_o,
  output logic [DATA_WIDTH/8-1:0] axi_wstrb_o,
  output logic                    axi_wlast_o,
  output logic                    axi_wvalid_o,
  input  logic                    axi_wready_i,
  input  logic [1:0]              axi_bresp_i,
  input  logic                    axi_bvalid_i,
  output logic                    axi_bready_o
);

  // Addresses
  logic                 burst_valid, burst_last, issue;
  logic [31:0]          burst_address;
  logic [8:0]           burst_beats;
  logic [TAG_WIDTH-1:0] tag_q;                 // of the request in the splitter
  logic                 awvalid_q;
  logic [31:0]          awaddr_q;
  logic [7:0]           awlen_q;

  burst_splitter #(.MAX_BEATS(MAX_BEATS), .BEAT_WORDS(DATA_WIDTH / 64)) u_splitter (
    .clk_i,
    .rst_ni,
    .halt_i,
    .window_base_i,
    .window_limit_i,
    .request_valid_i,
    .request_ready_o,
    .request_legal_o,
    .request_address_i,
    .request_words_i,
    .burst_valid_o(burst_valid),
    .burst_ready_i(issue),
    .burst_address_o(burst_address),
    .burst_beats_o(burst_beats),
    .burst_last_o(burst_last)
  );

  // A burst is issued into three places at once: the address register, the queue of bursts whose
  // data is to be sent, the queue of bursts whose response is to come.
  logic       lengths_ready, length_valid, flight_ready, flight_valid;
  logic [7:0] length;
  logic       flight_last;
  logic [$clog2(BURSTS+1)-1:0] unused_length_count, unused_flight_count;
  assign issue = burst_valid && lengths_ready && flight_ready && (!awvalid_q || axi_awready_i);

  // Data: one register between the data channel and W, so that what is offered stays.
  logic                    load, take;
  logic [7:0]              sent_d, sent_q;     // words of the present burst
  logic                    wvalid_q, wlast_q;
  logic [DATA_WIDTH-1:0]   wdata_q;
  logic [DATA_WIDTH/8-1:0] wstrb_q;

  assign load         = length_valid && (!wvalid_q || axi_wready_i);
  assign data_ready_o = load && !halt_i;
  assign take         = load && (halt_i || data_valid_i);
  assign sent_d       = !take ? sent_q : (sent_q == length) ? '0 : sent_q + 8'd1;

  fifo #(.WIDTH(8), .DEPTH(BURSTS)) u_lengths (
    .clk_i,
    .rst_ni,
    .in_valid_i(issue),
    .in_ready_o(lengths_ready),
    .in_data_i(8'(burst_beats - 9'd1)),
    .out_valid_o(length_valid),
    .out_ready_i(take && sent_q == length),
    .out_data_o(length),
    .count_o(unused_length_count)
  );

  // Responses
  fifo #(.WIDTH(1 + TAG_WIDTH), .DEPTH(BURSTS)) u_flight (
    .clk_i,
    .rst_ni,
    .in_valid_i(issue),
    .in_ready_o(flight_ready),
    .in_data_i({burst_last, tag_q}),
    .out_valid_o(flight_valid),
    .out_ready_i(axi_bvalid_i),
    .out_data_o({flight_last, response_tag_o}),
    .count_o(unused_flight_count)
  );

  logic response, failed_q;                    // failed_q: an earlier burst of the request
  assign axi_bready_o     = flight_valid;
  assign response         = axi_bvalid_i && flight_valid;
  assign response_valid_o = response && flight_last;
  assign response_error_o = axi_bresp_i != 2'b00 || failed_q;

  assign idle_o        = !flight_valid && !awvalid_q && !wvalid_q;
  assign axi_awaddr_o  = awaddr_q;
  assign axi_awlen_o   = awlen_q;
  assign axi_awsize_o  = 3'($clog2(DATA_WIDTH / 8));
  assign axi_awburst_o = 2'b01;
  assign axi_awvalid_o = awvalid_q;
  assign axi_wdata_o   = wdata_q;
  assign axi_wstrb_o   = wstrb_q;
  assign axi_wlast_o   = wlast_q;
  assign axi_wvalid_o  = wvalid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tag_q     <= '0;
      awvalid_q <= '0;
      awaddr_q  <= '0;
      awlen_q   <= '0;
      sent_q    <= '0;
      wvalid_q  <= '0;
      wlast_q   <= '0;
      wdata_q   <= '0;
      wstrb_q   <= '0;
      failed_q  <= '0;
    end else begin
      if (request_valid_i && request_ready_o) tag_q <= request_tag_i;
      if (issue) begin
        awvalid_q <= 1'b1;
        awaddr_q  <= burst_address;
        awlen_q   <= 8'(burst_beats - 9'd1);
      end else if (axi_awready_i) begin
        awvalid_q <= 1'b0;
      end
      sent_q <= sent_d;
      if (take) begin
        wvalid_q <= 1'b1;
        wlast_q  <= sent_q == length;
        wdata_q  <= data_i;
        wstrb_q  <= halt_i ? '0 : '1;
      end else if (axi_wready_i) begin
        wvalid_q <= 1'b0;
      end
      if (response) failed_q <= !flight_last && response_error_o;
    end
  end

  `EYRIE_STABLE(Address, axi_awvalid_o, axi_awready_i, {axi_awaddr_o, axi_awlen_o})
  `EYRIE_STABLE(Data, axi_wvalid_o, axi_wready_i, {axi_wdata_o, axi_wstrb_o, axi_wlast_o})
  `EYRIE_ASSERT_WHEN(ResponseExpected, axi_bvalid_i,
      flight_valid, "a response that nobody waits for")
  `EYRIE_ASSERT_NEXT(Halted, halt_i, !$rose(axi_awvalid_o), "a burst issued after halt")

endmodule
