# SPDX-License-Identifier: Apache-2.0
"""Reads a TensorFlow Lite int8 file into a Graph.

Source: the TensorFlow Lite schema (version 3) and the 8-bit quantization specification. Operators that
the machine does not run are refused by name and place.
"""

from collections import Counter
from math import prod
from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from compiler.frontend.file import ImportFailure, read_model
from compiler.ir.graph import Graph, Node, Tensor
from model.encoding import STREAM_LEVEL, STREAM_RANGE
from model.messages import times
from model.operators.quantization import Quantization, requantization
from model.operators.windows import NO_PADS, same_pads

_OPERATOR_NAMES = {
    value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)
}
_ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6"}
_ACTIVATION_NAMES = {value: name for name, value in vars(schema.ActivationFunctionType).items()
                     if isinstance(value, int)}
_TYPES = {schema.TensorType.INT8: np.int8, schema.TensorType.INT32: np.int32}
_SAME = 0
# Rows, columns and channels of a map: the fields of a stream's range; a loop counts channels, 4 at a time.
_LARGEST = (STREAM_RANGE.largest("rows"), STREAM_RANGE.largest("cols"), 4 * (STREAM_LEVEL.largest("last") + 1))
_SUPPORTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "PAD", "RESHAPE")


def load(path: str | Path) -> Graph:
    """Raises ImportFailure, which begins with the path."""
    data = read_model(path)
    try:
        model = schema.ModelT.InitFromPackedBuf(data, 0)
    except Exception as error:  # the schema's classes raise whatever the damaged bytes lead to
        raise ImportFailure(f"{path}: damaged TensorFlow Lite file: something in it lies beyond its end or "
                            "cannot be read: copy or convert the model again") from error
    importer = _Importer(model)
    try:
        return importer.graph()
    except ImportFailure as error:
        raise ImportFailure(f"{path}: {error}") from error
    except Exception as error:  # what is read may be nonsense
        raise ImportFailure(f"{path}: damaged TensorFlow Lite file: {importer.place} lacks a part or has one "
                            "that makes no sense: copy or convert the model again") from error


