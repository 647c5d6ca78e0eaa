# SPDX-License-Identifier: Apache-2.0
"""Float operators between DEQUANTIZE and QUANTIZE, each against PyTorch's float operator on the same codes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from eyrie.compiler.frontend.qdq import graph_of
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.ir.qdq.network import Network, Operation
from eyrie.compiler.ir.tensor import Tensor

WITHIN_ONE = 0.995  # of the outputs


class Net:
    """A network as it is built, and what PyTorch makes of its values."""

    def __init__(self, seed: int, dtype: str = "int8") -> None:
        self.rng, self.dtype = np.random.default_rng([seed, 77]), dtype
        self.inputs: list[Tensor] = []
        self.given: list[np.ndarray] = []
        self.constants: dict[str, np.ndarray] = {}
        self.operations: list[Operation] = []
        self.torch: dict[str, torch.Tensor] = {}

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        names = tuple(f"{kind}{len(self.operations)}_{n}" for n in range(outputs))
        self.operations.append(Operation(kind, inputs, names, f"#{len(self.operations)}", kind.title(), attributes))
        return names[0]

    def input(self, *shape: int, scale: float = 0.03, zero: int = 3) -> str:
        """Codes of a float input, dequantised."""
        name = f"x{len(self.inputs)}"
        self.inputs.append(Tensor(name=name, shape=shape, dtype="float32"))
        self.given.append(self.rng.normal(0, 1.5, shape).astype(np.float32))
        self.torch[name] = torch.tensor(self.given[-1])
        return self.quantised(name, scale, zero)

    def quantised(self, name: str, scale: float, zero: int = 0) -> str:
        """Through codes: their float value."""
        zero += 128 if self.dtype == "uint8" else 0
        attributes = {"scale": np.float32(scale), "zero_point": zero}
        codes = self.add("quantize", name, dtype=self.dtype, **attributes)
        low = 0 if self.dtype == "uint8" else -128
        steps = torch.round(self.torch[name].float() / np.float32(scale)) + zero
        self.torch[codes] = torch.clamp(steps, low, low + 255)
        back = self.add("dequantize", codes, **attributes)
        self.torch[back] = (self.torch[codes] - zero).double() * float(np.float32(scale))
        return back

    def weight(self, *shape: int, axis: int | None = 0, zeros: bool = False, dtype: str = "int8") -> str:
        name, count = f"w{len(self.constants)}", 1 if axis is None else shape[axis]
        low, high = (0, 256) if dtype == "uint8" else (-127, 128)
        codes = self.rng.integers(low, high, shape).astype(dtype)
        scale = self.rng.uniform(0.5, 1.5, count).astype(np.float32) / 127 / np.sqrt(np.prod(shape[1:]))
        zero = self.rng.integers(100, 150, count) if zeros else np.zeros(count, int)
        self.constants[name] = codes
        along = tuple(-1 if n == axis else 1 for n in range(len(shape))) if axis is not None else ()
        back = self.add(
            "dequantize",
            name,
            scale=scale if axis is not None else scale[0],
            zero_point=zero if axis is not None else int(zero[0]),
            axis=axis,
        )
        real = (codes.astype(float) - zero.reshape(along)) * scale.astype(float).reshape(along)
        self.torch[back] = torch.tensor(real)
        return back

    def constant(self, values: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(values, np.float32)
        self.torch[name] = torch.tensor(self.constants[name]).double()
        return name

    def apply(self, function: Callable[..., torch.Tensor], kind: str, *inputs: str, **attributes: object) -> str:
        made = self.add(kind, *inputs, **attributes)
        self.torch[made] = function(*(self.torch[name].double() for name in inputs))
        return made

    def graph(self, output: str) -> Graph:
        shapes = {name: tuple(value.shape) for name, value in self.torch.items()}
        return graph_of(Network(tuple(self.inputs), self.constants, tuple(self.operations), (output,), shapes))

    def check(self, made: str, scale: float | None = None, zero: int = -5, same: float = 0.9) -> Graph:
        """Quantises a value, and compares codes. same: how many have to be equal."""
        spread = float(self.torch[made].abs().max()) / 127 * 0.9
        name = self.quantised(made, scale or spread, zero)
        codes = self.operations[-2].outputs[0]
        graph = self.graph(codes)
        assert not any(isinstance(node.operator, Unknown) for node in graph.nodes), graph
        offset = 128 if self.dtype == "uint8" else 0
        expected = self.torch[codes].numpy().astype(int) - offset
        got = graph.run(*self.given)[graph.output.name].astype(int)
        assert got.shape == expected.shape
        off = np.abs(got - expected)
        assert (off <= 1).mean() >= WITHIN_ONE, f"{off.max()} off\n{graph}"
        assert (off == 0).mean() >= same, f"{(off == 0).mean()}\n{graph}"
        assert len(np.unique(expected)) > 8
        assert name
        return graph


def conv(function, bias=None, **options):
    def run(x, w, *b):
        b = b[0] if b else None
        return function(x, w, b, **options)

    return run


CONVOLUTIONS = {
    "plain": dict(weight=(8, 6, 3, 3), pads=(1, 1, 1, 1)),
    "pads differ": dict(weight=(8, 6, 3, 3), pads=(0, 1, 2, 1), strides=(2, 1)),
    "dilated": dict(weight=(5, 6, 2, 3), dilations=(2, 1)),
    "groups": dict(weight=(9, 2, 3, 3), groups=3),
    "depthwise": dict(weight=(6, 1, 3, 3), groups=6, pads=(1, 1, 1, 1), strides=(2, 2)),
    "depthwise of two": dict(weight=(12, 1, 3, 3), groups=6),
    "pointwise": dict(weight=(7, 6, 1, 1)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_convolutions(name: str, dtype: str, seed: int) -> None:
    options = dict(CONVOLUTIONS[name])
    net, weight = Net(seed, dtype), options.pop("weight")
    x, w = net.input(1, 6, 9, 11), net.weight(*weight)
    top, bottom, left, right = options.get("pads", (0, 0, 0, 0))

    def reference(x, w, b):
        return F.conv2d(
            F.pad(x, (left, right, top, bottom)),
            w,
            b,
            stride=options.get("strides", 1),
            dilation=options.get("dilations", 1),
            groups=options.get("groups", 1),
        )

    made = net.apply(reference, "conv", x, w, net.constant(net.rng.normal(0, 1, weight[0])), **options)
    net.check(made)


def test_a_convolution_over_columns_alone(seed: int) -> None:
    net = Net(seed)
    x, w = net.input(1, 6, 30), net.weight(8, 6, 5)
    net.check(net.apply(lambda x, w: F.conv1d(F.pad(x, (1, 3)), w, stride=2), "conv", x, w, pads=(1, 3), strides=(2,)))


def test_weights_with_zero_points(seed: int) -> None:
    net = Net(seed, "uint8")
    x, w = net.input(1, 6, 9, 9), net.weight(8, 6, 3, 3, axis=None, zeros=True, dtype="uint8")
    net.check(net.apply(F.conv2d, "conv", x, w))


@pytest.mark.parametrize("shape", [(1, 20), (1, 5, 20)])
def test_fully_connected(shape: tuple[int, ...], seed: int) -> None:
    """Weights that are transposed first, and a bias that is added behind."""
    net = Net(seed)
    x, w = net.input(*shape), net.weight(20, 12, axis=1)
    turned = net.apply(lambda w: w.T, "transpose", w, axes=(1, 0))
    made = net.apply(F.linear, "linear", x, turned)
    net.check(net.apply(torch.add, "add", made, net.constant(net.rng.normal(0, 1, 12))))


def test_what_follows_a_layer_becomes_part_of_it(seed: int) -> None:
    net = Net(seed)
    made = net.apply(F.conv2d, "conv", net.input(1, 6, 9, 9), net.weight(8, 6, 3, 3))
    parameters = [
        net.constant(net.rng.uniform(0.5, 2, 8) * (net.rng.choice([-1, 1], 8) if not n else 1)) for n in range(4)
    ]
    made = net.apply(
        lambda x, s, b, m, v: F.batch_norm(x, m, v, s, b, eps=1e-3), "batch_norm", made, *parameters, epsilon=1e-3
    )
    made = net.apply(torch.mul, "mul", made, net.constant(net.rng.uniform(0.5, 2, (1, 8, 1, 1))))
    made = net.apply(lambda x: x.clamp(0, 6), "clip", made, minimum=0.0, maximum=6.0)
    made = net.apply(lambda x: F.max_pool2d(x, 2), "max_pool", made, kernel=(2, 2), strides=(2, 2))
    graph = net.check(made, 0.05, -128)
    assert [node.operator.name for node in graph.nodes] == [
        "QUANTIZE",
        "TRANSPOSE",
        "CONV_2D",
        "MAX_POOL_2D",
        "TRANSPOSE",
    ]


def test_normalisation_by_itself(seed: int) -> None:
    net = Net(seed)
    parameters = [
        net.constant(net.rng.uniform(0.5, 2, 6) * (net.rng.choice([-1, 1], 6) if not n else 1)) for n in range(4)
    ]
    net.check(
        net.apply(lambda x, s, b, m, v: F.batch_norm(x, m, v, s, b), "batch_norm", net.input(1, 6, 7, 7), *parameters)
    )


BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum}


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize("other", [(1, 6, 7, 7), (1, 6, 1, 1)])
def test_two_tensors(kind: str, other: tuple[int, ...], seed: int) -> None:
    net = Net(seed)
    net.check(net.apply(BINARY[kind], kind, net.input(1, 6, 7, 7), net.input(*other, scale=0.025, zero=-9)))


@pytest.mark.parametrize("kind", [*BINARY, "div"])
def test_a_tensor_and_a_constant(kind: str, seed: int) -> None:
    net, function = Net(seed), BINARY.get(kind, torch.div)
    constant = net.constant(net.rng.uniform(0.5, 1.5, (6, 1, 1)))
    net.check(net.apply(function, kind, net.input(1, 6, 7, 7), constant))


@pytest.mark.parametrize("first,second", [(0, -128), (-128, -40)])
def test_a_sum_and_its_activation(first: int, second: int, seed: int) -> None:
    net = Net(seed)
    made = net.apply(torch.add, "add", net.input(1, 6, 7, 7), net.input(1, 6, 7, 7, scale=0.02, zero=first))
    net.check(net.apply(F.relu, "relu", made), zero=second)


FUNCTIONS = {
    "relu": (F.relu, {}),
    "sigmoid": (torch.sigmoid, {}),
    "tanh": (torch.tanh, {}),
    "silu": (F.silu, {}),
    "hard_swish": (F.hardswish, {}),
    "hard_sigmoid": (F.hardsigmoid, {}),
    "erf": (torch.erf, {}),
    "exp": (torch.exp, {}),
    "abs": (torch.abs, {}),
    "neg": (torch.neg, {}),
    "softplus": (F.softplus, {}),
    "mish": (F.mish, {}),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), {"alpha": 0.2}),
    "elu": (lambda x: F.elu(x, 0.7), {"alpha": 0.7}),
    "gelu": (F.gelu, {}),
    "clip": (lambda x: x.clamp(-0.7, 1.1), {"minimum": -0.7, "maximum": 1.1}),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions(kind: str, seed: int) -> None:
    """One table, without a transposition."""
    net, (function, attributes) = Net(seed), FUNCTIONS[kind]
    graph = net.check(net.apply(function, kind, net.input(1, 6, 7, 7), **attributes))
    assert [node.operator.name for node in graph.nodes] == ["QUANTIZE", "TABLE"]


def test_a_logarithm(seed: int) -> None:
    """Values above zero give one table; the result of others is not a number."""
    net = Net(seed)
    x = net.input(1, 6, 7, 7)
    raised = net.apply(torch.add, "add", x, net.constant(np.array(6.0)))
    graph = net.check(net.apply(torch.log, "log", raised))
    assert [node.operator.name for node in graph.nodes] == ["QUANTIZE", "TABLE"]
    codes = net.add("quantize", net.add("log", x), scale=np.float32(0.02), zero_point=0, dtype="int8")
    graph = graph_of(Network(tuple(net.inputs), net.constants, tuple(net.operations), (codes,)))
    assert "its result is no number for some of its inputs" in {
        node.operator.reason for node in graph.nodes if isinstance(node.operator, Unknown)
    }


def test_an_input_that_is_clipped_before_it_is_quantised(seed: int) -> None:
    net = Net(seed)
    net.inputs.append(Tensor(name="x", shape=(1, 6, 7, 7), dtype="float32"))
    net.given.append(net.rng.normal(0, 1.5, (1, 6, 7, 7)).astype(np.float32))
    net.torch["x"] = torch.tensor(net.given[0])
    net.check(net.apply(F.relu, "relu", "x"), 0.02)


def test_codes_of_a_narrower_range(seed: int) -> None:
    """As PyTorch has them: minimum and maximum of a QUANTIZE."""
    net = Net(seed)
    made = net.apply(F.conv2d, "conv", net.input(1, 6, 9, 9), net.weight(8, 6, 3, 3))
    scale, attributes = np.float32(float(net.torch[made].abs().max()) / 200), {"minimum": -100, "maximum": 90}
    codes = net.add("quantize", made, scale=scale, zero_point=4, dtype="int8", **attributes)
    expected = (torch.round(net.torch[made].float() / scale) + 4).clamp(-100, 90).numpy().astype(int)
    found = net.graph(codes).run(*net.given)[codes].astype(int)
    assert (np.abs(found - expected) <= 1).all() and {-100, 90} & {found.min(), found.max()}


def test_a_function_of_several_operators_is_one_table(seed: int) -> None:
    net = Net(seed)
    x = net.input(1, 6, 7, 7)
    gate = net.apply(torch.sigmoid, "sigmoid", net.apply(torch.mul, "mul", x, net.constant(np.array(1.7))))
    graph = net.check(net.apply(torch.mul, "mul", x, gate))
    assert [node.operator.name for node in graph.nodes] == ["QUANTIZE", "TABLE"]


POOLS = {
    "max": ("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), dict(kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))),
    "average": ("average_pool", lambda x: F.avg_pool2d(x, 2), dict(kernel=(2, 2), strides=(2, 2))),
    "padded": (
        "average_pool",
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        dict(kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
    ),
    "pads counted": (
        "average_pool",
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        dict(kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1), count_pads=True),
    ),
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("scale", [0.03, 0.026])
def test_pools(name: str, scale: float, seed: int) -> None:
    """A quarter of the averages of four are ties, which go to even values or away from zero; those that leave pads
    out are rounded twice where the scale changes."""
    net, (kind, function, attributes) = Net(seed), POOLS[name]
    net.check(net.apply(function, kind, net.input(1, 6, 12, 12), **attributes), scale, 3, same=0.6)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", [(2, 3), (-1,), (1,)])
def test_means(axes: tuple[int, ...], keep: bool, seed: int) -> None:
    net = Net(seed)
    net.check(
        net.apply(lambda x: x.mean(axes, keepdim=keep), "mean", net.input(1, 30, 7, 8), axes=axes, keep=keep), same=0.6
    )


def test_a_mean_of_other_axes_behind_a_mean(seed: int) -> None:
    """Axes are counted without the one that is gone."""
    net = Net(seed)
    made = net.apply(lambda x: x.mean(1), "mean", net.input(1, 6, 7, 30), axes=(1,))
    net.check(net.apply(lambda x: x.mean(1), "mean", made, axes=(1,)), same=0.6)


@pytest.mark.parametrize("keep", [False, True])
def test_a_mean_of_means_is_one(keep: bool, seed: int) -> None:
    net = Net(seed)
    made = net.apply(lambda x: x.mean(-1, keepdim=keep), "mean", net.input(1, 30, 7, 8), axes=(-1,), keep=keep)
    axis = -2 if keep else -1
    graph = net.check(net.apply(lambda x: x.mean(axis, keepdim=keep), "mean", made, axes=(axis,), keep=keep), same=0.6)
    assert sum(node.operator.name == "MEAN" for node in graph.nodes) == 1


MOVES = {
    "reshape": (lambda x: x.reshape(1, 4, 63, 2), dict(shape=(1, 4, 63, 2))),
    "transpose": (lambda x: x.permute(0, 2, 1, 3), dict(axes=(0, 2, 1, 3))),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 3), value=0.6), dict(margins=((0, 0), (0, 0), (0, 3), (1, 2)), value=0.6)),
    "slice": (lambda x: x[:, 1:5:2, 2:, :6], dict(begin=(0, 1, 2, 0), end=(1, 5, 7, 6), steps=(1, 2, 1, 1))),
    "gather": (lambda x: x[:, [3, 0, 5]], dict(axis=1, places=(3, 0, -1))),
    "resize_nearest": (lambda x: F.interpolate(x, scale_factor=2), dict(size=(14, 24))),
}


@pytest.mark.parametrize("kind", MOVES)
@pytest.mark.parametrize("behind_a_layer", [False, True])
def test_moves(kind: str, behind_a_layer: bool, seed: int) -> None:
    """Of the input, and of what a convolution has with channels last."""
    net, (function, attributes) = Net(seed), MOVES[kind]
    x = net.input(1, 6, 7, 12)
    if behind_a_layer:
        x = net.apply(F.conv2d, "conv", x, net.weight(6, 6, 1, 1))
    net.check(net.apply(function, kind, x, **attributes))


def test_joined_and_split(seed: int) -> None:
    net = Net(seed)
    x = net.input(1, 6, 7, 7)
    layer = net.apply(F.conv2d, "conv", x, net.weight(4, 6, 1, 1))
    layer = net.quantised(layer, 0.02, 1)
    joined = net.apply(lambda a, b: torch.cat([a, b], 1), "concat", layer, x, axis=1)
    joined = net.quantised(joined, 0.03, 2)
    first = net.add("split", joined, outputs=2, axis=1, sizes=(3, 7))
    parts = torch.split(net.torch[joined], (3, 7), 1)
    for name, part in zip(net.operations[-1].outputs, parts):
        net.torch[name] = part
    # A scale that is no smaller: a count of difference, which a tie of the one before can make, stays one.
    net.check(net.operations[-1].outputs[1] if net.rng.integers(2) else first, 0.031)


@pytest.mark.parametrize("axis", [1, -1])
def test_softmax(axis: int, seed: int) -> None:
    net = Net(seed)
    net.check(net.apply(lambda x: F.softmax(x, axis), "softmax", net.input(1, 6, 7, 7), axis=axis), 1 / 256, -128)


def test_codes_are_pooled_and_moved(seed: int) -> None:
    """Operators between QUANTIZE and DEQUANTIZE."""
    net = Net(seed, "uint8")
    net.input(1, 6, 8, 8)
    codes = net.operations[-2].outputs[0]
    pooled = net.apply(lambda x: F.max_pool2d(x, 2), "max_pool", codes, kernel=(2, 2), strides=(2, 2))
    flat = net.apply(lambda x: x.reshape(1, 96), "reshape", pooled, shape=(1, 96))
    back = net.add("dequantize", flat, scale=np.float32(0.03), zero_point=131)
    net.torch[back] = (net.torch[flat] - 131).double() * float(np.float32(0.03))
    net.check(net.apply(F.linear, "linear", back, net.weight(20, 96)))


# ---- What is rejected ----


def rejected(net: Net, output: str) -> str:
    graph = net.graph(output)
    (node,) = (node for node in graph.nodes if isinstance(node.operator, Unknown))
    return f"{node.where} {node.operator.name}: {node.operator.reason}"


def test_an_operator_that_is_not_known(seed: int) -> None:
    net = Net(seed)
    made = net.apply(lambda x: x, "unknown", net.input(1, 6, 8, 8), reason="no such operator is known")
    net.quantised(made, 0.1)
    assert rejected(net, net.operations[-2].outputs[0]) == "#2 Unknown: no such operator is known"


def test_float_between_layers(seed: int) -> None:
    net = Net(seed)
    made = net.apply(F.conv2d, "conv", net.input(1, 6, 8, 8), net.weight(8, 6, 3, 3))
    made = net.apply(F.conv2d, "conv", made, net.weight(8, 8, 3, 3))
    net.quantised(made, 0.1)
    assert "#5 Conv: its input conv3_0 is not quantised: quantise" in rejected(net, net.operations[-2].outputs[0])


def test_float_weights(seed: int) -> None:
    net = Net(seed)
    made = net.apply(F.conv2d, "conv", net.input(1, 6, 8, 8), net.constant(net.rng.normal(0, 1, (8, 6, 3, 3))))
    net.quantised(made, 0.1)
    assert "#2 Conv: its weights are no quantised constant" in rejected(net, net.operations[-2].outputs[0])


def test_a_shape_that_the_framework_does_not_have(seed: int) -> None:
    net = Net(seed)
    made = net.apply(lambda x, w: F.conv2d(x, w, padding=1), "conv", net.input(1, 6, 8, 8), net.weight(8, 6, 3, 3))
    net.quantised(made, 0.1)
    with pytest.raises(ModelImportError, match="^operator #3 Conv: makes 1 x 8 x 6 x 6, the model says 1 x 8 x 8 x 8"):
        net.graph(net.operations[-2].outputs[0])
