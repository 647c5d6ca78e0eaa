# SPDX-License-Identifier: Apache-2.0
"""The work of a network as it grows: who touched each GLB word last, and hence what a command has to wait for."""

from collections import defaultdict
from dataclasses import replace
from math import prod

import numpy as np

from eyrie.compiler.emit.order import Move, Work, listed
from eyrie.compiler.ir.buffer import Region
from eyrie.compiler.ir.feature_map import FeatureMap, PartMap
from eyrie.compiler.ir.program import Block, Command, Transfer, runs_of_words
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Stream

PIECE_WORDS = 512  # of a load: others may go in between
PAGE_BYTES = 4096  # of DRAM, by which stores are found again


class Timeline:
    """Takes transfers and passes in serial order, works out what each waits for, and lists them as the port is used
    best (emit/order.py).

    For each GLB word the last pass that read or wrote it, the last that wrote it, the last transfer that touched it
    and the last filter chunk that came there are known (counts from 1; 0: none).
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self.moves: list[Move] = []
        self.works: list[Work] = []
        self._chunks: list[int] = []  # transfers that bring them
        # By DRAM page: addresses, first and behind the last, and the transfer.
        self._stored: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._touched = np.zeros(config.glb_words, np.int64)
        self._written = np.zeros(config.glb_words, np.int64)
        self._moved = np.zeros(config.glb_words, np.int64)
        self._chunk = np.zeros(config.glb_words, np.int64)
        self._shadow = Descriptor()

    def load(self, dram: int, glb: int, words: int, block: Block | None = None) -> None:
        """Load words, or a block of one plane, in pieces, which need not come one behind the other."""
        if not block:
            for first in range(0, words, PIECE_WORDS):
                self._load(dram + first * GLB_WORD_BYTES, glb + first, min(PIECE_WORDS, words - first))
            return
        most = max(PIECE_WORDS // words, 1)
        for first in range(0, block.rows, most):
            piece = replace(block, rows=min(most, block.rows - first))
            self._load(dram + first * block.row_dram, glb + first * block.row_glb, words, block=piece)

    def load_chunk(self, dram: int, glb: int, words: int) -> None:
        """A filter chunk: those of all passes come in the order in which they are used."""
        self._load(dram, glb, words, chunk=True)
        self._chunks.append(len(self.moves))
        self._chunk[glb : glb + words] = len(self._chunks)

    def _load(self, dram: int, glb: int, words: int, chunk: bool = False, block: Block | None = None) -> None:
        transfer = Transfer(True, dram, glb, words, chunk=chunk, block=block)
        begin, end = transfer.dram_range
        after = {
            number
            for page in _pages(begin, end)
            if page in self._stored
            for first, last, number in self._stored[page]
            if first < end and last > begin
        }
        if chunk and self._chunks:
            after.add(self._chunks[-1])
        # A chunk that has been freed is used no more: nothing waits for its pass.
        where = _glb(transfer)
        touched, freed = int(self._touched[where].max()), int(self._chunk[where].max())
        self._transfer(replace(transfer, wait_passes=touched, wait_chunks=freed), after)

    def store(self, dram: int, glb: int, words: int, block: Block | None = None) -> None:
        """Store words, or a block of one plane."""
        transfer = Transfer(False, dram, glb, words, block=block)
        self._transfer(replace(transfer, wait_passes=int(self._written[_glb(transfer)].max())), set())
        begin, end = transfer.dram_range
        for page in _pages(begin, end):
            self._stored[page].append((begin, end, len(self.moves)))

    def _transfer(self, transfer: Transfer, after: set[int]) -> None:
        where = _glb(transfer)
        after |= _numbers(self._moved[where])
        self.moves.append(Move(transfer, tuple(after)))
        self._moved[where] = len(self.moves)

    def fresh(self, region: Region) -> int | None:
        """The first word of a region that the last pass has written, which only an ifmap stream can wait for."""
        last = len(self.works)
        return next(
            (
                a + int(self._written[a : a + n].argmax())
                for a, n in region
                if n and last and self._written[a : a + n].max() == last
            ),
            None,
        )

    def run(
        self, descriptor: Descriptor, ifmap: Region, resident: Region, written: Region, ring: Region, cycles: int = 0
    ) -> None:
        """A pass: the changed words of its descriptor, then the pass.

        ifmap, resident: words read, of the resident ones none that is fresh; written: ofmap words; ring: filters whose
        words come, or have come, with chunk tokens; cycles: estimate.
        """
        shadow, self._shadow = self._shadow, descriptor.following(self._shadow)
        configs = runs_of_words(self._shadow.changes(shadow))
        touched = [slice(a, a + n) for a, n in ifmap + resident + written if n]
        needs = _numbers(np.concatenate([self._moved[where] for where in touched]))
        wait_passes = max((int(self._written[a : a + n].max()) for a, n in ifmap if n), default=0)
        chunks = _chunks(descriptor)
        self.works.append(Work(configs, tuple(needs), wait_passes, cycles, *chunks))
        if not chunks[0]:
            touched += [slice(a, a + n) for a, n in ring]
        for where in touched:
            self._touched[where] = len(self.works)
        for a, n in written:
            self._written[a : a + n] = len(self.works)

    def commands(self) -> list[Command]:
        """The list, without END."""
        return listed(self.moves, self.works, self.config)


def _glb(transfer: Transfer) -> slice | np.ndarray:
    """Return the words of the GLB that a transfer moves."""
    block, first = transfer.block, transfer.glb_address
    if not block:
        return slice(first, first + transfer.words)
    return (first + block.row_glb * np.arange(block.rows)[:, None] + np.arange(transfer.words)).reshape(-1)


def _pages(dram: int, end: int) -> range:
    """DRAM pages from an address to before another."""
    return range(dram // PAGE_BYTES, (end - 1) // PAGE_BYTES + 1)


def _numbers(found: np.ndarray) -> set[int]:
    """Those in an array that are not 0."""
    return set(found[np.flatnonzero(np.diff(found, append=0))].tolist()) - {0}


def _chunks(descriptor: Descriptor) -> tuple[int, int, int]:
    """Filter chunks for which a pass waits: tiles, chunks of a tile, and how often inner blocks use each."""
    program = descriptor.stream(Stream.FILTER)
    if not program.options["enable"] or not program.options["chunk"]:
        return 0, 0, 0
    level, counts = program.options["chunk_level"], [each.count for each in program.levels]
    return prod(counts[level + 2 :]), counts[level], counts[level + 1]


def rows_region(feature_map: FeatureMap, first: int, last: int) -> Region:
    """The words of rows first to last - 1 (clipped to the map); all of them where there are several images."""
    if feature_map.images > 1:
        return [(feature_map.address, feature_map.words)]
    rows = range(max(0, first), min(feature_map.rows, last))
    strip = isinstance(feature_map, PartMap) and feature_map.used_words < feature_map.pitch
    if not feature_map.planar and not strip:
        return [(feature_map.row_address(y), feature_map.row_words) for y in rows]
    if len(rows) == feature_map.ring_rows and not strip:
        return [(feature_map.address, feature_map.words)]
    words = feature_map.used_words if strip else feature_map.pitch
    return [
        (feature_map.row_address(y) + group * feature_map.group_step, words)
        for y in rows
        for group in range(feature_map.groups)
    ]
