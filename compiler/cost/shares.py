# SPDX-License-Identifier: Apache-2.0
"""The cycles in which each pass holds the accelerator, measured or predicted."""

from collections.abc import Sequence


def held_cycles(pe_cycles: Sequence[float], done: Sequence[int], is_vector: Sequence[bool]) -> list[float]:
    """Return the cycles of each pass. A cycle belongs to one pass.

    An array pass holds the accelerator until its PEs go on to the next pass; if two array passes share the array, each
    has the cycles of its PEs. A vector pass holds it until its own end, since the PPU takes passes in order.

    pe_cycles: of each pass, averaged over the PEs; done: cycle at which each pass ends
    """
    held, on_pes, end = list[float](), 0.0, 0.0
    for cycles, own_end, vector in zip(pe_cycles, done, is_vector, strict=True):
        on_pes += cycles
        before, end = end, max(end, own_end if vector else on_pes)
        held.append(end - before)
    return held