class _Importer:
    """Walks through the operators of the one subgraph."""

    def __init__(self, model: schema.ModelT) -> None:
        self.model = model
        self.place = "the model"  # what is being read, for messages
        self.renamed: dict[int, int] = {}  # outputs of operators that change no value

    def graph(self) -> Graph:
        if len(self.model.subgraphs) != 1:
            raise ImportFailure(f"{len(self.model.subgraphs)} subgraphs, one is supported")
        self.subgraph = self.model.subgraphs[0]
        self.names = Counter(self._name(index) for index in range(len(self.subgraph.tensors)))
        nodes: list[Node] = []
        ends = [self.subgraph.inputs, self.subgraph.outputs]
        if any(len(tensors) != 1 for tensors in ends):
            raise ImportFailure(f"inputs: {len(ends[0])}, outputs: {len(ends[1])}; one of each is supported")
        last = ends[0][0]
        for place, operator in enumerate(self.subgraph.operators):
            self.place = f"operator #{place}"
            code = self.model.operatorCodes[operator.opcodeIndex]
            number = max(code.builtinCode, code.deprecatedBuiltinCode)
            name = _OPERATOR_NAMES.get(number, f"number {number}")
            where = f"#{place}"
            self.place = f"operator {where} {name}"
            if name not in _SUPPORTED:
                raise ImportFailure(
                    f"operator {where} {name}: not supported; supported are {', '.join(_SUPPORTED)}")
            if operator.inputs[0] != last:
                raise ImportFailure(f"operator {where} {name}: its input is not what the operator before it "
                                    "makes: only chains are supported")
            last = operator.outputs[0]
            if name == "RESHAPE":
                self._reshape(operator, where)
            else:
                nodes.append(getattr(self, f"_{name.lower()}")(operator, where))
        if not nodes:
            raise ImportFailure("the model has no operators")
        if last != ends[1][0]:
            raise ImportFailure("the model's output is not that of its last operator")
        return Graph(tuple(nodes))

    # ---- Tensors ----

    def _source(self, index: int) -> int:
        return self.renamed.get(index, index)

    def _raw(self, index: int) -> schema.TensorT:
        return self.subgraph.tensors[index]

    def _name(self, index: int) -> str:
        name = self._raw(index).name.decode()
        return "".join(letter if letter.isprintable() else "?" for letter in name)

    def _activation(self, index: int, where: str) -> Tensor:
        index = self._source(index)
        tensor, name = self._raw(index), self._name(index)
        if self.names[name] > 1:  # the file may repeat names, we do not
            name = f"{name}#{index}"
        self._expect_type(index, np.int8, where)
        shape = self._activation_shape(index)
        if not 2 <= len(tensor.shape) <= 4 or not all(0 < n <= most for n, most in zip(shape, _LARGEST)):
            raise ImportFailure(f"operator {where}: tensor {name} is {times(tensor.shape)}, "
                                f"must be 1 x H x W x C, at most 1 x {times(_LARGEST)}")
        if tensor.shape[0] != 1:
            raise ImportFailure(f"operator {where}: tensor {name} is {times(tensor.shape)}, a batch of "
                                f"{tensor.shape[0]}: convert the model with a batch of 1")
        return Tensor(name, shape, self._quantization(tensor, where))

    def _expect_type(self, index: int, kind: type, where: str) -> None:
        if _TYPES.get(self._raw(index).type) is not kind:
            raise ImportFailure(f"operator {where}: tensor {self._name(index)} is not {np.dtype(kind)}: "
                                "quantise the model to int8")

    def _quantization(self, tensor: schema.TensorT, where: str) -> Quantization:
        values = tensor.quantization
        if values is None or values.scale is None or values.zeroPoint is None or not len(values.scale):
            raise ImportFailure(f"operator {where}: a tensor without scale: quantise the model to int8")
        try:
            return Quantization(float(values.scale[0]), int(values.zeroPoint[0]))
        except ValueError as error:
            raise ImportFailure(f"operator {where}: {error}: quantise the model to int8") from error

    def _constant(self, index: int, kind: type, where: str) -> np.ndarray:
        tensor = self._raw(index)
        self._expect_type(index, kind, where)
        data = self.model.buffers[tensor.buffer].data
        if data is None:
            raise ImportFailure(f"operator {where}: weights, biases and paddings must be constants")
        wanted = prod(int(n) for n in tensor.shape) * np.dtype(kind).itemsize
        if len(data) != wanted:
            raise ImportFailure(f"operator {where}: a constant of {times(tensor.shape)} has {len(data)} "
                                f"bytes, needs {wanted}: convert the model again")
        return np.asarray(data, np.uint8).view(kind).reshape([int(n) for n in tensor.shape])

    # ---- Operators ----

    def _weighted(self, operator, where: str, op: str, filters: np.ndarray, kernel: tuple[int, int],
                  stride: int, pads: tuple[int, int, int, int]) -> Node:
        source = self._activation(operator.inputs[0], where)
        output = self._activation(operator.outputs[0], where)
        depthwise = op == "depthwise_conv2d"
        channels = filters.shape[-1] if depthwise else filters.shape[0]
        taken = source.shape[2] if op != "fully_connected" else int(np.prod(source.shape))
        if filters.shape[-1] != taken or output.shape[2] != channels:
            raise ImportFailure(f"operator {where}: filters of {times(filters.shape)} do not go with a map "
                                f"of {times(source.shape)} and one of {times(output.shape)}: "
                                "convert the model again")
        has_bias = len(operator.inputs) > 2 and operator.inputs[2] >= 0
        bias = np.zeros(channels, np.int32)
        if has_bias:
            bias = self._constant(operator.inputs[2], np.int32, where).reshape(channels)
        weights = self._raw(operator.inputs[1])
        self._quantization(weights, where)
        if np.any(weights.quantization.zeroPoint):
            raise ImportFailure(f"operator {where}: filters with a zero point: quantise them symmetrically")
        scales = np.broadcast_to(np.asarray(weights.quantization.scale, np.float32), channels)
        fused = self._fused(operator, where)
        limits = requantization(source.quantization, scales, output.quantization, fused)
        node = Node(op, where, (source,), output, filters, bias, kernel, stride, pads, limits)
        return self._checked(node)

    def _fused(self, operator, where: str) -> str:
        number = operator.builtinOptions.fusedActivationFunction
        if number not in _ACTIVATIONS:
            raise ImportFailure(f"operator {where}: fused activation {_ACTIVATION_NAMES.get(number, number)}; "
                                f"supported are {', '.join(_ACTIVATIONS.values())}")
        return _ACTIVATIONS[number]

    @staticmethod
    def _checked(node: Node) -> Node:
        """The node, if its output has as many rows and columns as its window makes."""
        source, made = node.inputs[0].shape, node.output.shape
        top, bottom, left, right = node.pads
        if node.op == "fully_connected":
            expected = (1, 1)
        else:
            padded = (source[0] + top + bottom, source[1] + left + right)
            expected = tuple((size - taps) // node.stride + 1 for size, taps in zip(padded, node.kernel))
        if made[:2] != expected:
            raise ImportFailure(f"operator {node.where}: makes a map of {times(expected)}, its output is "
                                f"{times(made[:2])}: convert the model again")
        return node

    def _window(self, operator, where: str, kernel: tuple[int, int]) -> tuple[int, tuple[int, int, int, int]]:
        options = operator.builtinOptions
        if options.strideH != options.strideW or options.strideH < 1:
            raise ImportFailure(f"operator {where}: strides {options.strideH} and {options.strideW} differ")
        if getattr(options, "dilationHFactor", 1) != 1 or getattr(options, "dilationWFactor", 1) != 1:
            raise ImportFailure(f"operator {where}: dilation is not supported")
        shape = self._activation(operator.inputs[0], where).shape[:2]
        pads = same_pads(shape, kernel, options.strideH) if options.padding == _SAME else NO_PADS
        return int(options.strideH), pads

    def _conv_2d(self, operator, where: str) -> Node:
        filters = self._constant(operator.inputs[1], np.int8, where)
        kernel = filters.shape[1:3]
        window = self._window(operator, where, kernel)
        return self._weighted(operator, where, "conv2d", filters, kernel, *window)

    def _depthwise_conv_2d(self, operator, where: str) -> Node:
        filters = self._constant(operator.inputs[1], np.int8, where)[0]
        if operator.builtinOptions.depthMultiplier != 1:
            multiplier = operator.builtinOptions.depthMultiplier
            raise ImportFailure(f"operator {where}: depth multiplier {multiplier}, must be 1")
        kernel = filters.shape[:2]
        window = self._window(operator, where, kernel)
        return self._weighted(operator, where, "depthwise_conv2d", filters, kernel, *window)

    def _fully_connected(self, operator, where: str) -> Node:
        filters = self._constant(operator.inputs[1], np.int8, where)
        return self._weighted(operator, where, "fully_connected", filters, (1, 1), 1, NO_PADS)

    def _average_pool_2d(self, operator, where: str) -> Node:
        options = operator.builtinOptions
        if self._fused(operator, where) != "NONE":
            raise ImportFailure(f"operator {where} AVERAGE_POOL_2D: a fused activation is not supported")
        kernel = (int(options.filterHeight), int(options.filterWidth))
        stride, pads = self._window(operator, where, kernel)
        source, output = (self._activation(n[0], where) for n in (operator.inputs, operator.outputs))
        if source.quantization != output.quantization:
            raise ImportFailure(f"operator {where} AVERAGE_POOL_2D: input and output differ in their scale")
        node = Node("average_pool2d", where, (source,), output, kernel=kernel, stride=stride, pads=pads)
        return self._checked(node)

    def _pad(self, operator, where: str) -> Node:
        margins = self._constant(operator.inputs[1], np.int32, where)
        if margins.shape != (4, 2) or margins[0].any() or margins[3].any() or margins.min() < 0:
            raise ImportFailure(f"operator {where} PAD: only of rows and columns")
        source, output = (self._activation(n[0], where) for n in (operator.inputs, operator.outputs))
        if source.quantization != output.quantization:
            raise ImportFailure(f"operator {where} PAD: input and output differ in their scale")
        pads = tuple(int(n) for n in margins[1:3].ravel())
        return self._checked(Node("pad", where, (source,), output, pads=pads))

    def _reshape(self, operator, where: str) -> None:
        """Flattening changes no value's place; another shape does."""
        index, made = operator.inputs[0], operator.outputs[0]
        taken, given = self._activation(index, where).shape, self._activation_shape(made)
        if given != taken and given != (1, 1, int(np.prod(taken))):
            raise ImportFailure(f"operator {where} RESHAPE: {times(taken)} to {times(given)}: "
                                "only flattening")
        self.renamed[made] = self._source(index)

    def _activation_shape(self, index: int) -> tuple[int, ...]:
        """[H, W, C]: what is missing in front is 1."""
        shape = [int(n) for n in self._raw(index).shape][1:]
        return tuple([1] * (3 - len(shape)) + shape)
