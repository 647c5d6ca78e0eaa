# SPDX-License-Identifier: Apache-2.0
"""The recorded events of a run on the RTL (runtime/soc/event_recorder.sv)."""

from enum import IntEnum
from pathlib import Path

import numpy as np

from eyrie.model.encoding import Counter

_FIRST = len(Counter)  # sources before it are counters


class Source(IntEnum):
    """The sources beside the counters, in the order of source_e in event_recorder.sv."""

    RUN = _FIRST
    COMMAND = _FIRST + 1
    STREAMS = _FIRST + 2
    PASS_BEGINS = _FIRST + 3
    PASS_ENDS = _FIRST + 4
    TRANSFER_BEGINS = _FIRST + 5
    TRANSFER_ENDS = _FIRST + 6
    READ_ISSUE = _FIRST + 7
    READ_BEGINS = _FIRST + 8
    READ_ENDS = _FIRST + 9
    WRITE_ISSUE = _FIRST + 10
    WRITE_BEGINS = _FIRST + 11
    WRITE_ENDS = _FIRST + 12
    COLUMNS = _FIRST + 13  # of the first column; the others follow


class Events:
    """The events of a run, by source."""

    def __init__(self, records: np.ndarray) -> None:
        """records: [N, 3]: cycle, source and value of each"""
        order = np.lexsort((records[:, 0], records[:, 1]))
        self._records = records[order].astype(np.int64)
        self.cycles = int(self.of(Source.RUN)[0][-1])

    @classmethod
    def read(cls, path: Path) -> "Events":
        return cls(np.fromfile(path, np.uint32).reshape(-1, 3))

    def of(self, source: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the cycles and the values of a source's records."""
        first, last = np.searchsorted(self._records[:, 1], [source, source + 1])
        return self._records[first:last, 0], self._records[first:last, 2]

    def intervals(self, source: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return first cycles, cycles after the last, and values of the intervals in which a state is not 0."""
        cycles, values = self.of(source)
        [places] = np.nonzero(values)
        return cycles[places], cycles[places + 1], values[places]

    def total(self, source: int, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the sums of a state over intervals; `ends` has the cycles after the last ones."""
        cycles, values = (np.concatenate([[0], each]) for each in self.of(source))
        sums = np.concatenate([[0], np.cumsum(np.diff(cycles) * values[:-1])])

        def until(ends: np.ndarray) -> np.ndarray:
            places = np.searchsorted(cycles, ends, "right") - 1
            return sums[places] + (ends - cycles[places]) * values[places]

        return until(ends) - until(begins)
