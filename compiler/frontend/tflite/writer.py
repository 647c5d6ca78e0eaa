# SPDX-License-Identifier: Apache-2.0
"""The writer of int8 .tflite files: the inverse of the reader.

Pads other than TensorFlow Lite's SAME become a PAD before the operator. A table becomes the operator that has the same
table, or several (functions.py).
"""

from collections.abc import Iterable

import flatbuffers  # type: ignore[import-untyped]  # the package has no types
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike

from eyrie.compiler.frontend.tflite.functions import nodes_of
from eyrie.compiler.frontend.tflite.written import Options, parts_of
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operators.convolution import DepthwiseConv2D, FullyConnected, Weighted, Windowed
from eyrie.compiler.ir.operators.movement import Pad
from eyrie.compiler.ir.operators.operator import quantized
from eyrie.compiler.ir.operators.pooling import MaxPool2D, Pool
from eyrie.compiler.ir.operators.tables import Lookup
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.model.operators.windows import NO_PADS, same_pads

SCHEMA_VERSION = 3
REMEDY = "replace the layer by others, or leave it out of the model"
_VERSIONS = {  # the first version with int8 and, for weights, a scale per channel; 2 for other operators
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 12,
    "RESHAPE": 1,
    "SQUEEZE": 1,
    "EXPAND_DIMS": 1,
    "HARD_SWISH": 1,
    "ELU": 1,
    "PRELU": 1,
    "RESIZE_NEAREST_NEIGHBOR": 3,
    "RESIZE_BILINEAR": 3,
}
_TYPES = {"int8": schema.TensorType.INT8, "int32": schema.TensorType.INT32, "float32": schema.TensorType.FLOAT32}


def written(graph: Graph, description: str = "") -> bytes:
    """Return the file's contents. Raise Unsupported, with the place, if TensorFlow Lite has no such operator."""
    file = _File()
    inputs, outputs = ([file.tensor(tensor) for tensor in side] for side in (graph.inputs, graph.outputs))
    for node in graph.nodes:
        try:
            file.write(node)
        except Unsupported as error:
            raise Unsupported(
                f"{node.outputs[0].name}: {node.operator.name}: {error.what}", layer=node.where, remedy=REMEDY
            ) from error
    return file.contents(inputs, outputs, description)


