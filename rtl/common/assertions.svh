// SPDX-License-Identifier: Apache-2.0
// Assertion macros. They expect clk_i and rst_ni in scope, are off during reset, and need nothing
// but what Verilator checks with --assert and without --timing (no ##N). A violation ends the
// simulation with the message; the benches assert0 to assert2 prove it. SYNTHESIS removes them.
`ifndef EYRIE_ASSERTIONS_SVH
`define EYRIE_ASSERTIONS_SVH

`ifndef SYNTHESIS

// `property_` holds at every clock edge out of reset.
`define EYRIE_ASSERT(name_, property_, message_)                                                   \
  name_: assert property (@(posedge clk_i) disable iff (!rst_ni) property_)                        \
    else $error("%s", message_);

// An offer stands until it is taken: valid is not dropped, data does not change while stalled.
// rst_ni is part of the antecedents because reset must also forget an offer made in its last cycle.
`define EYRIE_STABLE(name_, valid_, ready_, data_)                                                 \
  name_``_valid: assert property (@(posedge clk_i) disable iff (!rst_ni)                           \
      rst_ni && (valid_) && !(ready_) |=> (valid_))                                                \
    else $error("valid dropped before ready");                                                 \
  name_``_data: assert property (@(posedge clk_i) disable iff (!rst_ni)                            \
      rst_ni && (valid_) && !(ready_) |=> $stable(data_))                                          \
    else $error("data changed while stalled");

// Counts how often `property_` was seen, in coverage builds.
`define EYRIE_COVER(name_, property_)                                                              \
  name_: cover property (@(posedge clk_i) disable iff (!rst_ni) property_);

// `condition_` holds for the parameters: checked once, before the first cycle.
`define EYRIE_STATIC(name_, condition_, message_)                                                  \
  if (!(condition_)) begin : name_                                                                 \
    $error("%s", message_);                                                                    \
  end

`else

`define EYRIE_ASSERT(name_, property_, message_)
`define EYRIE_STABLE(name_, valid_, ready_, data_)
`define EYRIE_COVER(name_, property_)
`define EYRIE_STATIC(name_, condition_, message_)

`endif
`endif
