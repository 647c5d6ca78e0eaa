# SPDX-License-Identifier: Apache-2.0
"""Moves of whole words of 8 channels: blocks of pixels, heads of attention, groups of channels, transposed
convolutions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.network import compile_network
from eyrie.compiler.parts import Compiled, compile_parts
from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.compiler.test_networks import check as check_images

SCALE = 0.05
Steps = tuple[tuple[int, ...], list[tuple[str, tuple[int, ...]]]]  # the shape of the source, and what happens to it


def whole(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def to_space(rng: np.random.Generator) -> Steps:
    rows, columns, down, across, words = (whole(rng, 1, most) for most in (17, 17, 3, 3, 3))
    parts = (1, rows, columns, down, across, 8 * words)
    made = (1, rows * down, columns * across, 8 * words)
    return (1, rows, columns, down * across * 8 * words), [
        ("RESHAPE", parts),
        ("TRANSPOSE", (0, 1, 3, 2, 4, 5)),
        ("RESHAPE", made),
    ]


def to_depth(rng: np.random.Generator) -> Steps:
    rows, columns, down, across, words = (whole(rng, 1, most) for most in (12, 12, 3, 3, 3))
    parts = (1, rows, down, columns, across, 8 * words)
    made = (1, rows, columns, down * across * 8 * words)
    return (1, rows * down, columns * across, 8 * words), [
        ("RESHAPE", parts),
        ("TRANSPOSE", (0, 1, 3, 2, 4, 5)),
        ("RESHAPE", made),
    ]


def to_heads(rng: np.random.Generator) -> Steps:
    times, heads, values = whole(rng, 2, 80), whole(rng, 2, 5), 8 * whole(rng, 1, 4)
    return (1, 1, times, heads * values), [("RESHAPE", (1, times, heads, values)), ("TRANSPOSE", (0, 2, 1, 3))]


def of_heads(rng: np.random.Generator) -> Steps:
    times, heads, values = whole(rng, 2, 80), whole(rng, 2, 5), 8 * whole(rng, 1, 4)
    return (1, heads, times, values), [("TRANSPOSE", (0, 2, 1, 3)), ("RESHAPE", (1, 1, times, heads * values))]


def shuffled(rng: np.random.Generator) -> Steps:
    rows, columns, groups, words = whole(rng, 1, 17), whole(rng, 1, 17), whole(rng, 2, 5), whole(rng, 2, 4)
    shape = (1, rows, columns, groups * words * 8)
    parts = (1, rows, columns, groups, words, 8)
    return shape, [("RESHAPE", parts), ("TRANSPOSE", (0, 1, 2, 4, 3, 5)), ("RESHAPE", shape)]


KINDS: dict[str, Callable[[np.random.Generator], Steps]] = {
    "to space": to_space,
    "to depth": to_depth,
    "to heads": to_heads,
    "of heads": of_heads,
    "shuffled": shuffled,
}


def network(rng: np.random.Generator, shape: tuple[int, ...], steps: list[tuple[str, tuple[int, ...]]]) -> bytes:
    """Return a pointwise convolution, the steps, and a pointwise convolution."""
    net = Builder()

    def pointwise(source: int, channels: int) -> int:
        taken = net.tensors[source].shape
        filters = rng.integers(-127, 128, (channels, 1, 1, taken[-1]))
        made = net.tensor((*taken[:3], channels), "int8", SCALE, 3)
        net.operator(
            "CONV_2D",
            [source, net.tensor(filters.shape, "int8", 0.004 / taken[-1] ** 0.5, data=filters)],
            [made],
            **STEPS,
        )
        return made

    x = net.tensor((*shape[:3], 8), "int8", SCALE, -7)
    made = pointwise(x, shape[-1])
    for name, numbers in steps:
        taken = net.tensors[made].shape
        to = numbers if name == "RESHAPE" else tuple(taken[axis] for axis in numbers)
        output = net.tensor(to, "int8", SCALE, 3)
        net.operator(name, [made, net.tensor((len(numbers),), "int32", data=np.array(numbers))], [output])
        made = output
    return net.pack([x], [pointwise(made, 8)])


def compiled(path: Path, model: bytes, config: AcceleratorConfig | None = None) -> Compiled:
    path.write_bytes(model)
    made = compile_parts(path, config or AcceleratorConfig())
    assert not made.partition.host_nodes, str(made.partition)
    return made


def check(made: Compiled, inputs: np.ndarray, back_end: Functional | Rtl) -> None:
    [got], [wanted] = back_end.run(made.network, [inputs]).outputs, golden_outputs(made.network.whole_graph(), [inputs])
    assert (got == wanted).all() and len(np.unique(wanted)) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_words_move_on_the_accelerator(kind: str, seed: int, tmp_path: Path) -> None:
    """Also maps that do not fit the GLB as a whole, and one network of each kind on the RTL."""
    for number in range(scaled(40)):
        rng = np.random.default_rng([seed, number])
        small = AcceleratorConfig(glb_bank_words=512) if rng.random() < 0.3 else None
        made = compiled(tmp_path / "net.tflite", network(rng, *KINDS[kind](rng)), small)
        inputs = rng.integers(-128, 128, (2, *made.graph.input.shape)).astype(np.int8)
        check(made, inputs, Functional())
        if not number:
            check(made, inputs[:1], Rtl())


def test_images_of_a_batch(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "net.tflite"
    for kind, steps in KINDS.items():
        path.write_bytes(network(rng, *steps(rng)))
        for images in (1, 3):
            check_images(compile_network(path, images=images), rng, kind)


@pytest.mark.parametrize(("taps", "channels"), [(2, 16), (3, 24), (4, 8), (2, 14)])
def test_transposed_convolutions_stay_on_the_accelerator(taps: int, channels: int, seed: int, tmp_path: Path) -> None:
    """Also channels that have to be filled up to whole words."""
    rng, net = np.random.default_rng(seed), Builder()
    x, made = (net.tensor(shape, "int8", SCALE, 3) for shape in ((1, 9, 7, 12), (1, 18, 14, channels)))
    filters = rng.integers(-127, 128, (channels, taps, taps, 12))
    constants = (
        net.tensor((4,), "int32", data=np.array(net.tensors[made].shape)),
        net.tensor(filters.shape, "int8", 0.01, data=filters),
    )
    net.operator("TRANSPOSE_CONV", [*constants, x], [made], strideH=2, strideW=2, padding=0)
    program = compiled(tmp_path / "net.tflite", net.pack([x], [made]))
    check(program, rng.integers(-128, 128, (2, 1, 9, 7, 12)).astype(np.int8), Functional())
    moves = [group for part in program.parts if part.stages for group in part.stages.groups]
    assert sum(isinstance(group, Elementwise) for group in moves) <= 2
