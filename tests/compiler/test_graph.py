# SPDX-License-Identifier: Apache-2.0
"""Imported graphs: their golden model against both references, their text, and what verification finds.

tests/runtime/test_random_graphs.py has networks.
"""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph, Malformed
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.ir.tensor import Quantized, QuantizedConstant
from eyrie.compiler.operators.elementwise import Add
from eyrie.compiler.operators.shapes import Reshape
from eyrie.model.interpreters import RUN, Rejected
from eyrie.model.operators.quantization import Quantization, from_uint8, to_uint8
from eyrie.model.operators.reference import Reference
from eyrie.testing.samples import scaled
from tb.common.random_operators import OPERATORS, draw
from tb.common.seed import run_seed
from tests.compiler.test_groups import Net

GRAPHS = scaled(3)
SEED = run_seed()


def run(graph: Graph, inputs: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Inputs and outputs as the file has them."""
    values = graph.run(*(from_uint8(value) if value.dtype == np.uint8 else value for value in inputs))
    return [
        to_uint8(values[tensor.name]) if isinstance(tensor, Quantized) and tensor.unsigned else values[tensor.name]
        for tensor in graph.outputs
    ]


def differences(ours: list[np.ndarray], theirs: list[np.ndarray]) -> int:
    assert [(a.shape, a.dtype) for a in ours] == [(b.shape, b.dtype) for b in theirs]
    return sum(int((a != b).sum()) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", OPERATORS)
def test_one_operator(name: str) -> None:
    """The reference that is followed computes what the imported graph does."""
    compared = index = 0
    while compared < GRAPHS:
        drawn = draw(name, np.random.default_rng([SEED, 1, list(OPERATORS).index(name), index]))
        index += 1
        assert index < 5 * GRAPHS + 20, f"{name}: too many graphs are rejected, last {drawn.text}"
        followed = Reference.MICRO if Reference.MICRO in drawn.references else Reference.LITERT
        try:
            theirs = RUN[followed](drawn.model, *drawn.inputs)
        except Rejected:
            continue
        graph = tflite.from_bytes(drawn.model)
        assert not any(isinstance(node.operator, Unknown) for node in graph.nodes), f"{graph}"
        assert not differences(run(graph, drawn.inputs), theirs), f"EYRIE_SEED={SEED} {drawn.text}"
        compared += 1


# ---- Text and verification ----


@pytest.fixture
def small(tmp_path) -> Graph:
    net = Net(1, (1, 4, 4, 2)).pad("p", 0, 1, 0, 1).conv("c", 2, padding="VALID").pool("a", 2)
    return tflite.load(net.write(tmp_path))


def test_text(small: Graph) -> None:
    assert (
        str(small)
        == """\
inputs                 image int8[1,4,4,2] 0.00392157/-9
#0   PAD               image int8[1,4,4,2] 0.00392157/-9 -> p int8[1,5,5,2] 0.00392157/-9  \
margins 0 0 0 1 0 1 0 0  value -9
#1   CONV_2D           p int8[1,5,5,2] 0.00392157/-9 -> c int8[1,4,4,8] 0.05/-128  \
filters int8[8,2,2,2]  scales float32[8]  bias int32[8]
#2   AVERAGE_POOL_2D   c int8[1,4,4,8] 0.05/-128 -> a int8[1,2,2,8] 0.05/-128  kernel 2 2  stride 2 2
outputs                a int8[1,2,2,8] 0.05/-128"""
    )


def node(graph: Graph, number: int, **change: object) -> Graph:
    """The graph with a node that is changed."""
    nodes = list(graph.nodes)
    nodes[number] = replace(nodes[number], **change)
    return replace(graph, nodes=tuple(nodes))


PLANTED = {
    "made twice": (
        lambda graph: node(graph, 1, outputs=graph.nodes[0].outputs),
        "operator #1 CONV_2D: makes int8 1 x 4 x 4 x 8, its output is int8 1 x 5 x 5 x 2",
    ),
    "made again": (
        lambda graph: replace(graph, nodes=(*graph.nodes, graph.nodes[0])),
        "operator #0 PAD: makes p, which is there already",
    ),
    "not made": (
        lambda graph: replace(graph, nodes=graph.nodes[1:]),
        "operator #1 CONV_2D: takes p, which no operator before it makes",
    ),
    "made too late": (
        lambda graph: replace(graph, nodes=graph.nodes[::-1]),
        "operator #2 AVERAGE_POOL_2D: takes c, which no operator before it makes",
    ),
    "another of this name": (
        lambda graph: node(graph, 1, inputs=(replace(graph.nodes[0].outputs[0], shape=(1,)),)),
        "operator #1 CONV_2D: takes p, which no operator before it makes",
    ),
    "output not made": (
        lambda graph: replace(graph, nodes=graph.nodes[:2]),
        "the model's output a is made by no operator",
    ),
    "another output of this name": (
        lambda graph: replace(graph, outputs=(replace(graph.outputs[0], shape=(4, 2, 8)),)),
        "the model's output a is made by no operator",
    ),
    "an input as output": (
        lambda graph: replace(graph, outputs=graph.inputs),
        "the model's output image is one of its inputs",
    ),
    "an input is made": (
        lambda graph: node(graph, 0, outputs=(replace(graph.nodes[0].outputs[0], name="image"),)),
        "operator #0 PAD: makes image, which is there already",
    ),
    "input twice": (lambda graph: replace(graph, inputs=graph.inputs * 2), "the model has its input image twice"),
    "shape": (
        lambda graph: node(graph, 0, outputs=(replace(graph.nodes[0].outputs[0], shape=(1, 5, 4, 2)),)),
        "operator #0 PAD: makes int8 1 x 5 x 5 x 2, its output is int8 1 x 5 x 4 x 2",
    ),
    "type": (
        lambda graph: node(graph, 0, outputs=(replace(graph.nodes[0].outputs[0], dtype="int32"),)),
        "operator #0 PAD: makes int8 1 x 5 x 5 x 2, its output is int32 1 x 5 x 5 x 2",
    ),
    "scale": (
        lambda graph: node(
            graph, 0, outputs=(replace(graph.nodes[0].outputs[0], quantization=graph.output.quantization),)
        ),
        "operator #0 PAD: input and output differ in their scale or zero point",
    ),
    "operator": (lambda graph: node(graph, 0, operator=Add()), "operator #0 ADD: takes 2 tensors, has 1"),
    "attribute": (
        lambda graph: node(graph, 2, operator=Reshape(to=(1, 4, 4, 7))),
        "operator #2 RESHAPE: 1 x 4 x 4 x 8 values do not fill 1 x 4 x 4 x 7",
    ),
    "fill value": (
        lambda graph: node(graph, 0, operator=replace(graph.nodes[0].operator, value=255)),
        "operator #0 PAD: fills with 255, which is not int8",
    ),
    "values of a constant": (
        lambda graph: node(graph, 2, operator=Add(), inputs=(*graph.nodes[2].inputs, constant(np.zeros(9, np.int8)))),
        "operator #2 ADD: the constant ones is int8 8, its values are int8 9",
    ),
    "type of a constant": (
        lambda graph: node(graph, 2, operator=Add(), inputs=(*graph.nodes[2].inputs, constant(np.zeros(8, np.int16)))),
        "operator #2 ADD: the constant ones is int8 8, its values are int16 8",
    ),
    "outputs": (
        lambda graph: node(graph, 2, outputs=graph.nodes[2].outputs * 2),
        "operator #2 AVERAGE_POOL_2D: makes 1 tensors, has 2 outputs",
    ),
}


def constant(data: np.ndarray) -> QuantizedConstant:
    return QuantizedConstant(name="ones", shape=(8,), dtype="int8", quantization=Quantization(0.1, 0), data=data)


@pytest.mark.parametrize("what", PLANTED)
def test_planted_error_is_found(what: str, small: Graph) -> None:
    assert small.verified() is small
    plant, message = PLANTED[what]
    with pytest.raises(Malformed) as caught:
        plant(small).verified()
    assert str(caught.value) == f"{message}: convert the model again"
    assert caught.value.layer in (*(each.where for each in small.nodes), None)
