// SPDX-License-Identifier: Apache-2.0
// Quantisation parameters (bias, multiplier, shift) of two blocks of channels. One block is in use
// while the next one arrives.
//
// The parameters of 8 channels are 9 words (encoding_pkg::ParameterWords): 4 words of two biases, 4
// words of two multipliers and 1 word of eight shifts, lower channels in the lower bits. CHANNELS =
// 4 keeps only the half that half_i selects. parameters_ready_o is low while both blocks are
// complete.
//
// Parameters belong to a pass: parameters_phase_i is the pass ID (phase bit) of a word and
// pass_phase_i that of the unit. Words of the next pass wait until the block in progress is
// complete.
// - valid_o: a complete block of the unit's pass is in use.
// - any_o: at least one word for the unit's pass is stored.
// - read_i, only with valid_o: the parameters of channel_i are at the output from the next cycle
//   until the
// next read.
// - pop_i, only with valid_o: the block is done and the next one comes into use. A read in the same
//   cycle
// still reads the finished block.
//
// Biases and multipliers have one RAM each with a pair of channels per word, so that one read
// delivers the parameters of a channel.
`include "assertions.svh"

module parameter_buffer
  import eyrie_pkg::*;
#(
  parameter int unsigned CHANNELS = 8,  // channels that are kept: 4 or 8
  localparam int unsigned ChannelWidth = $clog2(CHANNELS)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  input  logic                    pass_phase_i,
  input  logic                    parameters_valid_i,
  output logic                    parameters_ready_o,
  input  logic                    parameters_phase_i,
  input  glb_word_t               parameters_i,
  input  logic                    half_i,         // keep channels 4 to 7; 0 if CHANNELS is 8

  output logic                    valid_o,
  output logic                    any_o,
  input  logic                    read_i,
  input  logic [ChannelWidth-1:0] channel_i,
  output sum_t                    bias_o,
  output logic signed [31:0]      multiplier_o,
  output logic signed [7:0]       shift_o,
  input  logic                    pop_i
);

  localparam logic [3:0] LastWord = 4'(encoding_pkg::ParameterWords - 1);
  localparam int unsigned Pairs = CHANNELS / 2;
  localparam int unsigned PairWidth = ChannelWidth - 1;

  logic [CHANNELS-1:0][7:0] shifts_q [2];
  logic [1:0]               full_d, full_q;
  logic                     write_d, write_q, read_d, read_q;
  logic [3:0]               count_d, count_q;
  logic [1:0]               pass_phase_q, stored;  // pass of a block; it has words
  logic                     push, kept;
  logic [PairWidth:0]       write_address, read_address;
  logic [1:0][31:0]         biases, multipliers;
  logic                     upper_q;  // odd channel of the pair
  logic signed [7:0]        shift_q;

  assign parameters_ready_o = !full_q[write_q] &&
                              (count_q == '0 || parameters_phase_i == pass_phase_q[write_q]);
  assign push               = parameters_valid_i && parameters_ready_o;

  always_comb begin : next_state
    full_d  = full_q;
    write_d = write_q;
    read_d  = read_q;
    count_d = count_q;
    if (push) begin
      count_d = count_q + 1'b1;
      if (count_q == LastWord) begin
        count_d         = '0;
        full_d[write_q] = 1'b1;
        write_d         = !write_q;
      end
    end
    if (pop_i) begin
      full_d[read_q] = 1'b0;
      read_d         = !read_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q  <= '0;
      write_q <= 1'b0;
      read_q  <= 1'b0;
      count_q <= '0;
    end else begin
      full_q  <= full_d;
      write_q <= write_d;
      read_q  <= read_d;
      count_q <= count_d;
    end
  end

  // Words 0 to 3 are biases, 4 to 7 multipliers. Bit 1 selects the half.
  assign kept          = push && count_q != LastWord && (CHANNELS == 8 || count_q[1] == half_i);
  assign write_address = {write_q, count_q[PairWidth-1:0]};
  assign read_address  = {read_q, channel_i[ChannelWidth-1:1]};

  ram_1r1w #(.WORDS(2 * Pairs), .WIDTH(64)) u_biases (
    .clk_i,
    .write_i        (kept && !count_q[2]),
    .write_address_i(write_address),
    .write_data_i   (parameters_i),
    .read_i,
    .read_address_i (read_address),
    .read_data_o    (biases)
  );

  ram_1r1w #(.WORDS(2 * Pairs), .WIDTH(64)) u_multipliers (
    .clk_i,
    .write_i        (kept && count_q[2]),
    .write_address_i(write_address),
    .write_data_i   (parameters_i),
    .read_i,
    .read_address_i (read_address),
    .read_data_o    (multipliers)
  );

  always_ff @(posedge clk_i) begin
    if (push) pass_phase_q[write_q] <= parameters_phase_i;
    if (push && count_q == LastWord) begin
      shifts_q[write_q] <= (8 * CHANNELS)'(parameters_i >> (32 * half_i));
    end
    if (read_i) begin
      upper_q <= channel_i[0];
      shift_q <= shifts_q[read_q][channel_i];
    end
  end

  for (genvar n = 0; n < 2; n++) begin : gen_stored
    assign stored[n] = full_q[n] || (write_q == 1'(n) && count_q != '0);
  end

  assign valid_o      = full_q[read_q] && pass_phase_q[read_q] == pass_phase_i;
  assign any_o        = (stored & ~(pass_phase_q ^ {2{pass_phase_i}})) != '0;
  assign bias_o       = biases[upper_q];
  assign multiplier_o = multipliers[upper_q];
  assign shift_o      = shift_q;

  `EYRIE_STATIC(HalfOrAll, CHANNELS == 4 || CHANNELS == 8, "CHANNELS is neither 4 nor 8")
  `EYRIE_ASSERT_WHEN(ReadOnlyValid, read_i, valid_o, "parameters are read without a block")
  `EYRIE_ASSERT_WHEN(PopOnlyValid, pop_i, valid_o, "a block ends without parameters")
  `EYRIE_ASSERT_WHEN(NoHalfOfAll, push && CHANNELS == 8, !half_i, "a half is selected of all")
  `EYRIE_STABLE(ParametersStable, parameters_valid_i, parameters_ready_o,
      {parameters_phase_i, half_i, parameters_i})
  `EYRIE_COVER(BothFull, &full_q)

endmodule
