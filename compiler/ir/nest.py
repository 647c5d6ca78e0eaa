# SPDX-License-Identifier: Apache-2.0
"""The loop nest of a segment, in the terms of fused mappings (LoopTree, arXiv:2409.13625).

The outer loop goes over tiles of output rows of the segment's last fused operator. Inside it the passes of the fused
operators take turns. An inner loop around a pass goes over tiles of its filters or of its channels. Only the rows that
are still needed stay in the GLB between two passes, so that no row is computed twice. nest_text.py prints a nest.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Tiling:
    """The inner loop around a pass: over tiles of its filters, or of its channels if it does not mix them.

    filters, channels: number of tiles; at most one of them is above 1
    """

    filters: int = 1
    channels: int = 1

    @property
    def parts(self) -> int:
        return self.filters * self.channels


ONE = Tiling()


@dataclass(frozen=True)
class Nest:
    """A loop nest.

    tilings    of each pass
    rows       output rows of the last fused operator in a row tile; 0: no loop over rows
    lead       row tiles that each pass is ahead of the next one; 0: the passes of a row tile follow each other
    from_dram  the input comes from DRAM: in the innermost loop around the first pass
    ahead      the input from DRAM has room for two row tiles, one of which comes during the other; if not, for one
    to_dram    the output goes to DRAM: in the innermost loop around the last pass
    refetch    the filters of the last pass come from DRAM for each row tile again
    in_place   the output overwrites the dead rows of the input
    """

    tilings: tuple[Tiling, ...] = (ONE,)
    rows: int = 0
    lead: int = 1
    from_dram: bool = False
    ahead: bool = True
    to_dram: bool = False
    refetch: bool = False
    in_place: bool = False

    @property
    def whole(self) -> bool:
        """Return whether the nest has no loop: one pass on whole feature maps."""
        return not self.rows and self.tilings == (ONE,)

    @property
    def sliced(self) -> bool:
        """Return whether a pass has tiles of its filters or of its channels."""
        return any(tiling.parts > 1 for tiling in self.tilings)

    def streams_filters(self, n: int) -> bool:
        """Return whether each filter of pass n is used by one job, or comes again for the next: filters may come while
        a job runs, and need not be in the GLB all together."""
        return n == len(self.tilings) - 1 and (not self.rows or self.refetch)

    def turns(self, tiles: int) -> Iterator[tuple[int, int]]:
        """Yield (pass, row tile) in order.

        If possible, no pass reads the output of the pass just before it: the passes take turns, one row tile each, the
        last one first.
        """
        depth = len(self.tilings)
        if not self.lead:
            yield from ((n, tile) for tile in range(tiles) for n in range(depth))
            return
        for turn in range(tiles + (depth - 1) * self.lead):
            for n in reversed(range(depth)):
                if 0 <= turn - n * self.lead < tiles:
                    yield n, turn - n * self.lead

    def describe(self, n: int) -> str:
        """Return the loops around pass n, outermost first, as a phrase: "rows by 4, filters in 8, refetched"."""
        tiling, last = self.tilings[n], n == len(self.tilings) - 1
        loops = [f"rows by {self.rows}"] if self.rows else []
        loops += [f"channels in {tiling.channels}"] if tiling.channels > 1 else []
        loops += [f"filters in {tiling.filters}"] if tiling.filters > 1 else []
        ends = (["refetched"] if self.refetch and last else []) + (["in place"] if self.in_place else [])
        return ", ".join([*loops, *ends]) or "whole"
