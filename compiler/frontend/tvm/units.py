# SPDX-License-Identifier: Apache-2.0
"""The choice of steps that become Graphs for the accelerator.

A unit is a QUANTIZE with the float operators before it, back to the DEQUANTIZEs of their inputs. Its inputs are int8,
and it has one int8 output. Relax finds units by patterns and merges the ones that the accelerator supports. This module
makes the patterns from the units of a function.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tvm.relax import dpl

from eyrie.compiler.frontend.tvm.read import CODES, graph_of_steps, settled
from eyrie.compiler.frontend.tvm.steps import DEQUANTIZE, QUANTIZE, Step, Steps, Value
from eyrie.compiler.ir.failure import CompileError, Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Unknown

Obstacle = Callable[[Graph], str]  # the reason why the accelerator does not run a Graph, "" if it does


@dataclass(frozen=True, eq=False)
class Unit:
    """A unit. steps: in order; makers: the steps that make values, by name"""

    steps: Steps
    makers: dict[str, Step]

    @property
    def root(self) -> Step:
        return self.steps.steps[-1]


def units_of(steps: Steps) -> list[Unit]:
    """Return all units of a function, in the order of their QUANTIZEs."""
    makers, fixed = {step.made.name: step for step in steps.steps}, settled(steps)
    return [
        _unit(step, makers, fixed)
        for step in steps.steps
        if step.operator == QUANTIZE and step.made.name not in fixed and not step.part
    ]


def _unit(root: Step, makers: dict[str, Step], fixed: set[str]) -> Unit:
    found: dict[str, Step] = {}
    taken: dict[str, Value] = {}

    def take(step: Step) -> None:
        if step.made.name in found:
            return
        ends = step.operator == DEQUANTIZE and step.made.name not in fixed
        for value in step.taken:
            maker = makers.get(value.name)
            if ends or maker is None or maker.part:
                taken[value.name] = value
            else:
                take(maker)
        found[step.made.name] = step

    take(root)
    return Unit(Steps(tuple(taken.values()), tuple(found.values()), (root.made,)), makers)


def check(steps: Steps, obstacle: Obstacle) -> None:
    """Raise CompileError if the accelerator does not run the steps."""
    graph = graph_of_steps(steps)
    for node in graph.nodes:
        if isinstance(node.operator, Unknown):
            raise Unsupported(f"{node.operator.name}: {node.operator.reason}")
    if found := obstacle(graph):
        raise Unsupported(found)


def reason_of(steps: Steps, obstacle: Obstacle) -> str:
    """Return the reason why the accelerator does not run the steps, "" if it does."""
    try:
        check(steps, obstacle)
    except CompileError as failure:
        return failure.what
    return ""


def patterns_of(steps: Steps) -> list[dpl.DFPattern]:
    """Return one pattern for each form of units that a function has."""
    found: dict[str, dpl.DFPattern] = {}
    for unit in units_of(steps):
        forms: dict[str, tuple[str, dpl.DFPattern]] = {}
        text, pattern = _pattern(unit.root.made, unit, forms)
        found.setdefault(text, pattern)
    return list(found.values())


def _pattern(operand: object, unit: Unit, forms: dict[str, tuple[str, dpl.DFPattern]]) -> tuple[str, dpl.DFPattern]:
    """Return a pattern, and a text that is equal for equal patterns. forms: the patterns of values, one for each
    value"""
    if isinstance(operand, Value):
        if operand.name not in forms:
            text, pattern = _of_value(operand, unit, forms)
            forms[operand.name] = f"{len(forms)}", pattern
            return text, pattern
        number, pattern = forms[operand.name]
        return f"again {number}", pattern
    if isinstance(operand, np.ndarray):
        return "constant", dpl.is_const()
    if isinstance(operand, tuple) and any(isinstance(each, Value) for each in operand):
        texts, patterns = zip(*(_pattern(each, unit, forms) for each in operand))
        return f"({', '.join(texts)})", dpl.is_tuple(patterns)
    return "any", dpl.wildcard()


def _of_value(value: Value, unit: Unit, forms: dict[str, tuple[str, dpl.DFPattern]]) -> tuple[str, dpl.DFPattern]:
    if any(each.name == value.name for each in unit.steps.taken):
        known = value.dtype in CODES
        return value.dtype, dpl.wildcard().has_dtype(value.dtype) if known else dpl.wildcard()
    step = unit.makers[value.name]
    parts = [_pattern(each, unit, forms) for each in step.operands]
    return f"{step.operator}({', '.join(text for text, _ in parts)})", dpl.is_op(f"relax.{step.operator}")(
        *(pattern for _, pattern in parts)
    )
