# SPDX-License-Identifier: Apache-2.0
"""What the kinds of passes share: the units of the pass side, and the begin of a pass."""

from dataclasses import dataclass
from typing import Protocol

from compiler.cost.timing.banks import Banks
from compiler.cost.timing.drain import Drain
from compiler.cost.timing.front import Front
from compiler.cost.timing.streams import Filters, Ifmap, Words
from model.config import MachineConfig
from model.encoding import Stream


class Work(Protocol):
    """Pointwise work beside depthwise groups."""

    def run_until(self, limit: int) -> int: ...


class FilterUser(Protocol):
    """A convolution, which sends its filters by itself."""

    def send_filters(self, limit: int) -> None: ...


class Units:
    """The pass side. slow: cycles of a multiplication."""

    def __init__(self, machine: MachineConfig, front: Front, banks: Banks) -> None:
        self.machine, self.front, self.banks = machine, front, banks
        self.drain = Drain(banks, self._streams_known)
        self.ifmap = Ifmap(machine, front, banks)
        self.filters = Filters(front, machine, banks, self._ifmap_known)
        self.depthwise = Words(banks, Stream.DEPTHWISE, self._all_known)
        # Words A and B of elementwise passes.
        self.words = Words(banks, Stream.IFMAP, front.catch_up)
        self.others = Words(banks, Stream.RESIDUAL, self.words.fetch)
        self.work: Work | None = None  # pointwise work of the pass, which uses up filters
        self.convolution: FilterUser | None = None  # the pass, if it is one
        self.slow = 4 // machine.multipliers

    def _ifmap_known(self, cycle: int) -> None:
        """Transfers and ifmap stream are worked out up to a cycle, as far as is known: filters may come while the
        ifmap stream, which knows transfers too, rests."""
        self.front.know_transfers(cycle)
        self.ifmap.catch_up(cycle)

    def _streams_known(self, cycle: int) -> None:
        """Likewise the filter stream."""
        self._ifmap_known(cycle)
        if self.convolution:
            self.convolution.send_filters(cycle)
        self.filters.catch_up(cycle)

    def _all_known(self, cycle: int) -> None:
        """Likewise the table stream, and the pointwise work that uses up filters."""
        if self.work:
            self.work.run_until(cycle)
        self._streams_known(cycle)
        self.drain.catch_up(cycle)


@dataclass(frozen=True)
class Begin:
    """First cycles of a pass: in which PEs can multiply, in which filter and depthwise stream can send."""

    work: int
    filters: int
    depthwise: int
