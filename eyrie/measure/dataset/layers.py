# SPDX-License-Identifier: Apache-2.0
"""Random layers of the data set, as .tflite files.

Sizes are drawn evenly on a logarithmic scale. A layer with more than MAX_MACS, or with maps of more than MAX_VALUES, is
drawn again.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from eyrie.testing.tflite_builder import Builder

MAX_MACS, MAX_VALUES = 2_000_000, 60_000
SAME, VALID = 0, 1
SCALE = 0.05


@dataclass(frozen=True)
class Shape:
    """The sizes of a layer, in the terms of Eyeriss: H, W, C of the ifmap; M ofmap channels; R, S of the filter; U the
    stride. A fully connected layer has H = W = 1."""

    kind: str
    H: int
    W: int
    C: int
    M: int
    R: int = 1
    S: int = 1
    U: int = 1
    dilation: int = 1
    padding: str = "valid"

    @property
    def macs(self) -> int:
        """An upper bound of the MACs."""
        pixels = -(-self.H // self.U) * -(-self.W // self.U)
        depthwise = pixels * self.C * self.R * self.S
        if self.kind == "separable":
            return depthwise + pixels * self.C * self.M
        return depthwise * (self.M if self.kind in ("convolution", "pointwise", "fully_connected") else 1)

    @property
    def entries(self) -> dict[str, int | str]:
        return asdict(self)


def _log(rng: np.random.Generator, low: int, high: int) -> int:
    """Return a whole number that is even on a logarithmic scale, `high` included."""
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))


def _window(rng: np.random.Generator, kind: str, sizes: tuple[int, ...], channels: int, outputs: int) -> Shape:
    size, stride = int(rng.choice(sizes)), int(rng.choice((1, 1, 2)))
    dilation = int(rng.choice((1, 1, 1, 2))) if stride == 1 and kind == "convolution" else 1
    reach = dilation * (size - 1) + 1
    return Shape(
        kind,
        _log(rng, max(reach, 4), 96),
        _log(rng, max(reach, 4), 96),
        channels,
        outputs,
        size,
        size,
        stride,
        dilation,
        str(rng.choice(("same", "valid"))),
    )


def _convolution(rng: np.random.Generator) -> Shape:
    return _window(rng, "convolution", (3, 3, 5, 7), _log(rng, 1, 256), _log(rng, 1, 256))


def _pointwise(rng: np.random.Generator) -> Shape:
    return Shape("pointwise", _log(rng, 2, 96), _log(rng, 2, 96), _log(rng, 4, 512), _log(rng, 4, 512))


def _depthwise(rng: np.random.Generator) -> Shape:
    channels = _log(rng, 4, 512)
    return _window(rng, "depthwise", (3, 3, 5), channels, channels)


def _separable(rng: np.random.Generator) -> Shape:
    return _window(rng, "separable", (3,), _log(rng, 4, 256), _log(rng, 4, 256))


def _fully_connected(rng: np.random.Generator) -> Shape:
    return Shape("fully_connected", 1, 1, _log(rng, 32, 4096), _log(rng, 4, 1024))


def _pooling(kind: str) -> Callable[[np.random.Generator], Shape]:
    def draw(rng: np.random.Generator) -> Shape:
        channels = _log(rng, 4, 256)
        return _window(rng, kind, (2, 3), channels, channels)

    return draw


def _elementwise(kind: str) -> Callable[[np.random.Generator], Shape]:
    def draw(rng: np.random.Generator) -> Shape:
        channels = _log(rng, 4, 256)
        return Shape(kind, _log(rng, 4, 96), _log(rng, 4, 96), channels, channels)

    return draw


KINDS: dict[str, Callable[[np.random.Generator], Shape]] = {
    "convolution": _convolution,
    "pointwise": _pointwise,
    "depthwise": _depthwise,
    "separable": _separable,
    "fully_connected": _fully_connected,
    "max_pool": _pooling("max_pool"),
    "average_pool": _pooling("average_pool"),
    "add": _elementwise("add"),
    "multiply": _elementwise("multiply"),
    "logistic": _elementwise("logistic"),
}


def draw(rng: np.random.Generator, kind: str) -> Shape:
    """Return a random layer of a kind."""
    while True:
        shape = KINDS[kind](rng)
        if shape.macs <= MAX_MACS and shape.H * shape.W * max(shape.C, shape.M) <= MAX_VALUES:
            return shape


def model(rng: np.random.Generator, shape: Shape) -> bytes:
    """Return the .tflite file of a layer with random weights."""
    net = Builder()
    x = net.tensor((1, shape.H, shape.W, shape.C), "int8", SCALE, 3)
    if shape.kind in ("add", "multiply"):
        other = net.tensor((1, shape.H, shape.W, shape.C), "int8", SCALE, -5)
        made = net.tensor((1, shape.H, shape.W, shape.C), "int8", 2 * SCALE, 0)
        net.operator({"add": "ADD", "multiply": "MUL"}[shape.kind], (x, other), (made,))
        return net.pack((x, other), (made,))
    if shape.kind == "logistic":
        made = net.tensor((1, shape.H, shape.W, shape.C), "int8", 1 / 256, -128)
        net.operator("LOGISTIC", (x,), (made,))
        return net.pack((x,), (made,))
    if shape.kind in ("max_pool", "average_pool"):
        made = _pool(net, shape, x)
        return net.pack((x,), (made,))
    made = x
    if shape.kind in ("depthwise", "separable"):
        made = _weighted(net, rng, shape, made, "DEPTHWISE_CONV_2D")
    if shape.kind in ("convolution", "pointwise"):
        made = _weighted(net, rng, shape, made, "CONV_2D")
    if shape.kind == "separable":
        last = net.tensors[made].shape
        made = _weighted(net, rng, Shape("pointwise", last[1], last[2], shape.C, shape.M), made, "CONV_2D")
    if shape.kind == "fully_connected":
        made = _weighted(net, rng, shape, made, "FULLY_CONNECTED")
    return net.pack((x,), (made,))


def _output(shape: Shape) -> tuple[int, int]:
    lost = [0 if shape.padding == "same" else shape.dilation * (size - 1) for size in (shape.R, shape.S)]
    height, width = (-(-(size - less) // shape.U) for size, less in zip((shape.H, shape.W), lost))
    return height, width


def _pool(net: Builder, shape: Shape, source: int) -> int:
    made = net.tensor((1, *_output(shape), shape.C), "int8", SCALE, 3)
    options = {"strideH": shape.U, "strideW": shape.U, "filterHeight": shape.R, "filterWidth": shape.S}
    name = {"max_pool": "MAX_POOL_2D", "average_pool": "AVERAGE_POOL_2D"}[shape.kind]
    net.operator(name, (source,), (made,), padding=SAME if shape.padding == "same" else VALID, **options)
    return made


def _weighted(net: Builder, rng: np.random.Generator, shape: Shape, source: int, name: str) -> int:
    """Add a layer with weights; its output is a fresh tensor."""
    size: tuple[int, ...]
    made_shape: tuple[int, ...]
    channels = shape.C if name == "DEPTHWISE_CONV_2D" else shape.M
    if name == "FULLY_CONNECTED":
        size, axis, made_shape = (channels, shape.C), 0, (1, channels)
    elif name == "DEPTHWISE_CONV_2D":
        size, axis, made_shape = (1, shape.R, shape.S, channels), 3, (1, *_output(shape), channels)
    else:
        size, axis, made_shape = (channels, shape.R, shape.S, shape.C), 0, (1, *_output(shape), channels)
    scales = rng.uniform(0.002, 0.01, channels)
    filters = net.tensor(size, "int8", scales, axis=axis, data=rng.integers(-127, 128, size))
    bias = net.tensor((channels,), "int32", scales * SCALE, data=rng.integers(-2000, 2000, channels))
    made = net.tensor(made_shape, "int8", SCALE, -5)
    steps = {
        "strideH": shape.U,
        "strideW": shape.U,
        "dilationHFactor": shape.dilation,
        "dilationWFactor": shape.dilation,
    }
    options: dict[str, int] = {} if name == "FULLY_CONNECTED" else steps
    options |= {"depthMultiplier": 1} if name == "DEPTHWISE_CONV_2D" else {}
    padding = {} if name == "FULLY_CONNECTED" else {"padding": SAME if shape.padding == "same" else VALID}
    net.operator(name, (source, filters, bias), (made,), **options, **padding)
    return made
