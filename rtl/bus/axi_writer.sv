// SPDX-License-Identifier: Apache-2.0
// AXI4 write master for one requester.
//
// A request is a run of consecutive words (burst_splitter checks the window and the legality and
// splits at 4 KiB). The data channel delivers the words in the same order. response_valid_o pulses
// with the last response of a request. response_tag_o returns its request_tag_i. response_error_o:
// a BRESP of the request is not OKAY.
//
// halt_i: no burst is issued, and the missing data of bursts in flight is sent with all strobes
// low. idle_o is high once all responses have arrived.
`include "assertions.svh"

module axi_writer
  import bus_pkg::*;
#(
  parameter int unsigned BUS_WORDS = 1,    // 64-bit words per beat: 1 or 2
  parameter int unsigned TAG_WIDTH = 1,    // bits of a tag
  parameter int unsigned BURSTS = 8,       // bursts in flight
  parameter int unsigned MAX_BEATS = 64    // beats per burst
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
  input  logic [BUS_WORDS-1:0][63:0] data_i,

  output logic                    response_valid_o,
  output logic                    response_error_o,
  output logic [TAG_WIDTH-1:0]    response_tag_o,

  output axi_address_t            aw_o,
  output logic [MaxBusWords-1:0][63:0] w_data_o,
  output logic [MaxBusWords-1:0][7:0]  w_strobe_o,
  output logic                    w_last_o,
  output logic                    w_valid_o,
  output logic                    b_ready_o,
  input  axi_response_t           axi_i
);

  // Addresses
  logic                 burst_valid, burst_last, issue;
  logic [31:0]          burst_address;
  logic [8:0]           burst_beats;
  logic [TAG_WIDTH-1:0] tag_q;                 // tag of the request in the splitter
  axi_address_t         aw_q;

  burst_splitter #(.MAX_BEATS(MAX_BEATS), .BEAT_WORDS(BUS_WORDS)) u_splitter (
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

  // A burst enters the address register, the queue of bursts with data to send and the queue of
  // bursts with an outstanding response.
  logic       lengths_ready, length_valid, flight_ready, flight_valid;
  logic [7:0] length;
  logic       flight_last;
  logic [$clog2(BURSTS+1)-1:0] unused_length_count, unused_flight_count;
  assign issue = burst_valid && lengths_ready && flight_ready && (!aw_q.valid || axi_i.aw_ready);

  // Data: a register between the data channel and W keeps the data stable.
  logic                       load, accept;
  logic [7:0]                 sent_d, sent_q;  // words sent of the current burst
  logic                       wvalid_q, wlast_q, wstrobe_q;
  logic [BUS_WORDS-1:0][63:0] wdata_q;

  assign load         = length_valid && (!wvalid_q || axi_i.w_ready);
  assign data_ready_o = load && !halt_i;
  assign accept       = load && (halt_i || data_valid_i);
  assign sent_d       = !accept ? sent_q : (sent_q == length) ? '0 : sent_q + 8'd1;

  fifo #(.WIDTH(8), .DEPTH(BURSTS)) u_lengths (
    .clk_i,
    .rst_ni,
    .in_valid_i(issue),
    .in_ready_o(lengths_ready),
    .in_data_i(8'(burst_beats - 9'd1)),
    .out_valid_o(length_valid),
    .out_ready_i(accept && sent_q == length),
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
    .out_ready_i(axi_i.b_valid),
    .out_data_o({flight_last, response_tag_o}),
    .count_o(unused_flight_count)
  );

  logic response, failed_q;                    // failed_q: an earlier burst of the request failed
  assign b_ready_o        = flight_valid;
  assign response         = axi_i.b_valid && flight_valid;
  assign response_valid_o = response && flight_last;
  assign response_error_o = axi_i.b_response != RespOkay || failed_q;

  assign idle_o     = !flight_valid && !aw_q.valid && !wvalid_q;
  assign aw_o       = aw_q;
  assign w_data_o   = (64 * MaxBusWords)'(wdata_q);
  assign w_strobe_o = (8 * MaxBusWords)'({8 * BUS_WORDS{wstrobe_q}});
  assign w_last_o   = wlast_q;
  assign w_valid_o  = wvalid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      tag_q     <= '0;
      aw_q      <= '0;
      sent_q    <= '0;
      wvalid_q  <= '0;
      wlast_q   <= '0;
      wdata_q   <= '0;
      wstrobe_q <= '0;
      failed_q  <= '0;
    end else begin
      if (request_valid_i && request_ready_o) tag_q <= request_tag_i;
      if (issue) begin
        aw_q <= '{address: burst_address, length: 8'(burst_beats - 9'd1), valid: 1'b1};
      end else if (axi_i.aw_ready) begin
        aw_q.valid <= 1'b0;
      end
      sent_q <= sent_d;
      if (accept) begin
        wvalid_q  <= 1'b1;
        wlast_q   <= sent_q == length;
        wdata_q   <= data_i;
        wstrobe_q <= !halt_i;
      end else if (axi_i.w_ready) begin
        wvalid_q <= 1'b0;
      end
      if (response) failed_q <= !flight_last && response_error_o;
    end
  end

  logic unused_axi; // signals of the reader
  assign unused_axi = ^axi_i;

  `EYRIE_STABLE(Address, aw_o.valid, axi_i.aw_ready, {aw_o.address, aw_o.length})
  `EYRIE_STABLE(Data, w_valid_o, axi_i.w_ready, {w_data_o, w_strobe_o, w_last_o})
  `EYRIE_ASSERT_WHEN(ResponseExpected, axi_i.b_valid,
      flight_valid, "an unexpected response")
  `EYRIE_ASSERT_NEXT(Halted, halt_i, !$rose(aw_o.valid), "a burst is issued after halt")

endmodule
