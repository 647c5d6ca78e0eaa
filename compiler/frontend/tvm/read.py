# SPDX-License-Identifier: Apache-2.0
"""The translation of steps between int8 values to a Graph of one image."""

import numpy as np

from eyrie.compiler.frontend.qdq import graph_of
from eyrie.compiler.frontend.qdq.maps import input_of, map_axes, output_of
from eyrie.compiler.frontend.tvm.call import Batch, Call
from eyrie.compiler.frontend.tvm.steps import Step, Steps
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.qdq.network import Network, Operation
from eyrie.compiler.operators.registry import translators

CODES = ("int8", "uint8")


def graph_of_steps(steps: Steps) -> Graph:
    """Return the Graph of steps. Feature maps at its inputs and outputs have channels last.

    An operator without a translation becomes Unknown. Raise Unsupported if an input or output has no codes,
    CompileError if the steps make no Graph.
    """
    for value in (*steps.taken, *steps.made):
        if value.dtype not in CODES:
            raise Unsupported("a value that is not quantised goes in or out")
    if not steps.taken:
        raise Unsupported("it takes constants alone")
    batch = Batch(steps.taken[0].shape[0] if steps.taken[0].shape else 1)
    operations: list[Operation] = []
    arrays: dict[str, np.ndarray] = {}
    shapes = {value.name: batch.one(value) for value in steps.taken}
    maps = maps_of(steps)
    inputs = tuple(input_of(value.name, shapes[value.name], value.dtype, operations, maps) for value in steps.taken)
    fixed = settled(steps)
    for step in steps.steps:
        call = Call(step, batch, fixed)
        operations += _operations(call)
        arrays |= call.made
        if step.made.name not in fixed and step.made.shape and step.made.shape[0] == batch.size:
            shapes[step.made.name] = batch.one(step.made)
    outputs = tuple(output_of(value.name, batch.one(value), operations, maps) for value in steps.made)
    return graph_of(Network(inputs, arrays, tuple(operations), outputs, shapes))


def maps_of(steps: Steps) -> frozenset[int]:
    """Return the numbers of axes of inputs and outputs that have channels last."""
    return map_axes(step.operator for step in steps.steps)


def settled(steps: Steps) -> set[str]:
    """Return the names of the values that are computed from constants alone."""
    found: set[str] = set()
    for step in steps.steps:
        if all(value.name in found for value in step.taken):
            found.add(step.made.name)
    return found


def _operations(call: Call) -> list[Operation]:
    step: Step = call.step
    try:
        translate = translators("relax").get(step.operator)
        if translate is None:
            raise Unsupported("no such operator is known")
        return translate(call)
    except Unsupported as error:
        names = tuple(value.name for value in step.taken)
        return [Operation("unknown", names, (step.made.name,), step.where, step.operator, {"reason": str(error)})]
