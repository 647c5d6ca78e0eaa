# SPDX-License-Identifier: Apache-2.0
"""Coded constants: LOADs of constants that become shorter bring coded words, which the DMA decodes.

All LOADs of a constant area have one code. LOADs that always come one behind the other are a chain, which begins with
the table of its code. Coded words take the place of the area's words, so that no other address changes.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import itemgetter

import numpy as np

from eyrie.compiler.codes.choice import best, entropy_bits, histogram
from eyrie.compiler.codes.encode import coded_bits, encode
from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.schedule import Schedule
from eyrie.compiler.ir.program import Command, Transfer
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.weight_codes import WeightCode, in_beats
from eyrie.model.word import WORD_BITS

WORTH = 0.99  # of the words that LOADs bring: coded ones are at most so many
SLOWER = 1.001  # times the cycles without codes, predicted: a program that takes more is not coded
Key = tuple[int, int]  # first word in the area, and words
Chain = list[Key]
_Load = tuple[int, Key]  # number of the area, and the key


@dataclass
class CodedArea:
    """A constant area: its words as they are, and the LOADs of it by their numbers in the command list."""

    name: str
    address: int
    words: np.ndarray
    loads: dict[int, Key] = field(default_factory=dict)
    plain: bool = False  # a LOAD brings more than the area, or cannot be coded
    code: WeightCode | None = None
    chains: list[tuple[Chain, list[np.ndarray]]] = field(default_factory=list)  # coded; the first words with the table
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
        """Return the coded words that all LOADs bring, with tables."""
        coded = {key: words.size for chain in self.chains for key, words in zip(*chain, strict=True)}
        return sum(coded[key] for key in self.loads.values())

    @property
    def least(self) -> float:
        """Return the words that all LOADs bring at least if they are coded."""
        assert self.code
        return self.loaded * coded_bits(self.code, self.weights) / (WORD_BITS * self.words.size)

    @property
    def worth(self) -> bool:
        """Return whether the words are coded, fewer, and have room in the area."""
        stored = sum(words.size for _, parts in self.chains for words in parts)
        return 0 < stored <= self.words.size and self.coded_words <= WORTH * self.loaded

    def encode(self, chains: list[Chain], beat_words: int) -> None:
        """Code all chains, if each of them can be coded."""
        assert self.code
        if chains == [chain for chain, _ in self.chains]:
            return
        self.chains = []
        for chain in chains:
            parts = encode(self.code, [self.words[first:][:words].view(np.int8) for first, words in chain], beat_words)
            if parts is None:
                self.chains = []
                return
            parts[0] = np.concatenate([in_beats(self.code.table, beat_words), parts[0]])
            self.chains.append((chain, parts))

    def __str__(self) -> str:
        if not self.chains:
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
            area.code = best(area.weights)
    chosen = [area for area in areas if area.code and area.least <= WORTH * area.loaded]
    rejected = True
    while rejected:  # without the LOADs of an area, chains of others are longer
        for area, chains in zip(chosen, _chains(chosen), strict=True):
            area.encode(chains, config.bus_words)
        rejected = not all(area.worth for area in chosen)
        chosen = [area for area in chosen if area.worth]
    dram, commands = copy(schedule.dram), list[Command](schedule.commands)
    dram.parts = [part for part in dram.parts if part[0] not in {area.address for area in chosen}]
    for area in chosen:
        area.used = True
        _place(area, commands, dram)
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


def _chains(areas: list[CodedArea]) -> list[list[Chain]]:
    """Return the chains of each area. A LOAD goes on in a chain if it always comes behind the same LOAD of its area,
    and no other one comes behind that."""
    loads = sorted((number, n, key) for n, area in enumerate(areas) for number, key in area.loads.items())
    order = [(n, key) for _, n, key in loads]
    before, behind = defaultdict[_Load, set[_Load | None]](set), defaultdict[_Load, set[_Load]](set)
    for last, load in pairwise([None, *order]):
        assert load
        joined = last if last and last[0] == load[0] else None
        before[load].add(joined)
        if joined:
            behind[joined].add(load)
    chains, chain_of = [list[Chain]() for _ in areas], dict[_Load, Chain]()
    for load, (last, *others) in before.items():
        if last and not others and behind[last] == {load}:
            chain_of[load] = chain_of[last]
        else:
            chains[load[0]].append([])
            chain_of[load] = chains[load[0]][-1]
        chain_of[load].append(load[1])
    return chains


def _place(area: CodedArea, commands: list[Command], dram: DramLayout) -> None:
    """Put coded words into DRAM, chain by chain, and let the LOADs bring them."""
    places, at = dict[Key, tuple[int, int, bool]](), area.address
    for chain, parts in area.chains:
        for number, (key, words) in enumerate(zip(chain, parts, strict=True)):
            places[key] = at, words.size, number == 0
            at += words.nbytes
    dram.parts.append((area.address, np.concatenate([words for _, parts in area.chains for words in parts])))
    for number, key in area.loads.items():
        command, (address, size, table) = commands[number], places[key]
        assert isinstance(command, Transfer)
        commands[number] = replace(command, dram_address=address, coded=size, table=table)
