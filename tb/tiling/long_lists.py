# SPDX-License-Identifier: Apache-2.0
"""Lists of more transfers, passes and chunks than 16 bits can count, whose tokens are all that keeps them right.

The pass side is tb/tiling/auto_passes.sv, which looks at the GLB words that a list puts there.
"""

from dataclasses import dataclass

import numpy as np

from eyrie.model.encoding import Opcode
from tb.tiling.programs import Program

LOAD_BASE, LOAD_WORDS = 0, 8
STORE_BASE, STORE_WORDS = 64, 8
RING_BASE, RING_WORDS = 128, 4
BEHIND = 3  # a PASS waits for so many passes before it: what auto_passes looks for
EVERY = 16  # passes between two turns from LOADs to STOREs


@dataclass(frozen=True)
class LongList:
    """program: the list; numbers: DRAM address of the words 0, 1, 2, ... that LOADs bring; stored: DRAM address of
    the words that STOREs leave, `values` (uint64) in the end."""

    program: Program
    numbers: int
    stored: int
    values: np.ndarray
    chunks: int


def long_list(program: Program, passes: int, chunks: int, numbers: int, stored: int) -> LongList:
    """A list of so many passes and chunks, appended to `program`. Addresses are DRAM bytes."""
    loaded, values = 0, []

    def load(value: int, place: int, **tokens: int) -> None:
        program.transfer(Opcode.LOAD, numbers + 8 * value, place, 1, **tokens)

    for number in range(passes):
        # The word is free when the pass has ended that needed what was there. Transfers end in their order, so
        # that the pass waits for all before, STOREs of what it writes over too.
        load(number, LOAD_BASE + number % LOAD_WORDS, wait_passes=max(0, number - LOAD_WORDS + 1))
        needed = program.transfers
        while loaded * passes < chunks * (number + 1):
            load(loaded, RING_BASE + loaded % RING_WORDS, chunk=1, wait_chunks=max(0, loaded - RING_WORDS + 1))
            loaded += 1
        program.start_pass(None, wait_transfers=needed, wait_passes=max(0, number - BEHIND))
        if number % EVERY == EVERY - 1:  # what the last passes have written, before others write over it
            for old in range(number - 2, number + 1):
                program.transfer(
                    Opcode.STORE, stored + 8 * len(values), STORE_BASE + old % STORE_WORDS, 1, wait_passes=old + 1
                )
                values.append(old)
    program.end()
    return LongList(program, numbers, stored, np.array(values, np.uint64), loaded)
