# SPDX-License-Identifier: Apache-2.0
"""The graph of a function of Relax, before and after its partition."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from tvm import ir

from eyrie.compiler.frontend.tvm.read import settled
from eyrie.compiler.frontend.tvm.steps import DEQUANTIZE, QUANTIZE, Step, Steps, Value, steps_of
from eyrie.runtime.diagrams.diagram import Box, Diagram, Line, Meaning
from eyrie.runtime.diagrams.networks import ACCELERATOR, END, HOST, MODEL
from eyrie.runtime.diagrams.svg import drawn
from eyrie.tvm.partition import SYMBOL
from eyrie.tvm.report import computing


def picture(before: ir.IRModule, after: ir.IRModule, function: str = "main") -> str:
    """Return SVG of a function before and after `partitioned`. In a part, a box has the operators of one pattern."""
    steps = steps_of(after[function], after)
    hues = dict(zip(dict.fromkeys(step.part for step in steps.steps if step.part), cycle(ACCELERATOR)))
    diagrams = [_diagram("in the module", steps_of(before[function]), None), _diagram("partitioned", steps, hues)]
    return drawn(function, diagrams, _legend(after, steps, hues))


def _legend(module: ir.IRModule, steps: Steps, hues: dict[str, str]) -> list[Meaning]:
    def said(where: str, part: str) -> str:
        count = sum(step.part == part for step in computing(steps))
        return f"{where}: {count} {'operator' if count == 1 else 'operators'}"

    names = {part: module[part].attrs[SYMBOL].rpartition("_")[0] for part in hues}
    entries = [Meaning(hue, said(f"accelerator, {names[part]}", part)) for part, hue in hues.items()]
    return [*entries, Meaning(HOST, said("TVM", ""))]


def _diagram(title: str, steps: Steps, hues: dict[str, str] | None) -> Diagram:
    """Return a diagram; `hues` has the colour of each part, or is None before the partition."""
    fixed = settled(steps)
    units: dict[object, list[Step]] = {}
    for number, step in enumerate(steps.steps):
        if step.made.name not in fixed:
            units.setdefault(("unit", step.unit) if step.unit else number, []).append(step)
    boxes, makers, taken = list[Box](), dict[str, str](), list[tuple[str, str]]()
    for members in units.values():
        last = members[-1]
        role = MODEL if hues is None else hues.get(last.part, HOST)
        key = f"{len(boxes)} {last.made.name}"
        boxes.append(Box(key, _lines(members), role))
        inner = {step.made.name for step in members}
        makers |= dict.fromkeys(inner, key)
        taken += [
            (value.name, key)
            for step in members
            for value in step.taken
            if value.name not in inner and value.name not in fixed
        ]
    read = {name for name, _ in taken} | {value.name for value in steps.made}
    for kind, values in (("input", [value for value in steps.taken if value.name in read]), ("output", steps.made)):
        for value in values:
            key = f"{kind} {len(boxes)}"
            boxes.append(Box(key, (Line(f"{kind} {value.name}" if kind == "input" else kind), Line(_form(value))), END))
            if kind == "input":
                makers[value.name] = key
            else:
                taken.append((value.name, key))
    arrows = dict.fromkeys((makers[name], key) for name, key in taken if name in makers)
    return Diagram(title, tuple(boxes), tuple(arrows))


def _lines(members: Sequence[Step]) -> tuple[Line, ...]:
    """Return the lines of a box: its operators and its output. QUANTIZE and DEQUANTIZE are listed only if it has no
    others.
    """
    named = [step for step in members if step.operator not in (QUANTIZE, DEQUANTIZE)] or [members[-1]]
    lines = [Line(step.operator, strong=True) for step in named]
    return *lines, Line(_form(members[-1].made), _scale(members[-1]))


def _form(value: Value) -> str:
    return f"{value.dtype} {' x '.join(map(str, value.shape))}" if value.shape else value.dtype


def _scale(step: Step) -> str:
    if step.operator not in (QUANTIZE, DEQUANTIZE):
        return ""
    scale, zero_point = step.operands[1:3]
    if not isinstance(scale, np.ndarray) or not isinstance(zero_point, np.ndarray) or scale.size > 1:
        return ""
    return f"{scale.item():.4g} / {zero_point.item()}"