class _File:
    def __init__(self) -> None:
        self.tensors: list[schema.TensorT] = []
        self.buffers = [schema.BufferT()]  # buffer 0 means "no data", by convention
        self.operators: list[schema.OperatorT] = []
        self.codes: dict[str, int] = {}
        self._places: dict[str, int] = {}

    # ---- Operators ----

    def write(self, node: Node) -> None:
        operator = node.operator
        if isinstance(operator, Weighted):
            self._weighted(node, operator)
        elif isinstance(operator, Pool):
            self._pool(node, operator)
        elif isinstance(operator, Lookup):
            for each in nodes_of(node):
                self.write(each)
        elif isinstance(operator, Pad):
            self._pad(quantized(node.inputs[0]), operator.margins, operator.value, node.outputs[0])
        else:
            options, constants = parts_of(operator)
            inputs = [self.tensor(tensor) for tensor in node.inputs]
            inputs += [
                self.integers(f"{node.outputs[0].name}/{number}", values) for number, values in enumerate(constants)
            ]
            self.operator(operator.name, inputs, node.outputs, options)

    def _weighted(self, node: Node, operator: Weighted) -> None:
        name, source = node.outputs[0].name, quantized(node.inputs[0])
        dimension, filters = 0, operator.filters
        if filters.dtype != np.int8:
            raise Unsupported(f"its filters are {filters.dtype}, not int8")
        if isinstance(operator, DepthwiseConv2D):
            dimension, filters = 3, filters[None]
        options = _options(operator, source)
        options.fusedActivationFunction = getattr(schema.ActivationFunctionType, operator.activation)
        if isinstance(operator, Windowed):
            source = self._padded(node, operator, options, source.zero_point, operator.dilation)
        scales = operator.scales.astype(np.float32)
        inputs = [
            self.tensor(source),
            self.constant(f"{name}/filters", filters, scales, dimension),
            self.constant(f"{name}/bias", operator.bias, np.float32(source.quantization.scale) * scales),
        ]
        self.operator(operator.name, inputs, node.outputs, options)

    def _pool(self, node: Node, operator: Pool) -> None:
        options = schema.Pool2DOptionsT()
        options.filterHeight, options.filterWidth = map(int, operator.kernel)
        options.fusedActivationFunction = getattr(schema.ActivationFunctionType, operator.activation)
        least = -128 if isinstance(operator, MaxPool2D) else None  # which no maximum sees
        source = self._padded(node, operator, options, least)
        self.operator(operator.name, [self.tensor(source)], node.outputs, options)

    def _padded(
        self,
        node: Node,
        operator: Windowed | Pool,
        options: schema.Conv2DOptionsT | schema.DepthwiseConv2DOptionsT | schema.Pool2DOptionsT,
        value: int | None,
        dilation: tuple[int, int] = (1, 1),
    ) -> Quantized:
        """Write strides and padding into the options, and return the tensor that the window reads, padded if SAME
        differs.

        value: of the pads, None if pads have no value
        """
        source = quantized(node.inputs[0])
        options.strideH, options.strideW = map(int, operator.stride)
        options.padding = schema.Padding.VALID
        if tuple(operator.pads) == NO_PADS:
            return source
        if tuple(operator.pads) == tuple(same_pads(source.shape[1:3], operator.kernel, operator.stride, dilation)):
            options.padding = schema.Padding.SAME
            return source
        if value is None:
            raise Unsupported("its pads differ from SAME")
        batch, rows, columns, channels = source.shape
        top, bottom, left, right = operator.pads
        made = Quantized(
            name=f"{node.outputs[0].name}/padded",
            dtype="int8",
            quantization=source.quantization,
            shape=(batch, rows + top + bottom, columns + left + right, channels),
        )
        self._pad(source, ((0, 0), (top, bottom), (left, right), (0, 0)), value, made)
        return made

    def _pad(self, source: Quantized, margins: tuple[tuple[int, int], ...], value: int, made: Tensor) -> None:
        inputs = [self.tensor(source), self.integers(f"{made.name}/margins", margins)]
        if value == source.zero_point:
            self.operator("PAD", inputs, (made,), schema.PadOptionsT())
        else:
            fill = self.constant(
                f"{made.name}/value",
                np.array([value], np.int8),
                [source.quantization.scale],
                zero_point=source.zero_point,
            )
            self.operator("PADV2", [*inputs, fill], (made,), schema.PadV2OptionsT())

    def operator(
        self, name: str, inputs: list[int], outputs: tuple[Tensor, ...], options: Options | None = None
    ) -> None:
        made = schema.OperatorT()
        made.opcodeIndex = self.codes.setdefault(name, len(self.codes))
        made.inputs, made.outputs = inputs, [self.tensor(tensor) for tensor in outputs]
        if options is not None:
            made.builtinOptions = options
            made.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__.removesuffix("T"))
        self.operators.append(made)

    # ---- Tensors ----

    def tensor(self, tensor: Tensor) -> int:
        if tensor.name not in self._places:
            if tensor.dtype not in _TYPES or (isinstance(tensor, Quantized) and tensor.unsigned):
                raise Unsupported(f"tensor {tensor.name} is {tensor.dtype}, not int8")
            data = tensor.data if isinstance(tensor, Constant) else None
            place = self._add(tensor.name, tensor.shape, tensor.dtype, data)
            if isinstance(tensor, Quantized):
                self.tensors[place].quantization = _quantization([tensor.quantization.scale], tensor.zero_point)
            self._places[tensor.name] = place
        return self._places[tensor.name]

    def integers(self, name: str, values: ArrayLike) -> int:
        array = np.asarray(values, np.int32)
        return self._add(name, array.shape, "int32", array)

    def constant(
        self, name: str, data: np.ndarray, scales: Iterable[float], dimension: int = 0, zero_point: int = 0
    ) -> int:
        place = self._add(name, data.shape, str(data.dtype), data)
        self.tensors[place].quantization = _quantization(scales, zero_point, dimension)
        return place

    def _add(self, name: str, shape: tuple[int, ...], dtype: str, data: np.ndarray | None) -> int:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type = name, list(map(int, shape)), _TYPES[dtype]
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.buffers.append(buffer)
            tensor.buffer = len(self.buffers) - 1
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    # ---- File ----

    def contents(self, inputs: list[int], outputs: list[int], description: str) -> bytes:
        graph = schema.SubGraphT()
        graph.name, graph.tensors, graph.operators = "main", self.tensors, self.operators
        graph.inputs, graph.outputs = inputs, outputs
        model = schema.ModelT()
        model.version, model.description = SCHEMA_VERSION, description
        model.subgraphs, model.buffers = [graph], self.buffers
        model.operatorCodes = [_code(name) for name in self.codes]
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


def _code(name: str) -> schema.OperatorCodeT:
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), _VERSIONS.get(name, 2)
    return code


def _quantization(scales: Iterable[float], zero_point: int, dimension: int = 0) -> schema.QuantizationParametersT:
    made = schema.QuantizationParametersT()
    made.scale = [float(scale) for scale in scales]
    made.zeroPoint, made.quantizedDimension = [int(zero_point)] * len(made.scale), dimension
    return made


def _options(
    operator: Weighted, source: Tensor
) -> schema.Conv2DOptionsT | schema.DepthwiseConv2DOptionsT | schema.FullyConnectedOptionsT:
    if isinstance(operator, FullyConnected):
        options = schema.FullyConnectedOptionsT()
        options.keepNumDims = operator.keep_axes
        return options
    assert isinstance(operator, Windowed)  # no other one has weights
    if isinstance(operator, DepthwiseConv2D):
        options = schema.DepthwiseConv2DOptionsT()
        options.depthMultiplier = operator.outputs // source.shape[3]
    else:
        options = schema.Conv2DOptionsT()
    options.dilationHFactor, options.dilationWFactor = map(int, operator.dilation)
    return options
