# SPDX-License-Identifier: Apache-2.0
"""Damaged files: rejected in one line, or a graph that is verified, passes or is rejected by name, and runs."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend import tflite
from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.compiler.ir.failure import CompileError, ModelImportError
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.passes.constraints import check
from eyrie.compiler.passes.form_groups import form_groups
from eyrie.compiler.passes.partition import partition
from eyrie.compiler.passes.simplify import simplified
from eyrie.model.errors import InputError
from eyrie.testing.samples import scaled
from tb.common.random_graphs import draw_graph
from tb.common.random_operators import OPERATORS, draw
from tests.commands.small_nets import separable

DAMAGED = scaled(60, least=15)
NUMBERS = (-(2**31), -129, -2, -1, 0, 1, 2, 3, 5, 127, 128, 255, 4096, 65536, 2**31 - 1)
SCALES = (0, -1, 1e-45, 1e-30, 1e30, np.inf, np.nan, 1)
MOST = 1_000_000  # values of all tensors of a graph that is run
MOST_WORK = 100_000_000  # its element operations


def go_on(data: bytes, rng: np.random.Generator) -> str:
    """Everything in front of the plan, and the golden model; what became of it."""
    try:
        graph = tflite.from_bytes(data)
    except ModelImportError as error:
        assert str(error) and "\n" not in str(error)
        return "rejected"
    assert str(graph)
    passed = simplified(graph).verified()
    try:
        form_groups(check(passed))
    except CompileError as error:
        assert "\n" not in str(error)
    try:
        for part in partition(passed).parts:
            part.graph.verified()
    except CompileError as error:
        assert any(isinstance(node.operator, Unknown) for node in passed.nodes), error
        return "unknown"
    return run(passed, rng)


def run(graph: Graph, rng: np.random.Generator) -> str:
    """The golden model makes what the operators say they make."""
    tensors = [*graph.inputs, *(tensor for node in graph.nodes for tensor in (*node.inputs, *node.outputs))]
    if sum(tensor.size for tensor in tensors) > MOST or sum(node.elements for node in graph.nodes) > MOST_WORK:
        return "large"
    try:
        values = graph.run(*(rng.integers(-100, 100, tensor.shape).astype(tensor.dtype) for tensor in graph.inputs))
    except InputError as error:  # of an operator that code outside Eyrie computes
        assert "the model says" in str(error) and "\n" not in str(error)
        return "wrong types"
    for node in graph.nodes:
        for tensor in node.outputs:
            made = values[tensor.name]
            assert (made.shape, str(made.dtype)) == (tensor.shape, tensor.dtype), f"{node}"
    return "ran"


def bytes_anywhere(data: bytes, rng: np.random.Generator) -> bytes:
    bad = np.frombuffer(data, np.uint8).copy()
    places = rng.integers(0, len(bad), rng.integers(1, 6))
    bad[places] = rng.choice([0, 1, 127, 128, 255, rng.integers(256)], len(places))
    return bad.tobytes()


def one_of(rng: np.random.Generator, items: list):
    return items[rng.integers(len(items))]


def change_shape(model: schema.ModelT, rng: np.random.Generator) -> None:
    tensor = one_of(rng, model.subgraphs[0].tensors)
    shape = [int(size) for size in tensor.shape]
    change = rng.integers(3)
    if change == 0 and shape:
        shape[rng.integers(len(shape))] = int(rng.choice(NUMBERS))
    tensor.shape = shape if change == 0 else shape[1:] if change == 1 else [*shape, 1]


def change_tensor(model: schema.ModelT, rng: np.random.Generator) -> None:
    tensor = one_of(rng, model.subgraphs[0].tensors)
    if rng.random() < 0.5:
        tensor.type = int(rng.choice([0, 2, 3, 4, 7, 9, 17]))
    else:
        tensor.buffer = int(rng.integers(len(model.buffers) + 2))


def change_scale(model: schema.ModelT, rng: np.random.Generator) -> None:
    quantization = one_of(rng, model.subgraphs[0].tensors).quantization
    if quantization is not None and rng.random() < 0.5:
        quantization.scale = [float(rng.choice(SCALES))]
    elif quantization is not None:
        quantization.zeroPoint = [int(rng.choice([-(2**63), 2**62, -129, 300, 7]))]


def change_ends(model: schema.ModelT, rng: np.random.Generator) -> None:
    operator = one_of(rng, model.subgraphs[0].operators)
    end = "inputs" if rng.random() < 0.6 else "outputs"
    indices = [int(index) for index in getattr(operator, end)]
    indices[rng.integers(len(indices))] = int(rng.integers(-2, len(model.subgraphs[0].tensors) + 2))
    setattr(operator, end, indices)


def change_option(model: schema.ModelT, rng: np.random.Generator) -> None:
    options = one_of(rng, model.subgraphs[0].operators).builtinOptions
    names = [] if options is None else [name for name, value in vars(options).items() if isinstance(value, int)]
    if names:
        setattr(options, one_of(rng, names), int(rng.choice(NUMBERS)))


def change_constant(model: schema.ModelT, rng: np.random.Generator) -> None:
    kept = [buffer for buffer in model.buffers if buffer.data is not None and len(buffer.data)]
    if kept:
        buffer = one_of(rng, kept)
        data = np.array(buffer.data, np.uint8)
        if len(data) % 4 == 0 and rng.random() < 0.6:
            data.view(np.int32)[rng.integers(len(data) // 4)] = rng.choice(NUMBERS)
        buffer.data = data if rng.random() < 0.7 else data[:-1]


CHANGES: tuple[Callable[[schema.ModelT, np.random.Generator], None], ...] = (
    change_shape,
    change_tensor,
    change_scale,
    change_ends,
    change_option,
    change_constant,
)


def structure(data: bytes, rng: np.random.Generator, most: int = 3) -> bytes:
    """One to `most` changes of what the file says, which is then written anew."""
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    for _ in range(rng.integers(1, most + 1)):
        one_of(rng, CHANGES)(model, rng)
    try:
        return packed(model)
    except (TypeError, ValueError, OverflowError):  # a number that its field has no room for
        return data


def drawn(number: int, rng: np.random.Generator) -> bytes:
    """A network of the accelerator, one operator of any kind, or a graph."""
    if number % 3 == 0:
        return separable(rng)
    return draw(one_of(rng, list(OPERATORS)), rng).model if number % 3 == 1 else draw_graph(rng).model


def outcomes(seed: int, damage: Callable[[bytes, np.random.Generator], bytes]) -> Counter:
    """Count the outcomes of DAMAGED files, and of more until enough of them run."""
    seen: Counter = Counter()
    for number in range(20 * DAMAGED):
        if number >= DAMAGED and seen["ran"] > DAMAGED // 10:
            break
        rng = np.random.default_rng([seed, number])
        data = damage(drawn(number, rng), rng)
        try:
            seen[go_on(data, rng)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, file {number}: {error!r}") from error
    return seen


def test_bytes(seed: int) -> None:
    seen = outcomes(seed, bytes_anywhere)
    assert seen["rejected"] > 0 and seen["ran"] > DAMAGED // 10, seen


def test_structure(seed: int) -> None:
    seen = outcomes(seed, structure)
    assert seen["rejected"] > DAMAGED // 10 and seen["ran"] > 0, seen


@pytest.mark.parametrize("part", ["buffers", "operatorCodes", "subgraphs"])
def test_missing_parts(part: str) -> None:
    model = schema.ModelT.InitFromPackedBuf(separable(np.random.default_rng(1)), 0)
    setattr(model, part, None)
    with pytest.raises(ModelImportError, match="^damaged TensorFlow Lite file: the model lacks a part"):
        tflite.from_bytes(packed(model))
