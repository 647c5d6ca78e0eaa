# SPDX-License-Identifier: Apache-2.0
"""The command list as it grows: who touched each GLB word last, and hence what a command has to wait for."""

import numpy as np

from compiler.ir.buffer import Region
from compiler.ir.feature_map import FeatureMap
from compiler.ir.program import Command, Config, Run, Transfer
from model.config import MachineConfig
from model.descriptor import Descriptor


class Timeline:
    """Appends commands in serial order and works out their tokens.

    For each GLB word the last pass that read or wrote it, the last that wrote it, and the last
    transfer that touched it are known (counts from 1; 0: none).
    """

    def __init__(self, machine: MachineConfig) -> None:
        self.machine = machine
        self.commands: list[Command] = []
        self.passes = self.transfers = self.chunks = 0
        self._touched = np.zeros(machine.glb_words, np.int64)
        self._written = np.zeros(machine.glb_words, np.int64)
        self._moved = np.zeros(machine.glb_words, np.int64)
        self._shadow = Descriptor()

    def load(self, dram: int, glb: int, words: int) -> None:
        where = slice(glb, glb + words)
        # Transfers are done in order: only passes have to be waited for.
        self._transfer(Transfer(True, dram, glb, words, int(self._touched[where].max())))

    def load_chunk(self, dram: int, glb: int, words: int, freed: int) -> None:
        """A filter chunk, into ring space that is free once `freed` chunks have been freed; the
        first round of a ring (0) waits for whatever was there before."""
        wait = 0 if freed else int(self._touched[glb : glb + words].max())
        self._transfer(Transfer(True, dram, glb, words, wait, freed, chunk=True))
        self.chunks += 1

    def store(self, dram: int, glb: int, words: int) -> None:
        self._transfer(Transfer(False, dram, glb, words, int(self._written[glb : glb + words].max())))

    def _transfer(self, transfer: Transfer) -> None:
        self.commands.append(transfer)
        self.transfers += 1
        self._moved[transfer.glb_address : transfer.glb_address + transfer.words] = self.transfers

    def fresh(self, region: Region) -> Region:
        """The part of a region that the last pass has written, which only an ifmap stream can wait for."""
        return [(a, n) for a, n in region if n and self.passes and self._written[a : a + n].max() == self.passes]

    def run(self, descriptor: Descriptor, ifmap: Region, resident: Region, written: Region, ring: Region) -> None:
        """A pass: the changed words of its descriptor, then the pass.

        ifmap, resident: words read, of the resident ones none that is fresh; written: ofmap words; ring: filter ring,
        whose words come with chunk tokens.
        """
        for index, words in _runs(descriptor.changes(self._shadow)):
            self.commands.append(Config(index, words))
        self._shadow = descriptor
        wait_transfers = max((int(self._moved[a : a + n].max()) for a, n in ifmap + resident + written if n), default=0)
        wait_passes = max((int(self._written[a : a + n].max()) for a, n in ifmap if n), default=0)
        self.commands.append(Run(wait_transfers, wait_passes))
        self.passes += 1
        for a, n in ifmap + resident + written + ring:
            self._touched[a : a + n] = self.passes
        for a, n in written:
            self._written[a : a + n] = self.passes


AHEAD = 3  # passes that loads are listed before the one that needs them


def hoist_loads(commands: list[Command]) -> list[Command]:
    """Lists transfers as early as their tokens and their order allow, at most AHEAD passes.

    A load that waits for pass p goes behind pass p + 1 (counted from 1): until p is done no pass behind p + 1 can be
    taken, so that nothing is held up by a full transfer queue. Stores, and chunks that wait for others
    to be freed, stay behind the pass whose work they need.
    """
    before: list[list[Command]] = [[]]  # what is listed before pass 1, 2, ...
    passes: list[list[Command]] = []
    waiting: list[Command] = []  # CONFIG words of the next pass
    floor = 0
    for command in commands:
        if isinstance(command, Transfer):
            here = len(passes)
            free = command.load and not command.wait_chunks
            wanted = max(command.wait_passes + 1, here - AHEAD) if free else here
            if command.wait_passes == 0 and free:
                wanted = max(0, here - AHEAD)
            floor = max(floor, min(wanted, here))
            before[floor].append(command)
        elif isinstance(command, Run):
            passes.append([*waiting, command])
            before.append([])
            waiting = []
        else:
            waiting.append(command)
    out: list[Command] = []
    for transfers, run in zip(before, [*passes, []]):
        out += transfers + run
    return out


def _runs(changes: dict[int, int]) -> list[tuple[int, tuple[int, ...]]]:
    """Changed words as runs of neighbours."""
    runs: list[tuple[int, list[int]]] = []
    for index in sorted(changes):
        if runs and index == runs[-1][0] + len(runs[-1][1]):
            runs[-1][1].append(changes[index])
        else:
            runs.append((index, [changes[index]]))
    return [(index, tuple(words)) for index, words in runs]


def rows_region(feature_map: FeatureMap, first: int, last: int) -> Region:
    """The words of rows first to last - 1 (clipped to the map); all of them where there are several images."""
    if feature_map.images > 1:
        return [(feature_map.address, feature_map.words)]
    rows = range(max(0, first), min(feature_map.rows, last))
    if not feature_map.planar:
        return [(feature_map.row_address(y), feature_map.row_words) for y in rows]
    if len(rows) == feature_map.ring_rows:
        return [(feature_map.address, feature_map.words)]
    return [(feature_map.row_address(y) + group * feature_map.group_step, feature_map.pitch)
            for y in rows for group in range(feature_map.groups)]
