# SPDX-License-Identifier: Apache-2.0
"""Checks of commands that people write: run them on the functional simulator and watch each read."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from math import prod

import numpy as np

from eyrie.compiler.emit.accesses import StreamWords
from eyrie.compiler.ir.program import Command, Config, Run
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Stream
from eyrie.model.errors import InputError
from eyrie.model.functional_simulator import FunctionalSimulator

MOST_POSITIONS = 1 << 22  # limit of the positions of a stream, which the simulator holds at once

Range = tuple[int, int]  # DRAM addresses: first byte, end


class Rejected(InputError):
    """An illegal access of the command at a DRAM address."""

    def __init__(self, address: int, reason: str) -> None:
        super().__init__(reason)
        self.address = address


class Watched(FunctionalSimulator):
    """A functional simulator that checks the commands in `watched` (DRAM addresses).

    A watched command may only read words that a watched command or a tensor has written, and may only store to tensors.
    Otherwise raise Rejected.

    there: DRAM ranges that have values before the program; tensors: DRAM ranges that a program may store to
    """

    def __init__(
        self,
        dram: np.ndarray,
        config: AcceleratorConfig,
        watched: set[int],
        there: Iterable[Range],
        tensors: Iterable[Range],
    ) -> None:
        super().__init__(dram, config)
        self._watched, self._streams = watched, StreamWords(config)
        self._inside = np.zeros(config.glb_words + 1, bool)
        self._outside, self._tensors = (_mask(ranges, len(dram)) for ranges in (there, tensors))

    @property
    def pass_command(self) -> int:
        """Return the DRAM address of the last PASS."""
        return self._pass_command

    def missing(self, first: int, end: int) -> int | None:
        """Return the first DRAM address of a range that has no value, None if all have one."""
        there = self._outside[first // GLB_WORD_BYTES : end // GLB_WORD_BYTES]
        return None if there.all() else first + int(there.argmin()) * GLB_WORD_BYTES

    def _move(self, command: int, load: bool, dram: int, glb: int, words: int) -> None:
        super()._move(command, load, dram, glb, words)
        outside = slice(dram // GLB_WORD_BYTES, dram // GLB_WORD_BYTES + words)
        inside = slice(glb, glb + words)
        first = self.missing(dram, dram + words * GLB_WORD_BYTES)
        if command in self._watched and load and first is not None:
            raise Rejected(command, f"loads DRAM 0x{first:08x}, which has no value: load declared or stored data")
        if command in self._watched and not load:
            self._need(command, np.arange(glb, glb + words), "stores")
            if not self._tensors[outside].all():
                first = dram + int(self._tensors[outside].argmin()) * GLB_WORD_BYTES
                raise Rejected(command, f"stores to DRAM 0x{first:08x}, which is in no tensor: declare one with tensor")
        if load:
            self._inside[inside] = command in self._watched
        else:
            self._outside[outside] = True

    def _need(self, command: int, words: np.ndarray, does: str) -> None:
        missing = words[~self._inside[words]]
        if missing.size:
            raise Rejected(
                command,
                f"{does} GLB word {missing[0]}, which has no value: load it, or write it in an earlier pass",
            )

    def _execute(self, descriptor: Descriptor) -> Generator[None, None, None]:
        yield from super()._execute(descriptor)
        watched = self._pass_command in self._watched
        for stream in Stream if watched else ():
            if stream != Stream.OFMAP and descriptor.uses(stream):
                self._need(
                    self._pass_command,
                    self._streams.words(descriptor, stream),
                    f"its {stream.name.lower()} stream reads",
                )
        if descriptor.uses(Stream.OFMAP):
            self._inside[self._streams.words(descriptor, Stream.OFMAP)] = watched


def _mask(ranges: Iterable[Range], size: int) -> np.ndarray:
    """Return bool [words of DRAM]: whether a word lies in one of the ranges."""
    mask = np.zeros(-(-size // GLB_WORD_BYTES), bool)
    for first, end in ranges:
        mask[first // GLB_WORD_BYTES : -(-end // GLB_WORD_BYTES)] = True
    return mask


def check_streams(commands: list[Command], watched: set[int]) -> None:
    """Check the streams of the passes in `watched`.

    Raise Rejected, with the number of the command in place of its address, if a stream is longer than the simulator
    supports or a descriptor cannot be read.
    """
    shadow = Descriptor()
    for number, command in enumerate(commands):
        if isinstance(command, Config):
            shadow.words[command.index : command.index + len(command.words)] = command.words
        elif isinstance(command, Run) and number in watched:
            for stream in (stream for stream in Stream if shadow.uses(stream)):
                try:
                    length = prod(level.count for level in shadow.stream(stream).levels)
                except InputError as error:
                    raise Rejected(number, f"its {stream.name.lower()} stream: {error}") from None
                if length > MOST_POSITIONS:
                    raise Rejected(
                        number,
                        f"its {stream.name.lower()} stream has {length} positions, {MOST_POSITIONS} "
                        "are checked: make several passes of it",
                    )
