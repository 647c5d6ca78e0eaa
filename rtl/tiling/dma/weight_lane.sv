// SPDX-License-Identifier: Apache-2.0
// A lane of the weight decoder: a buffer of bits, and a unit of 8 bits that waits behind it.
//
// In a turn, a lane whose buffer has less than 14 bits (wants_o) appends its unit, and receives
// another one if there is one (take_i). In a step, which is a turn of lanes that lack nothing, it
// also decodes a weight: the last class of the code whose prefix the first 6 bits reach, and the
// extra bits behind the prefix. A rest, whose extra bits are 7, has none, and its prefix stays for
// the next weight, up to the step of block_end_i. lacks_o: the buffer has less than 12 bits, and
// the next turn may bring more. short_o: the weight has more bits than there are. Missing bits are
// zero.
module weight_lane
  import encoding_pkg::*;
#(
  parameter int unsigned UNIT_BITS = 8  // bits of a unit
) (
  input  logic                 clk_i,
  input  logic                 clear_i, // a chain begins: the buffer is empty
  input  weight_class_t [CodeClasses-1:0] code_i,
  input  logic [7:0]           centre_i, // of the code

  input  logic                 turn_i,
  input  logic                 step_i, // no lane lacks bits: the turn is a step
  input  logic                 block_end_i, // the last step of a block
  input  logic                 take_i,
  input  logic                 unit_valid_i,
  input  logic [UNIT_BITS-1:0] unit_i,

  output logic                 wants_o,
  output logic                 lacks_o,
  output logic                 short_o,
  output logic [7:0]           weight_o
);

  localparam int unsigned PrefixBits = $bits(code_i[0].first);
  localparam int unsigned ExtraBits = 6;
  localparam int unsigned CodedBits = PrefixBits + ExtraBits;
  localparam int unsigned Room = 13;  // bits of a buffer that still takes a unit, at most
  localparam int unsigned Bits = Room + UNIT_BITS;

  logic [Bits-1:0]      buffer_q, buffer;  // the oldest bit is the highest; missing bits are 0
  logic [4:0]           fill_q, fill;
  logic [UNIT_BITS-1:0] unit_q;
  logic                 unit_valid_q, append;

  assign wants_o = fill_q <= 5'(Room);
  assign append  = wants_o && unit_valid_q;
  assign buffer  = append ? buffer_q | ({unit_q, Room'(0)} >> fill_q[3:0]) : buffer_q;
  assign fill    = append ? fill_q + 5'(UNIT_BITS) : fill_q;
  assign lacks_o = unit_valid_q && fill < 5'(CodedBits);

  // ---- The class ----

  logic [CodeClasses-1:0] reached;
  logic [2:0]             length, extra;
  logic                   rest;
  logic [3:0]             bits, leaving;
  logic [7:0]             base;

  always_comb begin : choose
    logic chosen;
    {length, extra, base} = '0;
    for (int unsigned c = 0; c < CodeClasses; c++) begin
      reached[c] = c == 0 || buffer[Bits-1-:PrefixBits] >= code_i[c].first;
    end
    for (int unsigned c = 0; c < CodeClasses; c++) begin
      chosen = reached[c] && ((reached >> (c + 1)) == '0);
      length = length | (code_i[c].length & {3{chosen}});
      extra  = extra  | (code_i[c].extra & {3{chosen}});
      base   = base   | (code_i[c].base & {8{chosen}});
    end
  end

  assign rest    = extra == 3'd7;
  assign bits    = 4'(length) + 4'(extra & {3{!rest}});
  assign leaving = bits & {4{step_i && (!rest || block_end_i)}};
  assign short_o = 5'(bits) > fill;

  // ---- The weight ----

  logic [CodedBits-1:0] behind;  // the bits behind the prefix
  logic [7:0]           number;

  assign behind   = buffer[Bits-1-:CodedBits] << length;
  assign number   = base + 8'(behind[CodedBits-1-:ExtraBits] >> (3'(ExtraBits) - extra));
  assign weight_o = centre_i + ({8{number[0]}} ^ {1'b0, number[7:1]});

  logic unused_behind;
  assign unused_behind = ^behind;

  // The registers need no reset: clear_i comes before the first turn, in which the unit is taken.
  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      buffer_q <= '0;
      fill_q   <= '0;
    end else if (turn_i) begin
      buffer_q <= buffer << leaving;
      fill_q   <= fill - 5'(leaving);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i) {unit_valid_q, unit_q} <= {unit_valid_i, unit_i};
  end

endmodule
