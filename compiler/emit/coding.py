# SPDX-License-Identifier: Apache-2.0
"""Coded constants: LOADs of constants that become shorter bring coded words, which the DMA decodes.

All LOADs of a constant area have one code. A LOAD behind one of another area begins with the table of its code, which
lies in front of its words. Coded words take the place of the area's words, so that no other address changes.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from copy import copy
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np

from eyrie.compiler.codes.choice import best, entropy_bits, histogram
from eyrie.compiler.codes.encode import encode
from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.schedule import Schedule
from eyrie.compiler.ir.program import Command, Transfer
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.weight_codes import WeightCode, in_beats

WORTH = 0.99  # of the words that LOADs bring: coded ones are at most so many
SLOWER = 1.001  # times the cycles without codes, predicted: a program that takes more is not coded
Key = tuple[int, int]  # first word in the area, and words


@dataclass
class CodedArea:
    """A constant area: its words as they are, and the LOADs of it by their numbers in the command list."""

    name: str
    address: int
    words: np.ndarray
    loads: dict[int, Key] = field(default_factory=dict)
    plain: bool = False  # a LOAD brings more than the area, or cannot be coded
    coded: dict[Key, np.ndarray] = field(default_factory=dict)
    code: WeightCode | None = None
    table: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    used: bool = False  # LOADs bring coded words

    @property
    def weights(self) -> np.ndarray:
        return self.words.view(np.int8)

    @property
    def loaded(self) -> int:
        """Return the words that all LOADs bring."""
        return sum(words for _, words in self.loads.values())

    @property
    def coded_words(self) -> int:
        """Return the coded words that all LOADs bring, without tables."""
        return sum(self.coded[key].size for key in self.loads.values())

    def encode(self, beat_words: int) -> None:
        """Code the words of all LOADs, each key once."""
        self.code = best(self.weights)
        self.table = in_beats(self.code.table, beat_words)
        by_length = defaultdict(list)
        for first, words in dict.fromkeys(self.loads.values()):
            by_length[words].append(first)
        for words, firsts in by_length.items():
            parts = np.stack([self.words[first : first + words] for first in firsts]).view(np.int8)
            for first, coded in zip(firsts, encode(self.code, parts, beat_words), strict=True):
                self.coded[first, words] = coded

    def is_worth(self, tables: set[int]) -> bool:
        """Return whether coded words are fewer, and have room in the area. tables: LOADs that begin with a table"""
        numbers = tables & self.loads.keys()
        stored = sum(words.size for words in self.coded.values())
        stored += self.table.size * len({self.loads[number] for number in numbers})
        loaded = self.coded_words + self.table.size * len(numbers)
        return stored <= self.words.size and loaded <= WORTH * self.loaded

    def __str__(self) -> str:
        if not self.code:
            return f"{self.name:20} {self.loaded:8} words, not coded"
        entropy = 8 * self.weights.size / max(entropy_bits(histogram(self.weights)), 1)
        return (
            f"{self.name:20} {self.loaded:8} words, coded {self.coded_words:8}, ratio "
            f"{self.loaded / self.coded_words:.3f} of {entropy:.3f}{'' if self.used else ', not worth it'}"
        )


def coded(schedule: Schedule, config: AcceleratorConfig) -> tuple[Schedule, list[CodedArea]]:
    """Return the schedule with coded constants, and the constant areas, of which those with a code are coded."""
    areas = _areas(schedule)
    for area in areas:
        if area.loads and not area.plain:
            area.encode(config.bus_words)
    chosen = [area for area in areas if area.code and area.is_worth(set())]
    tables = _with_tables(chosen)
    while not all(area.is_worth(tables) for area in chosen):
        chosen = [area for area in chosen if area.is_worth(tables)]
        tables = _with_tables(chosen)
    dram, commands = copy(schedule.dram), list[Command](schedule.commands)
    dram.parts = [part for part in dram.parts if part[0] not in {area.address for area in chosen}]
    for area in chosen:
        area.used = True
        _place(area, tables, commands, dram)
    return replace(schedule, commands=commands, dram=dram), areas


def _areas(schedule: Schedule) -> list[CodedArea]:
    """Return the constant areas with their LOADs."""
    names = {address: name for name, (address, _) in schedule.dram.areas.items()}
    areas = [
        CodedArea(names[address], address, words) for address, words in sorted(schedule.dram.parts, key=itemgetter(0))
    ]
    starts = [area.address for area in areas]
    for number, command in enumerate(schedule.commands):
        if isinstance(command, Transfer):
            begin, end = command.dram_range
            for place in range(max(bisect_right(starts, begin) - 1, 0), bisect_left(starts, end)):
                area = areas[place]
                if begin < area.address + area.words.nbytes:
                    area.loads[number] = (begin - area.address) // GLB_WORD_BYTES, command.words
                    inside = area.address <= begin and end <= area.address + area.words.nbytes
                    area.plain |= not (inside and command.load) or bool(command.block or command.glb_address % 2)
    return areas


def _with_tables(areas: list[CodedArea]) -> set[int]:
    """Return the numbers of the LOADs that begin with a table: those behind a LOAD of another area."""
    order = sorted((number, n) for n, area in enumerate(areas) for number in area.loads)
    before = [None, *(n for _, n in order)]
    return {number for (number, n), last in zip(order, before) if n != last}


def _place(area: CodedArea, tables: set[int], commands: list[Command], dram: DramLayout) -> None:
    """Put coded words into DRAM, in the order of the LOADs, and let the LOADs bring them."""
    table = area.table
    begin = {key for number, key in area.loads.items() if number in tables}
    places, parts, at = dict[Key, int](), list[np.ndarray](), 0
    for key in dict.fromkeys(area.loads.values()):
        parts += [table, area.coded[key]] if key in begin else [area.coded[key]]
        places[key] = at + (table.size if key in begin else 0)
        at = places[key] + area.coded[key].size
    dram.parts.append((area.address, np.concatenate(parts)))
    for number, key in area.loads.items():
        with_table, command = number in tables, commands[number]
        assert isinstance(command, Transfer)
        before = table.size if with_table else 0
        commands[number] = replace(
            command,
            dram_address=area.address + (places[key] - before) * GLB_WORD_BYTES,
            coded=area.coded[key].size + before,
            table=with_table,
        )
