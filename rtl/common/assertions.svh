// SPDX-License-Identifier: Apache-2.0
// Assertion macros. They expect clk_i and rst_ni in scope and are off during reset. Their bodies
// are what Verilator checks with --assert and without --timing (no ##N), and what Yosys reads to
// prove them (read_slang -U SYNTHESIS): no |->, no |=>. A violation ends the simulation with the
// message; the benches assert0 to assert2, assert5 and assert6 prove it. SYNTHESIS removes all but
// EYRIE_STATIC.
// There is none that says "never X": Verilator has two states, and starts with random ones instead.
`ifndef EYRIE_ASSERTIONS_SVH
`define EYRIE_ASSERTIONS_SVH

`ifndef SYNTHESIS

// `condition_` holds at every clock edge out of reset.
`define EYRIE_ASSERT(name_, condition_, message_)                                                  \
  name_: assert property (@(posedge clk_i) disable iff (!rst_ni) (condition_))                     \
    else $error("%s", message_);

// Where `when_` holds, `then_` does in the same cycle.
`define EYRIE_ASSERT_WHEN(name_, when_, then_, message_)                                           \
  `EYRIE_ASSERT(name_, !(when_) || (then_), message_)

// Where `before_` held, `after_` does in the next cycle. rst_ni is part of what is remembered
// because reset must also forget what was true in its last cycle.
`define EYRIE_ASSERT_NEXT(name_, before_, after_, message_)                                        \
  `EYRIE_ASSERT(name_, !$past(rst_ni && (before_)) || (after_), message_)

// An offer stands until it is taken: valid is not dropped, data does not change while stalled.
`define EYRIE_STABLE(name_, valid_, ready_, data_)                                                 \
  `EYRIE_ASSERT_NEXT(name_``_valid, (valid_) && !(ready_), valid_, "valid dropped before ready")   \
  `EYRIE_ASSERT_NEXT(name_``_data, (valid_) && !(ready_), $stable(data_),                          \
      "data changed while stalled")

// Counts how often `condition_` was seen, in coverage builds.
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
