# SPDX-License-Identifier: Apache-2.0
"""The meaning of attributes, shapes and codes in ONNX: outputs have the names, types and shapes of onnxruntime's, and
values within one step of its. A model that mixes images is not run image by image.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="make extra-onnx")

import onnx
from onnx import TensorProto

import eyrie
from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.parts import compile_parts
from eyrie.model.interpreters import ONNXRUNTIME, run
from eyrie.testing.samples import scaled
from tests.extras.onnx_model import Model

pytestmark = pytest.mark.extra("onnx")

SCALE = 0.0517  # no result is half a step
STEP = 1.01  # of codes that differ by one


def of(kind: str, *constants: object, **attributes: object) -> Callable[[Model, str], str]:
    """Return a function that adds an operator between two quantisations."""

    def add(model: Model, x: str) -> str:
        others = ["" if each is None else model.constant(each) for each in constants]
        return model.through(model.add(kind, x, *others, **attributes), SCALE, 3)

    return add


def pad_codes(value: int | None) -> Callable[[Model, str], str]:
    """Return a function that pads codes, as onnxruntime's quantiser writes it."""

    def add(model: Model, x: str) -> str:
        by = model.scale(SCALE, -7)
        codes, fill = model.add("QuantizeLinear", x, *by), []
        if value is not None:
            fill = [model.constant(model.kind(value))]
        padded = model.add("Pad", codes, model.constant(np.array([0, 0, 1, 2, 0, 0, 2, 1])), *fill)
        return model.add("DequantizeLinear", padded, *by)

    return add


def pad_by_dequantised(model: Model, x: str) -> str:
    by = model.scale(SCALE, 5)
    fill = model.add("DequantizeLinear", model.constant(model.kind(17)), *by)
    margins = model.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2]))
    return model.through(model.add("Pad", x, margins, fill), SCALE, 5)


def channels_last(model: Model, x: str) -> str:
    by, of_weights = model.scale(SCALE, 5), model.constant(np.float32(0.01))
    codes = model.add("QuantizeLinear", x, *by)
    weights = model.constant(model.rng.integers(-127, 128, (4, 10, 3, 3)).astype(np.int8))
    zero = model.constant(np.int8(0))
    options = {"domain": "com.microsoft", "channels_last": 1}
    return model.add(
        "DequantizeLinear", model.add("QLinearConv", codes, *by, weights, of_weights, zero, *by, **options), *by
    )


def bias_by_rows(model: Model, x: str) -> str:
    rows = model.add("Reshape", x, model.constant(np.array([6, 80])))
    bias = model.constant(model.rng.normal(0, 2, (6, 1)).astype(np.float32))
    return model.through(model.add("Gemm", rows, model.weights(6, 80), bias, transB=1), SCALE, 3)


def cast_codes(model: Model, x: str) -> str:
    return model.add("Cast", model.add("QuantizeLinear", x, *model.scale(SCALE, 5)), to=TensorProto.FLOAT)


def times_a_vector(model: Model, x: str) -> str:
    return model.through(model.add("MatMul", x, model.constant(np.linspace(-1, 1, 10, dtype=np.float32))), SCALE, 3)


def resized(to: object, *, sizes: bool = False, **attributes: object) -> Callable[[Model, str], str]:
    factors = (None, np.array(to)) if sizes else (np.array(to, np.float32),)
    return of("Resize", None, *factors, **attributes)


NEAREST = {"mode": "nearest"}
OPERATORS: dict[str, Callable[[Model, str], str]] = {
    "pad codes": pad_codes(None),
    "pad codes by a code": pad_codes(31),
    "pad by a dequantised value": pad_by_dequantised,
    "channels last": channels_last,
    "bias by rows": bias_by_rows,
    "cast of codes": cast_codes,
    "times a vector": times_a_vector,
    "large slopes": of("PRelu", np.linspace(0, 9, 6, dtype=np.float32).reshape(6, 1, 1)),
    "fine result": lambda model, x: model.through(model.add("Conv", x, model.weights(4, 6, 3, 3)), 1e-9),
    "fine product": lambda model, x: model.through(
        model.add(
            "MatMul",
            model.through(model.add("Mul", x, model.constant(np.float32(1e4))), 500),
            model.add(
                "Transpose", model.through(model.add("Mul", x, model.constant(np.float32(1e4))), 500), perm=(0, 1, 3, 2)
            ),
        ),
        1e-3,
    ),
    "not a number": lambda model, x: model.through(model.add("Sqrt", model.add("Abs", x)), SCALE, 3),
    "mean of no axes": of("ReduceMean", axes=[1, 3]),
    "nearest, floor": resized(
        [1, 1, 2, 2], coordinate_transformation_mode="half_pixel", nearest_mode="floor", **NEAREST
    ),
    "nearest, prefer floor": resized([1, 1, 2, 2], coordinate_transformation_mode="half_pixel", **NEAREST),
    "nearest, asymmetric": resized(
        [1, 1, 2, 2], coordinate_transformation_mode="asymmetric", nearest_mode="floor", **NEAREST
    ),
    "nearest, other factors": resized(
        [1, 1, 2.1, 2.05], coordinate_transformation_mode="asymmetric", nearest_mode="floor", **NEAREST
    ),
    "linear": resized([1, 6, 16, 20], sizes=True, mode="linear"),
    "linear, by three": resized([1, 6, 24, 30], sizes=True, mode="linear"),
    "linear, other factors": resized([1, 1, 1.3, 2.45], mode="linear"),
    "linear, corners": resized(
        [1, 6, 32, 40], sizes=True, mode="linear", coordinate_transformation_mode="align_corners"
    ),
    "linear, to a pixel": resized(
        [1, 6, 1, 1], sizes=True, mode="linear", coordinate_transformation_mode="pytorch_half_pixel"
    ),
    "pool that rounds up": of("MaxPool", kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1), ceil_mode=1),
}


