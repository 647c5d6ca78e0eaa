# SPDX-License-Identifier: Apache-2.0
"""Operators of Relax one by one, held to TVM's own results."""

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("tvm", reason="make extra-tvm")

from tvm import ir, relax

import eyrie.tvm
from eyrie.compiler.operators.registry import translators
from tests.extras.tvm_networks import Module, constant, op, run

pytestmark = pytest.mark.extra("tvm")


ONE_COUNT = 0.995  # of the outputs
SAME = {"padding": (1, 1), "strides": (2, 2)}
OPERATORS: dict[str, Callable[[relax.Expr], relax.Expr]] = {
    "relu": op.nn.relu,
    "relu6": op.nn.relu6,
    "clip": lambda x: op.clip(x, -0.5, 0.9),
    "sigmoid": op.sigmoid,
    "tanh": op.tanh,
    "silu": op.nn.silu,
    "gelu": op.nn.gelu,
    "gelu tanh": op.nn.gelu_tanh,
    "leaky": lambda x: op.nn.leakyrelu(x, 0.2),
    "softplus": op.nn.softplus,
    "softplus with a threshold": lambda x: op.nn.softplus(x, threshold=0.3),
    "erf": op.erf,
    "exp": op.exp,
    "log": lambda x: op.log(op.add(x, constant(np.array(5.0), "float32"))),
    "abs": op.abs,
    "negative": op.negative,
    "times its sigmoid": lambda x: op.multiply(x, op.sigmoid(x)),
    "max": lambda x: op.nn.max_pool2d(x, (3, 3), **SAME),
    "average": lambda x: op.nn.avg_pool2d(x, (3, 3), **SAME),
    "average, counted": lambda x: op.nn.avg_pool2d(x, (3, 3), count_include_pad=True, **SAME),
    "adaptive": lambda x: op.nn.adaptive_avg_pool2d(x, (4, 5)),
    "adaptive to one": lambda x: op.nn.adaptive_avg_pool2d(x, (1, 1)),
    "mean": lambda x: op.mean(x, [2, 3]),
    "mean, kept": lambda x: op.mean(x, [2, 3], True),
    "flatten": lambda x: op.nn.batch_flatten(op.mean(x, [2, 3], True)),
    "squeeze": lambda x: op.squeeze(op.mean(x, [2, 3], True), [2, 3]),
    "permute": lambda x: op.permute_dims(x, [0, 1, 3, 2]),
    "pad": lambda x: op.nn.pad(x, (0, 0, 1, 0, 2, 1, 0, 3), pad_value=0.4),
    "slice": lambda x: op.strided_slice(x, [1, 3], [1, 2], [6, 9], [2, 1]),
    "concat": lambda x: op.concat([x, op.nn.relu(x)], 1),
    "add constant": lambda x: op.add(x, constant(np.linspace(-1, 1, 6).reshape(6, 1, 1), "float32")),
    "divide constant": lambda x: op.divide(x, constant(np.linspace(1, 2, 6).reshape(6, 1, 1), "float32")),
    "maximum": lambda x: op.maximum(x, op.negative(x)),
    "rescaled": lambda x: x,
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_operators(kind: str, dtype: str, seed: int) -> None:
    shift = 128 if dtype == "uint8" else 0
    scale, zero = (1 / 256, -128) if kind == "sigmoid" else (0.035, 3)

    def make(module: Module) -> relax.Expr:
        x = module.through(module.inputs[0], 0.03, 5 + shift, dtype=dtype)
        made = OPERATORS[kind](x)
        made = made if made is x else module.builder.emit(made)
        return module.through(made, scale, zero + shift, dtype=dtype)

    held_to_tvm(Module((1, 6, 8, 10)).module(make), scale, seed)


def held_to_tvm(module: ir.IRModule, scale: float, seed: int) -> eyrie.tvm.Report:
    """All of it runs on the accelerator, within one count."""
    shapes = [tuple(map(int, each.ty.shape)) for each in module["main"].params]
    split = eyrie.tvm.partitioned(module, "golden")
    found = eyrie.tvm.report(split)
    assert found.parts and not found.rest, str(found)
    ready, rng, off = relax.transform.RunCodegen()(split), np.random.default_rng([seed, 3]), []
    values = [rng.normal(0, 1.2, shape).astype(np.float32) for shape in shapes]
    expected = run(module, *values)[0]
    made = run(ready, *values)[0]
    assert made.shape == expected.shape and expected.std() > 0
    off = np.abs(made - expected) / scale
    assert np.mean(off < 1.01) >= ONE_COUNT and off.max() < 4, f"off by {off.max()} counts"
    return found


CONVOLUTIONS = {
    "same": ((8, 6, 3, 3), {"padding": (1, 1), "strides": (2, 2)}),
    "pads": ((8, 6, 3, 2), {"padding": (1, 0, 2, 1)}),
    "groups": ((6, 2, 3, 3), {"groups": 3, "dilation": (2, 1)}),
    "depthwise": ((12, 1, 3, 3), {"groups": 6}),
}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions(kind: str, batch: int, seed: int) -> None:
    """With a bias, of batches too."""
    (shape, attributes), rng = CONVOLUTIONS[kind], np.random.default_rng(seed)
    scales = rng.uniform(0.5, 1.5, shape[0]) / 127 / np.sqrt(np.prod(shape[1:]))

    def make(module: Module) -> relax.Expr:
        x = module.through(module.inputs[0], 0.03, 5)
        weights = module.weights(rng.integers(-127, 128, shape).astype(np.int8), scales)
        bias = module.weights(rng.integers(-200, 200, shape[0]).astype(np.int32), 0.03 * scales)
        made = module.builder.emit(op.nn.conv2d(x, weights, **attributes))
        return module.through(op.add(made, op.reshape(bias, (1, -1, 1, 1))), 0.02, 3)

    held_to_tvm(Module((batch, 6, 8, 10)).module(make), 0.02, seed)


@pytest.mark.parametrize("turn", [False, True])
def test_linear(turn: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-127, 128, (20, 48) if turn else (48, 20)).astype(np.int8)

    def make(module: Module) -> relax.Expr:
        x = module.through(module.inputs[0], 0.03, 5)
        weights = module.weights(codes, rng.uniform(0.5, 1.5, 20) / 900, axis=0 if turn else 1)
        weights = module.builder.emit(op.permute_dims(weights)) if turn else weights
        made = module.builder.emit(op.matmul(x, weights))
        return module.through(op.add(made, constant(rng.normal(0, 1, 20), "float32")), 0.03, 3)

    held_to_tvm(Module((2, 48)).module(make), 0.03, seed)


@pytest.mark.parametrize(
    ("kind", "operator", "wrong"),
    [
        ("tanh", "tanh", "erf"),
        ("leaky", "nn.leakyrelu", "nn.relu"),
        ("max", "nn.max_pool2d", "nn.avg_pool2d"),
        ("add constant", "add", "subtract"),
    ],
)
def test_a_wrong_translation_is_found(
    kind: str, operator: str, wrong: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    translations = translators("relax")
    monkeypatch.setitem(translations, operator, translations[wrong])
    with pytest.raises(AssertionError, match="^off by"):
        test_operators(kind, "int8", seed)
    monkeypatch.undo()
    test_operators(kind, "int8", seed)
