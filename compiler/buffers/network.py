# SPDX-License-Identifier: Apache-2.0
"""A network on an accelerator that is described by its memory hierarchy: operator by operator, each from DRAM to DRAM.

The host runs the operators that the accelerator does not support or that do not fit its buffers.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from eyrie.compiler.buffers.execution import execute
from eyrie.compiler.buffers.nests import Nest, nest_of
from eyrie.compiler.buffers.program import Program, program_of
from eyrie.compiler.buffers.timing import Timing, timing_of
from eyrie.compiler.ir.buffer_tree import BufferTree
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Arrays
from eyrie.compiler.ir.tensor import Constant
from eyrie.compiler.passes.simplify import simplified
from eyrie.model.messages import aligned, times


@dataclass(frozen=True)
class Programmed:
    """A node that the accelerator runs: its program, bytes and cycles."""

    program: Program
    timing: Timing


@dataclass(frozen=True)
class Step:
    """A node, with its program and timing, or the reason why the host runs it."""

    node: Node
    programmed: Programmed | None = None
    reason: str = ""

    @property
    def program(self) -> Program | None:
        return self.programmed.program if self.programmed else None

    @property
    def timing(self) -> Timing | None:
        return self.programmed.timing if self.programmed else None


@dataclass(frozen=True)
class Compiled:
    """A compiled network. graph: after the graph optimisations"""

    graph: Graph
    tree: BufferTree
    steps: list[Step]

    @property
    def cycles(self) -> int:
        """Return the cycles of all nodes that the accelerator runs."""
        return sum(step.timing.cycles for step in self.steps if step.timing)

    @property
    def moved(self) -> dict[str, int]:
        """Return the bytes between each buffer and its source."""
        timings = [step.timing for step in self.steps if step.timing]
        return {memory.name: sum(timing.moved[memory.name] for timing in timings) for memory in self.tree.memories}

    def run(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """Run the network, and return its outputs. inputs: in order, as for Graph.run. Raise InternalError if a program
        is wrong."""
        values = {tensor.name: value for tensor, value in zip(self.graph.inputs, inputs, strict=True)}
        for step in self.steps:
            if step.program:
                made: Arrays = (execute(step.program, values),)
            else:
                made = step.node.run(
                    tuple(
                        tensor.data if isinstance(tensor, Constant) else values[tensor.name]
                        for tensor in step.node.inputs
                    )
                )
            values.update(zip((tensor.name for tensor in step.node.outputs), made, strict=True))
        return [values[tensor.name] for tensor in self.graph.outputs]

    def __str__(self) -> str:
        """Return a table of the operators. Tiles are rows x columns x filters x channels, level by level from DRAM
        on."""
        names = [memory.name for memory in self.tree.memories]
        lines = [["", "operator", "tiles", "cycles", "computing", *names]]
        for step in self.steps:
            head = [step.node.where, step.node.operator.name]
            if step.programmed is None:
                lines.append([*head, f"host: {step.reason}"])
                continue
            tiles = " > ".join(map(times, step.programmed.program.partition.tiles))
            timing = step.programmed.timing
            moved = [f"{timing.moved[name]:,}" for name in names]
            lines.append([*head, tiles, f"{timing.cycles:,}", f"{timing.computing:,}", *moved])
        computing = sum(step.timing.computing for step in self.steps if step.timing)
        moved = [f"{self.moved[name]:,}" for name in names]
        lines.append(["", "all", "", f"{self.cycles:,}", f"{computing:,}", *moved])
        return "\n".join(aligned(lines, left=range(3)))


def compiled(graph: Graph, tree: BufferTree, doubled: bool = False) -> Compiled:
    """Compile a graph. doubled: with double buffering of the operators that it makes faster"""
    simple = simplified(graph)
    return Compiled(simple, tree, [_step(node, tree, doubled) for node in simple.nodes])


def _step(node: Node, tree: BufferTree, doubled: bool) -> Step:
    nest = nest_of(node)
    if nest is None:
        return Step(node, reason="is no loop over tiles")
    if not tree.does(nest.work):
        return Step(node, reason=f"no unit does {nest.work.value}")
    try:
        return Step(node, shortest(programmed(nest, tree, doubled)))
    except DoesNotFit as failure:
        return Step(node, reason=failure.what.removeprefix(f"{node.place}: "))


def programmed(nest: Nest, tree: BufferTree, doubled: bool) -> list[Programmed]:
    """Return the program of a nest with single buffering and, if `doubled` and if it fits, with double buffering.

    Raise DoesNotFit if no tile fits.
    """
    programs = [program_of(nest, tree, False)]
    if doubled:
        with suppress(DoesNotFit):  # two tiles of an operand need more space than one
            programs.append(program_of(nest, tree, True))
    return [Programmed(program, timing_of(program)) for program in programs]


def shortest(found: list[Programmed]) -> Programmed:
    return min(found, key=lambda each: each.timing.cycles)
