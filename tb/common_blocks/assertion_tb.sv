// SPDX-License-Identifier: Apache-2.0
// Properties for the tests that break them.

`include "assertions.svh"

module assertion_tb (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       bit_i,
  input logic       valid_i,
  input logic       ready_i,
  input logic [7:0] data_i
);

  `EYRIE_ASSERT(BitStaysDown, !$rose(bit_i), "planted: the bit rose")
  `EYRIE_ASSERT_WHEN(AcceptedSmall, valid_i && ready_i, data_i < 8'd10, "planted: 10 or more accepted")
  `EYRIE_ASSERT_NEXT(AcceptedOnce, valid_i && ready_i, !valid_i, "planted: valid after its acceptance")
  `EYRIE_STABLE(Offer, valid_i, ready_i, data_i)

endmodule
