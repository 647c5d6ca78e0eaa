# SPDX-License-Identifier: Apache-2.0
"""Golden operators against two independent TensorFlow Lite implementations, on random graphs of one operator."""

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from eyrie.model.interpreters import RUN, Rejected
from eyrie.model.operators import convolution, elementwise, fixed_point, host, movement, pooling, quantization, tables
from eyrie.model.operators.reference import Reference
from eyrie.testing.samples import scaled
from tb.common.random_operators import OPERATORS, draw
from tb.common.seed import run_seed

GRAPHS = scaled(200)
SEED = run_seed()
SELDOM = ("HARD_SWISH", "LOGISTIC", "MUL", "PRELU", "RELU", "TANH")  # differ between the references, but hardly ever
OFTEN = ("FULLY_CONNECTED",)


@dataclass
class Tally:
    """The results of comparing many graphs. inside: sum of the shares of outputs that no clamp decided"""

    compared: Counter = field(default_factory=Counter)  # graphs by reference
    rejected: Counter = field(default_factory=Counter)
    outputs: int = 0
    inside: float = 0.0
    mismatches: int = 0
    first: str = "none"

    def compare(self, reference, drawn, got):
        self.compared[reference] += 1
        for number, (values, expected) in enumerate(zip(got, drawn.golden(reference), strict=True)):
            assert (values.shape, values.dtype) == (expected.shape, expected.dtype), drawn.text
            self.outputs += 1
            low, high = drawn.clamp
            self.inside += float(np.mean((values > low) & (values < high)))
            wrong = np.argwhere(values != expected)
            if len(wrong) and not self.mismatches:
                at = tuple(map(int, wrong[0]))
                self.first = f"output {number} at {at}: {reference} {values[at]}, golden {expected[at]}; {drawn.text}"
            self.mismatches += len(wrong)


def generators(name):
    """One generator per graph: more graphs, or one alone, never change the others."""
    index = 0
    while True:
        yield np.random.default_rng([SEED, list(OPERATORS).index(name), index])
        index += 1


def compare_graphs(name, graphs=GRAPHS):
    """Run random graphs of the operator `name` through the golden model and the references that have it.

    A graph that a reference rejects is drawn again; as many rejections as graphs end it.
    """
    tally, complete = Tally(), 0
    for rng in generators(name):
        drawn = draw(name, rng)
        try:
            results = {reference: RUN[reference](drawn.model, *drawn.inputs) for reference in drawn.references}
        except Rejected:
            tally.rejected[name] += 1
            assert tally.rejected[name] <= graphs, f"{name}: too many graphs are rejected, last {drawn.text}"
            continue
        for reference, got in results.items():
            tally.compare(reference, drawn, got)
        complete += 1
        if complete == graphs:
            return tally


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_equals_references(name):
    tally = compare_graphs(name)
    print(f"{name}: {tally} EYRIE_SEED={SEED}")
    assert tally.mismatches == 0, f"{tally.mismatches} wrong, first {tally.first}"
    assert max(tally.compared.values()) == GRAPHS > 0
    # A reference that has only some of the graphs has a fair part of them.
    assert min(tally.compared.values()) >= GRAPHS // 5
    # Graphs whose outputs are all clamped would agree whatever the arithmetic.
    assert tally.inside > 0.1 * tally.outputs > 0


def test_references_differ_where_documented():
    for name in OPERATORS:
        different = 0
        for rng, _ in zip(generators(name), range(500 if name in OFTEN else 20), strict=False):
            drawn = draw(name, rng)
            if len(drawn.references) == len(Reference):
                micro, litert = (drawn.golden(reference) for reference in Reference)
                different += any((one != other).any() for one, other in zip(micro, litert, strict=True))
        if name not in SELDOM:
            assert (different > 0) == (name in OFTEN), name


def round_once(x, multiplier, shift):
    return (np.multiply(x, multiplier, dtype=np.int64) + (1 << (30 - shift))) >> (31 - shift)


def pad_with_zero(ifmap, pads, _value, pad=convolution.pad):
    return pad(ifmap, pads, 0)


def scale_a_little_more(x, multiplier, shift):
    scaled = round_once(x, multiplier, shift)
    return scaled + (scaled >> 8)


def towards_zero(real):
    return np.trunc(real).astype(np.int64)


@pytest.mark.parametrize(
    ("name", "module", "attribute", "error"),
    [
        ("CONV_2D", quantization, "multiply_by_quantized_multiplier", round_once),
        ("FULLY_CONNECTED", quantization, "multiply_by_quantized_multiplier", round_once),
        ("FULLY_CONNECTED uint8", quantization, "round_away", towards_zero),
        ("CONV_2D", convolution, "pad", pad_with_zero),
        ("CONV_2D uint8", convolution, "pad", pad_with_zero),
        ("MAX_POOL_2D", pooling, "pad", pad_with_zero),
        ("DEPTHWISE_CONV_2D", convolution, "fold_zero_point", lambda bias, f, z, axis: np.int32(0)),
        ("AVERAGE_POOL_2D", pooling, "rounding_average", lambda total, count: total // count),
        (
            "MEAN",
            pooling,
            "mean_requantization",
            lambda input_, output, count: quantization.rescaling(input_.scale / output.scale / count, output),
        ),
        ("ADD", elementwise, "multiply_by_quantized_multiplier", scale_a_little_more),
        ("SUB", elementwise, "multiply_by_quantized_multiplier", scale_a_little_more),
        ("SQUARED_DIFFERENCE", elementwise, "multiply_by_quantized_multiplier", scale_a_little_more),
        ("MUL", quantization, "multiply_by_quantized_multiplier", round_once),
        ("PRELU", quantization, "multiply_by_quantized_multiplier", round_once),
        ("QUANTIZE", quantization, "quantize_multiplier", lambda real: (np.int32(2**30), np.int32(0))),
        ("QUANTIZE from float32", host, "round_away", towards_zero),
        ("LOGISTIC", fixed_point, "_EXP_OF_MINUS_EIGHTH", 1895147668 + (1 << 23)),
        ("TANH", fixed_point, "_THIRD", 715827883 * 2),
        ("HARD_SWISH", tables, "_int16", lambda values: values),
        ("SOFTMAX", host, "rounding_divide_by_pot", lambda x, exponent: x >> exponent),
        (
            "RESIZE_BILINEAR",
            host,
            "_neighbours",
            lambda *arguments, neighbours=host._neighbours: neighbours(*arguments)[::-1][:1] * 2,
        ),
        ("RESIZE_NEAREST_NEIGHBOR", movement, "round_away", towards_zero),
    ],
)
def test_planted_error_is_found(monkeypatch, name, module, attribute, error):
    monkeypatch.setattr(module, attribute, error)
    assert compare_graphs(name, graphs=180).mismatches > 0


def test_graphs_are_varied():
    """Convolutions have strides and dilations that differ by axis, both paddings, and fused activations."""
    texts = [draw("CONV_2D", rng).text for rng, _ in zip(generators("CONV_2D"), range(300), strict=False)]
    for pair in (r"strideH=(\d) strideW=(\d)", r"dilationHFactor=(\d) dilationWFactor=(\d)"):
        assert any(len(set(re.search(pair, text).groups())) == 2 for text in texts), f"no {pair}, EYRIE_SEED={SEED}"
    for word in ("padding=0", "padding=1", "/-128, constant", "Function=0", "Function=1", "Function=2", "Function=3"):
        assert any(word in text for text in texts), f"no {word}, EYRIE_SEED={SEED}"
