# SPDX-License-Identifier: Apache-2.0
"""Operations between a RESHAPE and one back work in the shape in front of both, with the values of the model."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.passes.simplify import simplified
from eyrie.compiler.passes.undo_reshapes import undo_reshapes
from eyrie.model.interpreters import run_micro
from eyrie.runtime.back_ends.functional import Functional
from eyrie.testing.samples import scaled
from tests.compiler.test_moves import Drawn

Shape = tuple[int, ...]

# Shapes of the map and between the RESHAPEs, and of the constants; the last: a constant has a value per channel.
BETWEEN: list[tuple[Shape, Shape, Shape, bool]] = [
    ((1, 1, 1, 32), (1, 1, 8, 4), (4,), True),
    ((1, 1, 1, 24), (1, 3, 8), (3, 1), True),
    ((1, 3, 1, 16), (1, 3, 4, 4), (4,), True),
    ((1, 4, 5, 16), (1, 20, 16), (16,), True),
    ((1, 3, 5, 8), (1, 120), (1,), True),
    ((1, 2, 2, 8), (1, 4, 8), (4, 1), False),
    ((1, 2, 2, 8), (1, 32), (32,), False),
    ((1, 3, 1, 16), (1, 12, 4), (12, 4), False),
]


def scaled_between(net: Drawn, shape: Shape, between: Shape, constant: Shape, back: Shape) -> tuple[int, int]:
    """Return the value in the middle, and a layer on the map behind one to three operations in another shape."""
    x = net.reshape(net.conv(net.input, shape[-1]), *between)
    for name in net.rng.choice(["MUL", "ADD", "SUB", "HARD_SWISH"], net.rng.integers(1, 4)):
        other = net.builder.tensor(constant, scale=0.02, data=net.rng.integers(-128, 128, constant))
        made = net.tensor(between, 0.07)
        net.builder.operator(str(name), [x] if name == "HARD_SWISH" else [x, other], [made])
        x = made
    behind = net.builder.tensor(back, scale=0.07, zero_point=3)
    net.builder.operator(
        "RESHAPE", [x, net.builder.tensor((len(back),), "int32", data=np.array(back))], [behind], newShape=back
    )
    net.shapes[behind] = back
    return x, net.conv(behind, 8)


@pytest.mark.parametrize("number", range(scaled(48, least=len(BETWEEN))))
def test_operations_in_another_shape(number: int, seed: int, tmp_path: Path) -> None:
    shape, between, constant, by_channel = BETWEEN[number % len(BETWEEN)]
    net = Drawn(seed + number, (*shape[:3], 8))
    _, made = scaled_between(net, shape, between, constant, shape)
    model, path = net.model(made), tmp_path / "net.tflite"
    path.write_bytes(model)
    graph = tflite.from_bytes(model)
    only_functions = all(node.operator.name in ("CONV_2D", "RESHAPE", "HARD_SWISH") for node in graph.nodes)
    changed = [node for node in undo_reshapes(graph).nodes if node.inputs[0].shape != node.outputs[0].shape]
    assert (not any(node.operator.name == "RESHAPE" for node in changed)) == (by_channel or only_functions)
    values = net.rng.integers(-128, 128, graph.input.shape).astype(np.int8)
    [wanted] = run_micro(model, values)
    for each in (undo_reshapes(graph), simplified(graph)):
        np.testing.assert_array_equal(each.run(values)[graph.output.name], wanted)
    compiled = compile_parts(path, search_iterations=8)
    assert not compiled.partition.host_nodes or not (by_channel or only_functions)
    [output] = Functional().run(compiled.network, [values[None]]).outputs
    np.testing.assert_array_equal(output[0], wanted)


@pytest.mark.parametrize("left", ["the value is an output", "two readers", "another shape"])
def test_reshapes_that_stay(left: str, seed: int) -> None:
    net = Drawn(seed, (1, 1, 1, 8))
    back = (1, 2, 2, 8) if left == "another shape" else (1, 1, 1, 32)
    middle, made = scaled_between(net, (1, 1, 1, 32), (1, 1, 8, 4), (4,), back)
    outputs = {"the value is an output": [made, middle], "two readers": [made, net.conv(middle, 4)]}.get(left, [made])
    graph = tflite.from_bytes(net.model(*outputs))
    assert undo_reshapes(graph) is graph
