# SPDX-License-Identifier: Apache-2.0
"""A writer of int8 TensorFlow Lite models: a small builder over the TFLite schema's object API.

    net = TfliteBuilder("what it is")
    x = net.input("image", (1, 32, 32, 3), Quant(1 / 255, -128))
    x = net.conv("conv0", x, weight, weight_scale, bias, Quant(0.02, -128), stride=1, relu=True)
    Path("net.tflite").write_bytes(net.build([x]))

Layers take quantised constants. Tensors are NHWC; weights are laid out as TFLite wants them: OHWI
for convolutions, 1HWC for depthwise ones, [outputs, inputs] for fully connected layers. Numbers
follow the TFLite int8 specification (https://ai.google.dev/edge/litert/models/quantization_spec):
weights symmetric, bias int32 with scale input * weight. Wrong shapes raise InputError with the
layer's name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from ai_edge_litert import schema_py_generated as tfl
from numpy.typing import DTypeLike

from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.model.errors import InputError

SCHEMA_VERSION = 3
# The oldest version of each operator that computes int8 (per channel if it has weights).
VERSIONS = {
    "ADD": 2,
    "AVERAGE_POOL_2D": 2,
    "CONCATENATION": 2,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 4,
    "HARD_SWISH": 1,
    "LOGISTIC": 2,
    "MAXIMUM": 2,
    "MAX_POOL_2D": 2,
    "MEAN": 2,
    "MINIMUM": 2,
    "MUL": 2,
    "PAD": 2,
    "RESHAPE": 1,
    "SUB": 2,
    "SQUARED_DIFFERENCE": 2,
    "TANH": 2,
}
TYPES = {np.dtype(np.int8): tfl.TensorType.INT8, np.dtype(np.int32): tfl.TensorType.INT32}
SAME, VALID = "SAME", "VALID"


class Quant(NamedTuple):
    """real = scale * (q - zero_point), one pair for the whole tensor."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class Tensor:
    """An activation of the model being built."""

    index: int
    shape: tuple[int, ...]
    quant: Quant


def _activation(relu: bool | int) -> int:
    """Return the activation: False: none, True: ReLU, 6: ReLU6."""
    kind = tfl.ActivationFunctionType
    return kind.RELU6 if relu == 6 else kind.RELU if relu else kind.NONE


