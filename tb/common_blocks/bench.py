# SPDX-License-Identifier: Apache-2.0
"""The shared RTL blocks, and the bench's own alarms."""

from eyrie.runtime.simulator.simulation_test import SimulationTest

_MODULE = "tb.common_blocks.common_blocks_tests"


def _stream(name: str, about: str, top: str, capacity: int, **parameters: int) -> SimulationTest:
    arguments = {"capacity": capacity}
    return SimulationTest(name, about, top, _MODULE, "moves_words", parameters, arguments)


def _reset(name: str, about: str, top: str, capacity: int, **parameters: int) -> SimulationTest:
    return SimulationTest(name, about, top, _MODULE, "forgets_words", parameters, {"capacity": capacity})


def _alarm(name: str, about: str, testcase: str, message: str) -> SimulationTest:
    return SimulationTest(name, about, "assertion_tb", _MODULE, testcase, expect_fail=message)


BENCHES = [
    _stream("fifo0", "FIFO of 5 words: order, capacity, handshakes", "fifo", 5, WIDTH=13, DEPTH=5),
    _stream("fifo1", "FIFO of 1 word", "fifo", 1, WIDTH=32, DEPTH=1),
    _stream("fifo2", "FIFO of 8 words of 128 bits", "fifo", 8, WIDTH=128, DEPTH=8),
    _stream("fifo4", "FIFO on a RAM, of 5 words: order, capacity, handshakes", "ram_fifo", 5, WIDTH=13, DEPTH=5),
    _stream("fifo5", "FIFO on a RAM, of 2 words", "ram_fifo", 2, WIDTH=72, DEPTH=2),
    _stream("fifo6", "queue of a kilobit", "queue", 16, WIDTH=64, DEPTH=16),
    _stream("skid0", "skid buffer: order, capacity, handshakes", "skid_buffer", 2, WIDTH=24),
    _reset("fifo3", "FIFO of 5 words: a reset empties it", "fifo", 5, WIDTH=13, DEPTH=5),
    _reset("fifo7", "FIFO on a RAM, of 5 words: a reset empties it", "ram_fifo", 5, WIDTH=13, DEPTH=5),
    _reset("skid1", "skid buffer: a reset empties it", "skid_buffer", 2, WIDTH=24),
    _alarm("assert0", "a false assertion fails a run", "breaks_property", "planted: the bit rose"),
    _alarm("assert1", "unstable data fails a run", "changes_data", "data changed while stalled"),
    _alarm("assert2", "a dropped valid fails a run", "drops_valid", "valid dropped before ready"),
    _alarm("assert3", "a difference fails a run", "differs", "expected 1, got 2"),
    _alarm("assert4", "a test that compares nothing fails", "idles", "nothing was compared"),
    _alarm("assert5", "a consequence that does not hold fails a run", "accepts_more", "planted: 10 or more accepted"),
    _alarm("assert6", "one a cycle later, as well", "stays_valid", "planted: valid after its acceptance"),
]
