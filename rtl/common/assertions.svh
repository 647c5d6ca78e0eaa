// SPDX-License-Identifier: Apache-2.0
// Assertion macros. They need clk_i and rst_ni in scope and are off during reset. Verilator checks
// them with --assert and without --timing, so their bodies have no ##N. Yosys reads them for proofs
// (read_slang -U SYNTHESIS), so their bodies have no |-> and no |=>. A violation ends the run with
// the message; testbenches assert0 to assert2, assert5 and assert6 check this. SYNTHESIS removes
// all macros except EYRIE_STATIC.
// No macro checks for X, since Verilator has two states; it starts with random states instead.
`ifndef EYRIE_ASSERTIONS_SVH
`define EYRIE_ASSERTIONS_SVH

`ifndef SYNTHESIS

// `condition_` holds at every clock edge out of reset.
`define EYRIE_ASSERT(name_, condition_, message_)                                                  \
  name_: assert property (@(posedge clk_i) disable iff (!rst_ni) (condition_))                     \
    else $error("%s", message_);

// If `when_` holds, `then_` holds in the same cycle.
`define EYRIE_ASSERT_WHEN(name_, when_, then_, message_)                                           \
  `EYRIE_ASSERT(name_, !(when_) || (then_), message_)

// If `before_` held, `after_` holds in the next cycle. The past value includes rst_ni, so that a
// reset also removes the condition of its last cycle.
`define EYRIE_ASSERT_NEXT(name_, before_, after_, message_)                                        \
  `EYRIE_ASSERT(name_, !$past(rst_ni && (before_)) || (after_), message_)

// A request is stable until it is accepted: valid stays high and data does not change.
`define EYRIE_STABLE(name_, valid_, ready_, data_)                                                 \
  `EYRIE_ASSERT_NEXT(name_``_valid, (valid_) && !(ready_), valid_, "valid dropped before ready")   \
  `EYRIE_ASSERT_NEXT(name_``_data, (valid_) && !(ready_), $stable(data_),                          \
      "data changed while stalled")

// Counts how often `condition_` holds, in coverage builds.
`define EYRIE_COVER(name_, condition_)                                                             \
  name_: cover property (@(posedge clk_i) disable iff (!rst_ni) (condition_));

`else

`define EYRIE_ASSERT(name_, condition_, message_)
`define EYRIE_ASSERT_WHEN(name_, when_, then_, message_)
`define EYRIE_ASSERT_NEXT(name_, before_, after_, message_)
`define EYRIE_STABLE(name_, valid_, ready_, data_)
`define EYRIE_COVER(name_, condition_)

`endif

// `condition_` holds for the parameters: checked at elaboration, in synthesis too.
`define EYRIE_STATIC(name_, condition_, message_)                                                  \
  if (!(condition_)) begin : name_                                                                 \
    $error("%s", message_);                                                                    \
  end

`endif
