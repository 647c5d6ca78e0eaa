# SPDX-License-Identifier: Apache-2.0
"""The recorded events of a run on the RTL (runtime/soc/event_recorder.sv)."""

from enum import IntEnum
from pathlib import Path

import numpy as np

from eyrie.model.encoding import Counter
from eyrie.model.errors import InputError

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


_EVENTS = (Source.PASS_BEGINS, Source.COLUMNS)  # the sources between are events, all others are states


class Events:
    """The events of a run, by source. A run that a reset or the end of the simulation cut off ends there."""

    def __init__(self, records: np.ndarray) -> None:
        """records: [N, 3]: cycle, source and value of each, of one run"""
        records = records.astype(np.int64)
        records = np.concatenate([records, _closing(records)])
        self._records = records[np.lexsort((records[:, 0], records[:, 1]))]
        self.cycles = int(self.of(Source.RUN)[0][-1])

    @classmethod
    def read(cls, path: Path) -> "Events":
        """Return the first run of a file. Raise InputError, with one line, if the file has no run."""
        numbers = np.fromfile(path, np.uint32)
        records = numbers[: len(numbers) // 3 * 3].reshape(-1, 3)
        begins = np.flatnonzero((records[:, 1] == Source.RUN) & (records[:, 2] == 1))
        if not begins.size:
            raise InputError("the accelerator starts no run: a trace has the first one")
        end = begins[1] if begins.size > 1 else len(records)
        while begins.size > 1 and records[end - 1, 0] == 0:  # other records of the second run's first cycle
            end -= 1
        return cls(records[:end])

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


def _closing(records: np.ndarray) -> np.ndarray:
    """Return the records that end the open states of a run that was cut off."""
    backwards = records[::-1]
    sources, places = np.unique(backwards[:, 1], return_index=True)
    event = (sources >= _EVENTS[0]) & (sources < _EVENTS[1])
    last = backwards[places][~event]
    left = last[last[:, 2] != 0]
    left[:, 0], left[:, 2] = records[:, 0].max() + (Source.RUN in left[:, 1]), 0
    return left
