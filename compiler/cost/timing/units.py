# SPDX-License-Identifier: Apache-2.0
"""What the kinds of passes share: the units of the pass side, and the begin of a pass."""

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from eyrie.compiler.cost.timing.banks import Banks
from eyrie.compiler.cost.timing.drain import Drain
from eyrie.compiler.cost.timing.filters import Filters
from eyrie.compiler.cost.timing.front import Front
from eyrie.compiler.cost.timing.streams import Ifmap, Words
from eyrie.model.config import DEPTHWISE_PIXELS, SET_ROWS, AcceleratorConfig
from eyrie.model.encoding import Stream

TAP_WORDS = 10  # depthwise taps that a PE holds (TapWords of pe)
TABLES = 2  # groups whose tables dw_requantizer holds


class Work(Protocol):
    """The work behind depthwise groups: pointwise work, or the way of their words to the drain (fused.py,
    depthwise.py)."""

    def add(self, ready: int) -> None: ...
    def end(self) -> int: ...
    def interrupt(self, begins: list[int], length: int) -> None: ...
    def run_until(self, limit: int, row: int = 0) -> int: ...
    def buffer_room(self, job: int) -> int: ...


class FilterUser(Protocol):
    """A convolution, which sends its filters by itself."""

    def send_filters(self, limit: int) -> None: ...


class Held:
    """What passes before hold up.

    free    by column, the first cycle in which its PEs have nothing to do
    slots   by column, of the last DEPTHWISE_PIXELS depthwise sums: the first cycle in which its slot is free
    taps    by row, of the last TAP_WORDS taps: cycle of the last multiplication
    issued  of the last TABLES groups: cycle in which their last sum left
    sent    cycle behind that in which the SUPERs handed the last word of a depthwise pass to the column adder chain
    """

    TIMES = ("free", "slots", "taps", "issued", "sent")

    def __init__(self, cols: int) -> None:
        self.free = [0] * cols
        self.slots = [[0] * DEPTHWISE_PIXELS for _ in range(cols)]
        self.taps = [deque([-1] * TAP_WORDS, TAP_WORDS) for _ in range(SET_ROWS)]
        self.issued: deque[int] = deque([-1] * TABLES, TABLES)
        self.sent = 0


class Units:
    """The pass side. slow: cycles of a multiplication."""

    def __init__(self, config: AcceleratorConfig, front: Front, banks: Banks) -> None:
        self.config, self.front, self.banks = config, front, banks
        self.ifmap = Ifmap(config, front, banks)
        self.filters = Filters(front, config, banks, self._ifmap_known)
        self.depthwise = Words(banks, Stream.DEPTHWISE, self._all_known)
        # Words A and B of vector passes.
        self.words = Words(banks, Stream.IFMAP, front.catch_up)
        self.others = Words(banks, Stream.RESIDUAL, self._operands_known)
        self.drain = Drain(banks, self._streams_known, self.others)
        self.held = Held(config.cols)
        self.begins: list[int] = []  # of the pass, by channel group: when the first filter is used
        self.work: Work | None = None  # pointwise work of the pass, which uses up filters
        self.convolution: FilterUser | None = None  # the pass, if it is one
        self.slow = 4 // config.multipliers

    @property
    def timed(self) -> list:
        """All parts that have times; each names them in TIMES."""
        words = [self.drain.tables, self.filters.stream, self.depthwise, self.words, self.others]
        readers = [self.ifmap.reader, *(each.reader for each in words)]
        return [self.drain, self.ifmap, self.filters, *words, *readers, self.held]

    def rest(self) -> None:
        """No unit has anything left to do of the last pass."""
        self.ifmap.rest()
        self.filters.rest()
        self.drain.rest()

    def _ifmap_known(self, cycle: int) -> None:
        """Transfers and ifmap stream are worked out up to a cycle, as far as is known: filters may come while the
        ifmap stream, which knows transfers too, rests."""
        self.front.know_transfers(cycle)
        self.ifmap.catch_up(cycle)

    def _streams_known(self, cycle: int) -> None:
        """As well the filter stream."""
        self._ifmap_known(cycle)
        if self.convolution:
            self.convolution.send_filters(cycle)
        self.filters.catch_up(cycle)

    def _operands_known(self, cycle: int) -> None:
        """As well the first operand of a vector pass."""
        self._streams_known(cycle)
        self.words.fetch(cycle)

    def _all_known(self, cycle: int) -> None:
        """As well the table stream, and the pointwise work that uses up filters."""
        if self.work:
            self.work.run_until(cycle)
        self._streams_known(cycle)
        self.drain.catch_up(cycle)


@dataclass(frozen=True)
class Begin:
    """First cycles of a pass: in which PEs can multiply, those of each column and all, in which SUPERs can finish sums,
    in which filter and depthwise stream can send."""

    columns: list[int]
    work: int
    finish: int
    filters: int
    depthwise: int
