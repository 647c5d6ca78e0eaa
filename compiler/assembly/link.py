# SPDX-License-Identifier: Apache-2.0
"""The linker: joins blocks into one command list, one DRAM image and one descriptor state.

A block begins when all earlier blocks are done. Its wait counts are relative to the block, so the linker adds the work
of the earlier blocks to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from eyrie.compiler.assembly.commands import Parser, command_text
from eyrie.compiler.assembly.lexer import AssemblyError, Item, Statement
from eyrie.compiler.assembly.source import MOVES, Commands, Source
from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.image import PROGRAM, buffer_entries, image_of, step_entries
from eyrie.compiler.emit.schedule import Place, Schedule
from eyrie.compiler.ir.graph import map_shape
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageBuffer, ImageStep
from eyrie.compiler.ir.maps import Map, map_of, upright
from eyrie.compiler.ir.program import Command, Config, End, Run, Transfer
from eyrie.model import encoding as enc
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.messages import unknown

BY_HAND = "by hand"  # the way of steps of commands


@dataclass
class Linker:
    """The program as blocks are added.

    places: the place in the source of a command, by its number; maps: the DRAM addresses and layouts of tensors
    """

    source: Source
    commands: list[Command] = field(default_factory=list)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    maps: dict[str, Place] = field(default_factory=dict)
    steps: list[ImageStep] = field(default_factory=list)
    buffers: list[ImageBuffer] = field(default_factory=list)
    dram: DramLayout = field(default_factory=DramLayout)
    _shadow: list[int] = field(default_factory=lambda: [0] * enc.CONFIG_WORDS)
    _by_hand: bool = False  # the block before
    _blocks: int = 0
    _transfers: int = 0
    _passes: int = 0
    _chunks: int = 0
    _data: dict[str, int] = field(default_factory=dict)

    # ---- Blocks ----

    def take_layers(self, schedule: Schedule, ends: dict[str, Map], place: tuple[int, int]) -> None:
        """Add a block of layers that the compiler has planned. ends: feature maps, by output.

        Raise AssemblyError if a tensor has another layout than in an earlier block.
        """
        self._blocks += 1
        names = {map_.name: name for name, map_ in ends.items()}
        shared = {
            end.address: self._place(names.get(end.map.name, end.map.name), end.map, place)
            for end in (*schedule.inputs, *schedule.outputs)
        }
        for name, map_ in ends.items():
            self.maps.setdefault(name, self.maps[names[map_.name]])
        moved = {}  # areas of the block, by their addresses there
        contents = dict(schedule.dram.parts)
        for name, (address, size) in schedule.dram.areas.items():
            if name == PROGRAM:
                continue
            if address in shared:
                moved[address, address + size] = shared[address]
                continue
            at = self.dram.area(self._numbered(name), size // GLB_WORD_BYTES)
            moved[address, address + size] = at
            if address in contents:
                self.dram.parts.append((at, contents[address]))
        self._take_steps(schedule)
        self._reset()
        self._take((_moved(command, moved), None) for command in schedule.commands if not isinstance(command, End))
        self._by_hand = False

    def take_commands(self, block: Commands) -> None:
        """Add a block of commands. Raise AssemblyError."""
        dram = self._symbols(block)
        glb = {name: address for name, (address, _) in self.source.buffers.items()}
        parser = Parser(dram, glb)
        for line in block.lines:
            parser.take(self._expanded(line) if line.keyword in MOVES else line)
        if not self._by_hand:
            self._reset()
        before, self._by_hand = self._passes, True
        self._take(zip(parser.commands, parser.places))
        if self._passes > before:
            self.steps.append(step_by_hand(f"line{block.lines[0].place[0]}", range(before, self._passes)))

    def _take(self, commands: Iterator[tuple[Command, tuple[int, int] | None]]) -> None:
        """Add the commands of a block, and add the earlier work to their wait counts."""
        transfers, passes, chunks = self._transfers, self._passes, self._chunks
        for command, place in commands:
            if isinstance(command, Run):
                self._passes += 1
                command = Run(command.wait_transfers + transfers, command.wait_passes + passes)
            elif isinstance(command, Transfer):
                self._transfers += 1
                self._chunks += command.chunk
                freed = command.wait_chunks and command.wait_chunks + chunks
                command = replace(command, wait_passes=command.wait_passes + passes, wait_chunks=freed)
            elif isinstance(command, Config):
                self._shadow[command.index : command.index + len(command.words)] = command.words
            if place:
                self.places[len(self.commands)] = place
            self.commands.append(command)

    def _reset(self) -> None:
        """Write zeros into the descriptor, because a block assumes that all words are 0."""
        index = 0
        while index < enc.CONFIG_WORDS:
            last = index
            while last < enc.CONFIG_WORDS and self._shadow[last]:
                last += 1
            if last > index:
                self.commands.append(Config(index, (0,) * (last - index)))
            index = last + 1
        self._shadow = [0] * enc.CONFIG_WORDS

    def _take_steps(self, schedule: Schedule) -> None:
        """Add the steps and buffers of the block, with the numbers of its passes in the whole program."""
        for step in step_entries(schedule):
            passes = tuple(self._passes + number for number in step.passes)
            self.steps.append(replace(step, name=self._numbered(step.name), passes=passes))
        for buffer in buffer_entries(schedule):
            first, last = (half + 2 * self._passes for half in (buffer.first, buffer.last))
            self.buffers.append(replace(buffer, name=self._numbered(buffer.name), first=first, last=last))

    # ---- Places ----

    def _numbered(self, name: str) -> str:
        """Return the name of a step, a buffer or an area: from the second block on, it begins with the block's
        number."""
        return name if self._blocks == 1 else f"{self._blocks}:{name}"

    def _place(self, name: str, map_: Map, where: tuple[int, int]) -> int:
        """Return the DRAM address of a tensor. Raise AssemblyError."""
        found = self.maps.get(name)
        if found is None:
            found = self.maps[name] = Place(map_, self.dram.area(f"tensor.{name}", map_.layout.words))
        elif found.layout != map_.layout:
            raise AssemblyError(
                where,
                f"tensor {name} lies in DRAM otherwise for these lines than for those before: "
                "leave out the barrier, so that they are planned together",
            )
        return found.address

    def _symbols(self, block: Commands) -> dict[str, int]:
        """Return the DRAM addresses of the data and tensors that a block names."""
        found = {}
        for name in sorted(block.words):
            if name in self.source.data:
                if name not in self._data:
                    self._data[name] = self.dram.constant(f"data.{name}", self.source.data[name])
                found[name] = self._data[name]
            elif name in self.source.known.tensors:
                map_ = map_of(self.source.known.tensors[name])
                found[name] = self._place(name, map_, block.lines[0].place)
        return found

    def _expanded(self, line: Statement) -> Statement:
        """Return the transfer of all words for `fetch BUFFER DATA` or `send TENSOR BUFFER`. Raise AssemblyError."""
        loads, waits = MOVES[line.keyword], ("wait_passes", "wait_chunks", "chunk")
        line.expect(("BUFFER", "WHAT") if loads else ("TENSOR", "BUFFER"), waits if loads else waits[:1])
        buffer, what = line.unnamed if loads else line.unnamed[::-1]
        if buffer.text not in self.source.buffers:
            remedy = "declare it with buffer first"
            raise buffer.error(unknown("buffer", buffer.text, self.source.buffers, remedy=remedy))
        there = (*self.source.data, *self.source.known.tensors) if loads else (*self.source.known.tensors,)
        if what.text not in there:
            raise what.error(unknown("tensor" if not loads else "tensor or data", what.text, there))
        if what.text in self.source.data:
            words = self.source.data[what.text].size
        else:
            words = self.maps[what.text].layout.words
        room = self.source.buffers[buffer.text][1]
        if words > room:
            raise buffer.error(f"buffer {buffer.text} has {room} words, {what.text} takes {words}: make it larger")
        fields = {"dram": what.text, "glb": buffer.text, "words": str(words)}
        named = {name: Item(line.place, name, text) for name, text in fields.items()}
        return Statement(line.place, "load" if loads else "store", (), named | line.named)

    # ---- The whole ----

    def image(self) -> Image:
        """Return the image. Raise AssemblyError if the program has no pass."""
        if not self._passes:
            raise AssemblyError(self.source.last, "the program has no pass: add one, or a layer")
        for name, place in self.source.outputs.items():
            if name not in self.maps:
                raise AssemblyError(place, f"output {name} is not stored: store it, or leave it out")
        last = 2 * self._passes - 1
        named = [
            ImageBuffer(name, address * GLB_WORD_BYTES, words * GLB_WORD_BYTES, 0, last)
            for name, (address, words) in self.source.buffers.items()
        ]
        inputs = {name: self.maps[name] for name in self.source.inputs if name in self.maps}
        outputs = {name: (self.maps[name], self._shape(name)) for name in self.source.outputs}
        return image_of(
            [*self.commands, End()],
            self.dram,
            self.source.config,
            inputs,
            outputs,
            self.steps,
            [*self.buffers, *named],
        )

    def _shape(self, output: str) -> tuple[int, int, int]:
        """Return the shape of an output in the source."""
        return upright(self.maps[output].map, map_shape(self.source.known.tensors[output].shape)).shape

    def said(self, number: int) -> str:
        """Return a command with the names of the source."""
        return command_text(self.commands[number]).partition("\n")[0]


def step_by_hand(name: str, passes: range) -> ImageStep:
    """Return the step of commands that the source has."""
    return ImageStep(name, BY_HAND, BY_HAND, "", tuple(passes), 0, 0, 0, (0, 0, 0), (0, 0, 0))


def _moved(command: Command, areas: dict[tuple[int, int], int]) -> Command:
    """Return the command with its DRAM address moved to the address of its area in the whole program."""
    if not isinstance(command, Transfer):
        return command
    address = command.dram_address
    first, at = next((first, at) for (first, end), at in areas.items() if first <= address < end)
    return replace(command, dram_address=at + address - first)
