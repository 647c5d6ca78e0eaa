# SPDX-License-Identifier: Apache-2.0
"""The pipeline for assembly sources: compile the lines for layers, check the commands, and link all blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyrie.compiler.artefact.files import DESCRIPTION
from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.assembly.checks import Rejected, Watched, check_streams
from eyrie.compiler.assembly.commands import Parser, to_text
from eyrie.compiler.assembly.lexer import AssemblyError
from eyrie.compiler.assembly.link import BY_HAND, Linker, step_by_hand
from eyrie.compiler.assembly.source import Commands, Layers, Source, read
from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.emit import races
from eyrie.compiler.emit.image import PROGRAM
from eyrie.compiler.folder import network_of, save
from eyrie.compiler.ir.failure import CompileError
from eyrie.compiler.ir.image import LAYOUT, Image
from eyrie.compiler.ir.image_layout import Area
from eyrie.compiler.ir.program import Command, End, Run, assemble, encoded
from eyrie.compiler.network import compile_whole
from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.compiler.passes.constraints import Obstacles
from eyrie.compiler.performance import performance
from eyrie.compiler.pipeline import NAMES, STAGES, run_stages
from eyrie.compiler.results import Built, Grouped, Imported, reached
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.errors import InputError
from eyrie.model.functional_simulator import ProgramError
from eyrie.model.messages import number_of

STORED = ("tensor", "output", "spill", "wait")  # kinds of areas that programs store, by their names
Places = dict[int, tuple[int, int]]  # of commands, by number


@dataclass(frozen=True)
class Assembled:
    """An assembled program. stages: of a source that is a single block of layers, which is a compiled network"""

    image: Image
    text: str
    stages: Built | None = None

    def save(self, folder: str | Path) -> None:
        """Write the folder completely, or leave it as it was. Raise InputError, with one line, if it cannot be
        written."""
        save(network_of(self.stages) if self.stages else CompiledNetwork.of_program(self.image), folder)

    def __str__(self) -> str:
        if self.stages:
            return str(performance(self.stages))
        commands = self.image.commands
        passes = sum(isinstance(command, Run) for command in commands)
        counts = f"{number_of(len(commands), 'command')}, {number_of(passes, 'pass')}"
        return f"{counts}, {predict(self.image).cycles:,} cycles predicted"


def assemble_file(
    path: str | Path,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    on_stage: Callable[[str], None] | None = None,
) -> Assembled:
    """Assemble a source file. Raise InputError, with one line, that begins with FILE:line:column if the error has a
    place in the source."""
    try:
        source = read(path)
        if source.image:
            return _edited(source, source.image)
        return _linked(source, objective, search_iterations, on_stage)
    except AssemblyError as error:
        raise InputError(f"{path}:{error}") from error


def disassembled(folder: str | Path) -> str:
    """Return the program of an image as an assembly source. Raise InputError, with one line, if the folder cannot be
    read."""
    place = Path(folder).absolute()
    if re.search(r"[\s#=]", str(place)):
        raise InputError(f"{folder}: its path has blanks, # or =, which a source cannot have: rename it")
    if (place / DESCRIPTION).exists() and not (place / LAYOUT).exists():
        parts = sorted(each.parent.name for each in place.glob(f"part*/{LAYOUT}"))
        remedy = f"give {folder}/{parts[0]}" if parts else "its network runs on the host"
        raise InputError(f"{folder}: has {'several programs' if parts else 'no program'}: {remedy}")
    image = Image.load(folder)
    try:
        return f"image {place}\n{to_text(image.commands)}"
    except InputError as error:
        raise InputError(f"{folder}: {error}: give a folder that eyrie compile or eyrie asm wrote") from error


# ---- Sources with data of their own ----


def _linked(
    source: Source, objective: str, search_iterations: int, on_stage: Callable[[str], None] | None
) -> Assembled:
    linker = Linker(source)
    for number, block in enumerate(source.blocks):
        if isinstance(block, Commands):
            linker.take_commands(block)
            continue
        stages = _compiled(source, number, block, objective, search_iterations, on_stage)
        ends = stages.ends
        if len(source.blocks) == 1 and set(ends) == set(source.outputs):
            return Assembled(stages.image, stages.text, stages)
        linker.take_layers(stages.schedule, ends, next(iter(block.places.values())))
    image = linker.image()
    if linker.places:
        commands = [*linker.commands, End()]
        _check(image, commands, linker.places, source.outputs)
        counted = by_layer(image)
        image = replace(
            image,
            steps=tuple(
                replace(step, macs=counts["MACS"]) if step.schedule == BY_HAND else step
                for step, counts in zip(image.steps, counted)
            ),
        )
    return Assembled(image, to_text(image.commands))


def _compiled(
    source: Source,
    number: int,
    block: Layers,
    objective: str,
    search_iterations: int,
    on_stage: Callable[[str], None] | None,
) -> Built:
    """Compile a block of layers. Raise AssemblyError, with a place in the source."""
    graph, first = block.graph(source.wanted(number)), next(iter(block.places.values()))
    if not graph.outputs:
        raise AssemblyError(first, "no line reads the results of these lines: add a line, output NAME")
    work = Imported(
        model=source.path,
        config=source.config,
        objective=objective,
        search_iterations=search_iterations,
        images=1,
        graph=graph,
        shared=source.shared(number),
    )
    try:
        return reached(compile_whole(work, on_stage=on_stage), Built)
    except Obstacles as error:
        found = error.obstacles[0]
        raise AssemblyError(
            block.places.get(found.where, first),
            f"{found.operator} {found.where}: {found.reason}: the accelerator does not run it",
        ) from error
    except CompileError as error:
        place = block.places.get(_maker(work, error.layer), first)
        raise AssemblyError(place, str(error)) from error
    except InputError as error:
        raise AssemblyError(first, str(error).removeprefix(f"{source.path}: ")) from error


def _maker(work: Imported, layer: str | None) -> str:
    """Return the name of the tensor that a fused operator makes, "" if it is unknown."""
    try:
        found = reached(run_stages(work, STAGES[1 : NAMES.index("groups") + 1]), Grouped)
    except InputError:
        return ""
    return next((group.output.name for group in found.groups if group.name == layer), "")


# ---- Programs for the DRAM of a folder ----


def _edited(source: Source, image: Image) -> Assembled:
    """Assemble commands for the DRAM of a folder. Raise AssemblyError."""
    parser = Parser(glb={name: address for name, (address, _) in source.buffers.items()})
    for line in (line for block in source.blocks if isinstance(block, Commands) for line in block.lines):
        parser.take(line)
    commands = [*parser.commands, End()]
    words, dram = assemble(commands), image.dram.copy()
    address = image.program.address
    if words.nbytes > image.program.bytes:
        address = -(-dram.nbytes // 64) * 64
        dram = np.append(dram, np.zeros(address + words.nbytes - dram.nbytes, np.uint8))
    dram[address:][: words.nbytes] = words.view(np.uint8)
    passes = [number for number, command in enumerate(commands) if isinstance(command, Run)]
    if not passes:
        raise AssemblyError(source.last, "the program has no pass: add one")
    program = Area(address, words.nbytes)
    edited = replace(image, dram=dram, program=program, areas=image.areas | {PROGRAM: program})
    if len(passes) != image.passes:
        edited = replace(edited, steps=(step_by_hand("program", range(len(passes))),), buffers=())
    _check(edited, commands, dict(enumerate(parser.places)), dict.fromkeys(image.outputs, source.last))
    return Assembled(edited, to_text(commands))


# ---- Checks ----


def _check(image: Image, commands: list[Command], places: Places, outputs: dict[str, tuple[int, int]]) -> None:
    """Check the commands on the functional simulator. outputs: the places in the source that name them.

    Raise AssemblyError, with the place of the command, if a command is illegal.
    """
    starts, at = [], image.program.address
    for found, words in encoded(commands):
        starts += [at] * len(found)
        at += len(words) * GLB_WORD_BYTES
    number_of = {address: number for number, address in reversed([*enumerate(starts)])}

    def reject(number: int, reason: str) -> AssemblyError:
        known = max((n for n in places if n <= number), default=min(places))
        return AssemblyError(places[known], reason)

    watched = {starts[number] for number in places}
    config = Watched(image.dram.copy(), image.config, watched, *_ranges(image))
    try:
        check_streams(commands, set(places))
    except Rejected as error:
        raise reject(error.address, str(error)) from error
    try:
        config.run(image.program.address)
    except ProgramError as error:
        raise reject(
            number_of[error.address], f"the accelerator stops with {error.code.name}: {error.reason}"
        ) from error
    except Rejected as error:
        raise reject(number_of[error.address], str(error)) from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise reject(
            number_of[config.pass_command], f"a pass that the functional simulator does not run ({error})"
        ) from error
    for name, place in outputs.items():
        area = image.outputs[name].area(image.images)
        if (missing := config.missing(area.address, area.end)) is not None:
            raise AssemblyError(place, f"output {name} is not stored from DRAM 0x{missing:08x} on: store all of it")
    try:
        races.verify(commands, image.config)
    except races.ScheduleError as error:
        raise reject(error.command, f"{error}: have the later one wait for the earlier one") from error


def _ranges(image: Image) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return two lists of DRAM ranges: those that hold values before a run, and those that a program stores to."""
    ends = {map_.address for map_ in image.inputs.values()}
    there, stored = list[tuple[int, int]](), list[tuple[int, int]]()
    for name, area in image.areas.items():
        kind = name.partition(".")[0].rpartition(":")[2]  # after the block's number; tensor names may have any letter
        if name != PROGRAM:
            is_stored = kind in STORED and area.address not in ends
            (stored if is_stored else there).append((area.address, area.end))
    return there, stored