def _window(rows: int, kernel: int, stride: int, padding: str) -> int:
    """Return how many output rows a window gives."""
    return -(-rows // stride) if padding == SAME else (rows - kernel) // stride + 1


_BINARY = {
    "ADD": tfl.AddOptionsT,
    "SUB": tfl.SubOptionsT,
    "SQUARED_DIFFERENCE": tfl.SquaredDifferenceOptionsT,
    "MUL": tfl.MulOptionsT,
    "MAXIMUM": tfl.MaximumMinimumOptionsT,
    "MINIMUM": tfl.MaximumMinimumOptionsT,
}


class TfliteBuilder:
    """Collects operators in execution order; every layer method returns its output tensor."""

    def __init__(self, description: str = ""):
        self.description = description
        self.tensors: list[tfl.TensorT] = []
        self.buffers = [tfl.BufferT()]  # buffer 0 means "no data", by convention
        self.codes: dict[str, int] = {}
        self.operators: list[tfl.OperatorT] = []
        self.inputs: list[int] = []

    # -- layers ------------------------------------------------------------------------------

    def input(self, name: str, shape: tuple[int, ...], quant: Quant) -> Tensor:
        """Add a model input, int8 of `shape`."""
        tensor = self._activation_tensor(name, shape, quant)
        self.inputs.append(tensor.index)
        return tensor

    def conv(
        self,
        name: str,
        x: Tensor,
        weight: np.ndarray,
        weight_scale: np.ndarray,
        bias: np.ndarray,
        out: Quant,
        stride: int = 1,
        padding: str = SAME,
        relu: bool | int = False,
    ) -> Tensor:
        """Add a convolution. `weight` is int8 [M, R, S, C], `weight_scale` [M], `bias` int32 [M]."""
        filters, height, width, channels = self._check(name, weight, 4, bias, 0, weight_scale)
        if channels != x.shape[3]:
            raise InputError(f"{name}: weight has {channels} channels, input has {x.shape[3]}")
        constants = self._constants(name, x, weight, weight_scale, bias, 0)
        return self._windowed(
            "CONV_2D", name, x, tfl.Conv2DOptionsT(), (height, width), filters, out, stride, padding, relu, constants
        )

    def depthwise(
        self,
        name: str,
        x: Tensor,
        weight: np.ndarray,
        weight_scale: np.ndarray,
        bias: np.ndarray,
        out: Quant,
        stride: int = 1,
        padding: str = SAME,
        relu: bool | int = False,
    ) -> Tensor:
        """Add a depthwise convolution. `weight` is int8 [1, R, S, C], `weight_scale` [C], `bias` int32 [C]."""
        one, height, width, channels = self._check(name, weight, 4, bias, 3, weight_scale)
        if one != 1 or channels != x.shape[3]:
            raise InputError(f"{name}: weight {weight.shape} does not fit input {x.shape}")
        options = tfl.DepthwiseConv2DOptionsT()
        options.depthMultiplier = 1
        constants = self._constants(name, x, weight, weight_scale, bias, 3)
        return self._windowed(
            "DEPTHWISE_CONV_2D", name, x, options, (height, width), channels, out, stride, padding, relu, constants
        )

    def fully_connected(
        self,
        name: str,
        x: Tensor,
        weight: np.ndarray,
        weight_scale: np.ndarray,
        bias: np.ndarray,
        out: Quant,
        relu: bool | int = False,
    ) -> Tensor:
        """Add a fully connected layer: `weight` int8 [M, C], `weight_scale` [1] (for the whole tensor), `bias` int32
        [M].
        """
        outputs, inputs = self._check(name, weight, 2, bias, 0)
        if inputs != int(np.prod(x.shape[1:])) or np.size(weight_scale) != 1:
            raise InputError(f"{name}: weight {weight.shape} does not fit input {x.shape}")
        options = tfl.FullyConnectedOptionsT()
        options.fusedActivationFunction = _activation(relu)
        constants = self._constants(name, x, weight, weight_scale, bias, 0)
        result = self._activation_tensor(name, (x.shape[0], outputs), out)
        return self._operator("FULLY_CONNECTED", options, [x.index, *constants], result)

    def pad(self, name: str, x: Tensor, top: int = 0, bottom: int = 0, left: int = 0, right: int = 0) -> Tensor:
        """Pad rows and columns with the input's zero point (a real zero)."""
        amounts = np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32)
        batch, rows, columns, channels = x.shape
        shape = (batch, rows + top + bottom, columns + left + right, channels)
        result = self._activation_tensor(name, shape, x.quant)
        inputs = [x.index, self._constant(f"{name}/paddings", amounts)]
        return self._operator("PAD", tfl.PadOptionsT(), inputs, result)

    def average_pool(self, name: str, x: Tensor, size: int, stride: int, padding: str = VALID) -> Tensor:
        """Add average pooling over size x size windows; the output keeps the input's scale."""
        return self._pool("AVERAGE_POOL_2D", name, x, size, stride, padding)

    def max_pool(self, name: str, x: Tensor, size: int, stride: int, padding: str = VALID) -> Tensor:
        """Add max pooling over size x size windows; the output keeps the input's scale."""
        return self._pool("MAX_POOL_2D", name, x, size, stride, padding)

    def _pool(self, kind: str, name: str, x: Tensor, size: int, stride: int, padding: str) -> Tensor:
        options = tfl.Pool2DOptionsT()
        options.filterHeight = options.filterWidth = size
        return self._windowed(kind, name, x, options, (size, size), x.shape[3], x.quant, stride, padding, False, [])

    def mean(self, name: str, x: Tensor, out: Quant, keep: bool = False) -> Tensor:
        """Add the mean over rows and columns: [N, C], or with `keep` [N, 1, 1, C]."""
        images, _, _, channels = x.shape
        result = self._activation_tensor(name, (images, 1, 1, channels) if keep else (images, channels), out)
        axes, options = self._constant(f"{name}/axes", np.array([1, 2], np.int32)), tfl.ReducerOptionsT()
        options.keepDims = keep
        return self._operator("MEAN", options, [x.index, axes], result)

    def function(self, kind: str, name: str, x: Tensor, out: Quant) -> Tensor:
        """Add a function of each value: HARD_SWISH, LOGISTIC or TANH."""
        options = tfl.HardSwishOptionsT() if kind == "HARD_SWISH" else None
        return self._operator(kind, options, [x.index], self._activation_tensor(name, x.shape, out))

    def concatenation(self, name: str, parts: list[Tensor]) -> Tensor:
        """Join tensors of one scale along their last axis."""
        if len({(part.shape[:-1], part.quant) for part in parts}) > 1:
            raise InputError(
                f"{name}: shapes {', '.join(str(part.shape) for part in parts)} or scales do not go together"
            )
        options = tfl.ConcatenationOptionsT()
        options.axis = len(parts[0].shape) - 1
        shape = *parts[0].shape[:-1], sum(part.shape[-1] for part in parts)
        result = self._activation_tensor(name, shape, parts[0].quant)
        return self._operator("CONCATENATION", options, [part.index for part in parts], result)

    def add(self, name: str, a: Tensor, b: Tensor, out: Quant, relu: bool | int = False) -> Tensor:
        """Add the elementwise sum of two tensors of one shape."""
        return self.binary("ADD", name, a, b, out, relu)

    def binary(self, kind: str, name: str, a: Tensor, b: Tensor, out: Quant, relu: bool | int = False) -> Tensor:
        """Add an operator of two tensors of one shape, or of a tensor and one value for each of its channels. Only ADD,
        SUB and MUL have a fused activation."""
        if b.shape not in (a.shape, (1, 1, 1, a.shape[-1])):
            raise InputError(f"{name}: shapes {a.shape} and {b.shape} differ")
        options = _BINARY[kind]()
        if relu or hasattr(options, "fusedActivationFunction"):
            options.fusedActivationFunction = _activation(relu)
        result = self._activation_tensor(name, a.shape, out)
        return self._operator(kind, options, [a.index, b.index], result)

    def reshape(self, name: str, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Reshape a tensor; the values stay the same."""
        if np.prod(shape) != np.prod(x.shape):
            raise InputError(f"{name}: {x.shape} cannot become {shape}")
        options = tfl.ReshapeOptionsT()
        options.newShape = list(shape)
        inputs = [x.index, self._constant(f"{name}/shape", np.array(shape, np.int32))]
        result = self._activation_tensor(name, shape, x.quant)
        return self._operator("RESHAPE", options, inputs, result)

    # -- file --------------------------------------------------------------------------------

    def build(self, outputs: list[Tensor]) -> bytes:
        """Return the .tflite file."""
        graph = tfl.SubGraphT()
        graph.name, graph.tensors, graph.operators = "main", self.tensors, self.operators
        graph.inputs, graph.outputs = self.inputs, [tensor.index for tensor in outputs]
        model = tfl.ModelT()
        model.version, model.description = SCHEMA_VERSION, self.description
        model.subgraphs, model.buffers = [graph], self.buffers
        model.operatorCodes = [self._code(name) for name in self.codes]
        return packed(model)

    # -- parts -------------------------------------------------------------------------------

    @staticmethod
    def _check(
        name: str, weight: np.ndarray, rank: int, bias: np.ndarray, channel_axis: int, scale: np.ndarray | None = None
    ) -> tuple[int, ...]:
        """Return the weight's shape if types and per-channel sizes agree."""
        if weight.dtype != np.int8 or bias.dtype != np.int32 or weight.ndim != rank:
            raise InputError(f"{name}: expected int8 weights of rank {rank} and an int32 bias")
        channels = weight.shape[channel_axis]
        if bias.shape != (channels,) or (scale is not None and np.shape(scale) != (channels,)):
            raise InputError(f"{name}: bias and weight scales must have {channels} entries")
        return weight.shape

    @staticmethod
    def _code(name: str) -> tfl.OperatorCodeT:
        code = tfl.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(tfl.BuiltinOperator, name)
        code.version = VERSIONS[name]
        return code

    def _tensor(self, name: str, shape: Sequence[int], dtype: DTypeLike, buffer: int = 0) -> tfl.TensorT:
        tensor = tfl.TensorT()
        tensor.name, tensor.shape, tensor.hasRank = name, [int(n) for n in shape], True
        tensor.type, tensor.buffer = TYPES[np.dtype(dtype)], buffer
        self.tensors.append(tensor)
        return tensor

    @staticmethod
    def _quantization(
        scales: Iterable[float], zero_points: Iterable[int], dimension: int = 0
    ) -> tfl.QuantizationParametersT:
        quantization = tfl.QuantizationParametersT()
        quantization.scale = [float(scale) for scale in scales]
        quantization.zeroPoint = [int(zero) for zero in zero_points]
        quantization.quantizedDimension = dimension
        return quantization

    def _activation_tensor(self, name: str, shape: Sequence[int], quant: Quant) -> Tensor:
        tensor = self._tensor(name, shape, np.int8)
        tensor.quantization = self._quantization([quant.scale], [quant.zero_point])
        return Tensor(len(self.tensors) - 1, tuple(shape), quant)

    def _constant(self, name: str, array: np.ndarray, scales: np.ndarray | None = None, dimension: int = 0) -> int:
        buffer = tfl.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        self.buffers.append(buffer)
        tensor = self._tensor(name, array.shape, array.dtype, len(self.buffers) - 1)
        if scales is not None:
            tensor.quantization = self._quantization(scales, np.zeros(len(scales)), dimension)
        return len(self.tensors) - 1

    def _constants(
        self, name: str, x: Tensor, weight: np.ndarray, weight_scale: np.ndarray, bias: np.ndarray, dimension: int
    ) -> list[int]:
        """Add a layer's weight and bias; the bias has one scale per channel: input * weight."""
        weight_scale = np.asarray(weight_scale, np.float32).reshape(-1)
        bias_scale = np.float32(x.quant.scale) * weight_scale
        return [
            self._constant(f"{name}/weight", weight, weight_scale, dimension),
            self._constant(f"{name}/bias", bias, bias_scale),
        ]

    def _windowed(
        self,
        kind: str,
        name: str,
        x: Tensor,
        options: tfl.Conv2DOptionsT | tfl.DepthwiseConv2DOptionsT | tfl.Pool2DOptionsT,
        kernel: tuple[int, int],
        channels: int,
        out: Quant,
        stride: int,
        padding: str,
        relu: bool | int,
        constants: list[int],
    ) -> Tensor:
        """Add an operator that slides a window (convolutions and pools)."""
        if padding not in (SAME, VALID) or len(x.shape) != 4:
            raise InputError(f"{name}: needs padding SAME or VALID and a 4-D input")
        options.padding = getattr(tfl.Padding, padding)
        options.strideH = options.strideW = stride
        options.fusedActivationFunction = _activation(relu)
        rows, columns = (_window(n, k, stride, padding) for n, k in zip(x.shape[1:3], kernel))
        result = self._activation_tensor(name, (x.shape[0], rows, columns, channels), out)
        return self._operator(kind, options, [x.index, *constants], result)

    def _operator(self, kind: str, options: object | None, inputs: list[int], result: Tensor) -> Tensor:
        operator = tfl.OperatorT()
        operator.opcodeIndex = self.codes.setdefault(kind, len(self.codes))
        operator.inputs, operator.outputs = inputs, [result.index]
        if options is not None:
            operator.builtinOptions = options
            operator.builtinOptionsType = getattr(tfl.BuiltinOptions, type(options).__name__.removesuffix("T"))
        self.operators.append(operator)
        return result