def same(path: Path, x: np.ndarray, scale: float) -> None:
    """Compare with onnxruntime."""
    made = eyrie.load(path, back_end="golden")(x)
    expected = run(ONNXRUNTIME, path.read_bytes(), [[x]])[0]
    assert list(made) == [each.name for each in onnx.load(path).graph.output]
    for got, wanted in zip(made.values(), expected, strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        assert np.abs(got.astype(float) - wanted).max() <= STEP * scale


@pytest.mark.parametrize("unsigned", [False, True], ids=["int8", "uint8"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, unsigned: bool, seed: int, tmp_path: Path) -> None:
    model = Model(seed, unsigned=unsigned)
    x = model.rng.normal(0, 1.2, model.shape).astype(np.float32)
    path = model.write(tmp_path / "net.onnx", OPERATORS[name](model, model.through("x", SCALE, 5)), version=13)
    same(path, x, 1e-9 if name == "fine result" else SCALE)


@pytest.mark.parametrize("kind", ["Flatten", "Relu", "Identity"])
@pytest.mark.parametrize("codes", [False, True])
def test_names_of_outputs(kind: str, codes: bool, seed: int, tmp_path: Path) -> None:
    """Also where an output has the values of another tensor."""
    model = Model(seed)
    first = model.through("x", SCALE, 5)
    if codes:
        kind, first = "Identity", model.add("QuantizeLinear", first, *model.scale(SCALE, 5))
    path = model.write(tmp_path / "net.onnx", model.add(kind, model.add(kind, first)), version=13)
    same(path, model.rng.normal(0, 1.2, model.shape).astype(np.float32), SCALE)


MIXING: dict[str, Callable[[Model, str], str]] = {
    "Transpose": of("Transpose", perm=(1, 0, 2, 3)),
    "ReduceMean": of("ReduceMean", axes=[0]),
    "Concat": lambda model, x: model.through(model.add("Concat", x, model.add("Relu", x), axis=0), SCALE, 3),
    "Softmax": of("Softmax", axis=0),
    "Add": of("Add", np.ones((2, 6, 1, 1), np.float32)),
    "Reshape": of("Reshape", np.array([-1, 10])),
}


def turned(model: Model, x: str) -> str:
    """Return values whose images are, for a while, along the second axis, and then along the first with others."""
    steps = model.add("Reshape", x, model.constant(np.array([0, 6, 80])))
    along = model.add("Relu", model.add("Transpose", steps, perm=(1, 0, 2)))
    one = model.add("Gather", along, model.constant(np.array([4, 0, 1])), axis=0)
    back = model.add("Reshape", model.add("Transpose", one, perm=(1, 0, 2)), model.constant(np.array([-1, 80])))
    product = model.add("MatMul", back, model.weights(80, 12, axis=1))
    return model.through(model.add("Reshape", product, model.constant(np.array([-1, 3, 12]))), SCALE, 3)


def divided(model: Model, x: str) -> str:
    size = model.add("Gather", model.add("Shape", x), model.constant(np.array(0)), axis=0)
    return model.through(model.add("Div", x, model.add("Cast", size, to=TensorProto.FLOAT)), SCALE, 3)


def picked(model: Model, x: str) -> str:
    return model.through(model.add("Gather", x, model.constant(np.array(3)), axis=-1), SCALE, 3)


def of_a_table(model: Model, x: str) -> str:
    """Return x and a table's first rows, as many as images."""
    by = model.scale(SCALE, 0)
    table = model.add(
        "DequantizeLinear", model.constant(model.rng.integers(-99, 99, (12, 1, 1, 10)).astype(np.int8)), *by
    )
    size = model.add(
        "Reshape",
        model.add("Gather", model.add("Shape", x), model.constant(np.array([0]))),
        model.constant(np.array([1])),
    )
    rows = model.add("Slice", table, model.constant(np.array([0])), size, model.constant(np.array([0])))
    return model.through(model.add("Add", x, rows), SCALE, 3)


def halved(model: Model, x: str) -> str:
    """Return the first half of values that images share an axis with."""
    shared = model.add("Reshape", x, model.constant(np.array([-1, 240])))
    size = model.add("Gather", model.add("Shape", x), model.constant(np.array([0])))
    rows = model.add("Slice", shared, model.constant(np.array([0])), size, model.constant(np.array([0])))
    return model.through(rows, SCALE, 3)


MIXING |= {"Div by the number of images": divided, "rows of a table": of_a_table, "half of an axis": halved}


@pytest.mark.parametrize("make", [turned, picked])
def test_images_that_are_apart(make: Callable[[Model, str], str], seed: int, tmp_path: Path) -> None:
    model = Model(seed, (3, 6, 8, 10))
    path = model.write(tmp_path / "net.onnx", make(model, model.through("x", SCALE, 5)), version=13, batch="N")
    same(path, model.rng.normal(0, 1.2, model.shape).astype(np.float32), SCALE)


def test_outputs_with_the_same_values(seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    codes = model.add("QuantizeLinear", "x", *model.scale(SCALE, 5))
    path = model.write(tmp_path / "net.onnx", codes, model.add("Identity", codes), version=13)
    with pytest.raises(ModelImportError, match="outputs .* and .* have the same values: export the model with one"):
        load(path)


def test_names_of_a_chain(seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    flat = model.add("Flatten", model.through("x", SCALE, 5))
    path = model.write(tmp_path / "net.onnx", flat, model.add("QuantizeLinear", flat, *model.scale(0.1, 2)), version=13)
    same(path, model.rng.normal(0, 1.2, model.shape).astype(np.float32), 1)


@pytest.mark.parametrize("name", MIXING)
@pytest.mark.parametrize("batch", [2, "N"])
def test_operators_that_mix_images(name: str, batch: int | str, seed: int, tmp_path: Path) -> None:
    """A batch of a fixed size is one run; one without a size is rejected."""
    model = Model(seed, (2, 6, 8, 10))
    path = model.write(
        tmp_path / "net.onnx", MIXING[name](model, model.through("x", SCALE, 5)), version=13, batch=batch
    )
    if batch == 2:
        same(path, model.rng.normal(0, 1.2, model.shape).astype(np.float32), SCALE)
    else:
        with pytest.raises(ModelImportError, match="export the model with a first axis of a fixed size"):
            load(path)


def reshaped(rng: np.random.Generator, shape: list[int]) -> list[int]:
    """Return a random shape of as many values: two axes become one, or one becomes two, or an axis of 1 comes."""
    axis = int(rng.integers(1, len(shape)))
    factors = [size for size in range(1, shape[axis] + 1) if shape[axis] % size == 0]
    if rng.random() < 0.5 and axis + 1 < len(shape):
        return [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    split = int(rng.choice(factors))
    return [*shape[:axis], split, shape[axis] // split, *shape[axis + 1 :]]


@pytest.mark.parametrize("number", range(scaled(60, least=12)))
def test_moves_of_axes(number: int, seed: int, tmp_path: Path) -> None:
    """Reshapes and transposes of a map that the layer before them has made."""
    model = Model(seed * 1000 + number)
    made = model.through(model.add("Conv", model.through("x", SCALE, 5), model.weights(12, 6, 1, 1)), SCALE, 3)
    shape = [1, 12, 8, 10]
    for _ in range(int(model.rng.integers(1, 6))):
        if model.rng.random() < 0.5:
            order = [0, *(1 + model.rng.permutation(len(shape) - 1)).tolist()]
            made, shape = model.add("Transpose", made, perm=order), [shape[axis] for axis in order]
        else:
            shape = reshaped(model.rng, shape)
            made = model.add("Reshape", made, model.constant(np.array(shape)))
    path = model.write(tmp_path / "net.onnx", made, version=13)
    same(path, model.rng.normal(0, 1.2, model.shape).astype(np.float32), SCALE)


def test_a_channel_shuffle(seed: int, tmp_path: Path) -> None:
    """The accelerator does it, between two layers."""
    model = Model(seed)
    made = model.through(model.add("Conv", model.through("x", SCALE, 5), model.weights(12, 6, 3, 3)), SCALE, 3)
    apart = model.add("Reshape", made, model.constant(np.array([1, 3, 4, 6, 8])))
    turned_ = model.add("Transpose", apart, perm=(0, 2, 1, 3, 4))
    shuffled = model.add("Reshape", turned_, model.constant(np.array([1, 12, 6, 8])))
    last = model.through(model.add("Conv", shuffled, model.weights(8, 12, 1, 1)), SCALE, 3)
    path = model.write(tmp_path / "net.onnx", last, version=13)
    same(path, model.rng.normal(0, 1.2, model.shape).astype(np.float32), SCALE)
    assert [str(part.side) for part in compile_parts(path).partition.parts] == ["host", "accelerator", "host"]
