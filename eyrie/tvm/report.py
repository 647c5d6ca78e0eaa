# SPDX-License-Identifier: Apache-2.0
"""The report of a partitioned module: the operators on the accelerator, on the host, and in TVM."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tvm import ir, relax

from eyrie.compiler.frontend.tvm.read import graph_of_steps, settled
from eyrie.compiler.frontend.tvm.steps import DEQUANTIZE, QUANTIZE, Step, Steps, steps_of
from eyrie.compiler.frontend.tvm.units import reason_of, units_of
from eyrie.compiler.passes.obstacle import obstacle
from eyrie.model.config import AcceleratorConfig
from eyrie.model.messages import number_of
from eyrie.session import session_of
from eyrie.tvm.partition import BACK_END, CONFIG, SYMBOL, functions_of, relax_functions

NOT_QUANTISED = "it is not between int8 values"


@dataclass(frozen=True)
class OnAccelerator:
    """A part.

    operators  number of Relax operators by name, without QUANTIZE and DEQUANTIZE
    macs       MACs of weights for one image
    cycles     predicted cycles for one image
    host       operators that the accelerator does not run together with the others: position and name
    """

    name: str
    operators: Mapping[str, int]
    macs: int
    cycles: int
    host: tuple[str, ...]


@dataclass(frozen=True)
class InTVM:
    """An operator that TVM runs."""

    name: str
    operator: str
    reason: str


@dataclass(frozen=True)
class Report:
    parts: tuple[OnAccelerator, ...]
    rest: tuple[InTVM, ...]

    def __str__(self) -> str:
        lines = []
        for part in self.parts:
            counted = ", ".join(f"{count} {name}" if count > 1 else name for name, count in part.operators.items())
            operators = number_of(sum(part.operators.values()), "operator")
            lines.append(
                f"accelerator {part.name.rpartition('_')[0]:10} {operators:>13} "
                f"{part.macs:13,} MACs {part.cycles:11,} cycles  {counted}"
            )
            lines += [f"            host: {name}" for name in part.host]
        reasons: dict[str, list[str]] = {}
        for each in self.rest:
            reasons.setdefault(each.reason, []).append(each.operator)
        lines += [f"TVM         {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        return "\n".join(lines)


def report(module: ir.IRModule) -> Report:
    """Return the report of a result of `partitioned`."""
    parts = tuple(_on_accelerator(function) for _, function in functions_of(module))
    inside = {variable.name_hint for variable, _ in functions_of(module)}
    rest = [
        each
        for variable, function in relax_functions(module)
        if variable.name_hint not in inside
        for each in _in_tvm(function, module)
    ]
    return Report(parts, tuple(rest))


def _on_accelerator(function: relax.Function) -> OnAccelerator:
    steps, name = steps_of(function), str(function.attrs[SYMBOL])
    session = session_of(
        graph_of_steps(steps),
        name,
        AcceleratorConfig.of(json.loads(str(function.attrs[CONFIG]))),
        str(function.attrs[BACK_END]),
    )
    return OnAccelerator(
        name,
        dict(Counter(step.operator for step in computing(steps))),
        sum(node.macs for node in session.network.whole_graph().nodes),
        session.network.predicted_cycles,
        session.network.host,
    )


def _in_tvm(function: relax.Function, module: ir.IRModule) -> Iterable[InTVM]:
    steps = steps_of(function, module)
    reasons: dict[str, str] = {}
    for unit in units_of(steps):
        found = reason_of(unit.steps, obstacle) or "its output is also read elsewhere"
        reasons |= {step.made.name: found for step in unit.steps.steps}
    for step in computing(steps):
        if not step.part:
            yield InTVM(step.made.name, step.operator, reasons.get(step.made.name, NOT_QUANTISED))


def computing(steps: Steps) -> list[Step]:
    """Return the steps without constants, QUANTIZE and DEQUANTIZE."""
    fixed = settled(steps)
    return [step for step in steps.steps if step.operator not in (QUANTIZE, DEQUANTIZE) and step.made.name not in fixed]
