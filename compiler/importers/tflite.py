"""Reads a TensorFlow Lite int8 file into a Graph.

Source: the TensorFlow Lite schema (version 3) and the 8-bit quantization specification. Operators that
the machine does not run are refused by name and place.
"""

from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from compiler.graph import Graph, Node, Tensor
from model.operators import NO_PADS, Quantization, requantization, same_pads

_OPERATOR_NAMES = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
_ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6"}
_SAME = 0
_SUPPORTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "PAD", "RESHAPE")


class ImportFailure(ValueError):
    """The model can't be read or has something the machine does not run; the message is one line."""


def load(path: str | Path) -> Graph:
    """Raises ImportFailure."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ImportFailure(f"{path}: {error.strerror}") from error
    if data[4:8] != b"TFL3":
        raise ImportFailure(f"{path}: not a TensorFlow Lite file: compile an int8 .tflite model")
    try:
        model = schema.ModelT.InitFromPackedBuf(data, 0)
    except Exception as error:  # the reader raises whatever the damaged bytes lead to
        raise ImportFailure(f"{path}: damaged TensorFlow Lite file ({type(error).__name__})") from error
    if len(model.subgraphs) != 1:
        raise ImportFailure(f"{path}: {len(model.subgraphs)} subgraphs, one is supported")
    return _Importer(model).graph()


class _Importer:
    """Walks through the operators of the one subgraph."""

    def __init__(self, model: schema.ModelT) -> None:
        self.model, self.subgraph = model, model.subgraphs[0]
        self.renamed: dict[int, int] = {}  # outputs of operators that change no value

    def graph(self) -> Graph:
        nodes = []
        for place, operator in enumerate(self.subgraph.operators):
            code = self.model.operatorCodes[operator.opcodeIndex]
            name = _OPERATOR_NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]
            where = f"#{place}"
            if name not in _SUPPORTED:
                raise ImportFailure(f"operator {where} {name}: not supported; supported are {', '.join(_SUPPORTED)}")
            if name == "RESHAPE":
                self.renamed[operator.outputs[0]] = self._source(operator.inputs[0])
                continue
            nodes.append(getattr(self, f"_{name.lower()}")(operator, where))
        if not nodes:
            raise ImportFailure("the model has no operators")
        return Graph(tuple(nodes))

    # ---- Tensors ----

    def _source(self, index: int) -> int:
        return self.renamed.get(index, index)

    def _raw(self, index: int) -> schema.TensorT:
        return self.subgraph.tensors[index]

    def _activation(self, index: int, where: str) -> Tensor:
        tensor = self._raw(self._source(index))
        name = tensor.name.decode() if isinstance(tensor.name, bytes) else str(tensor.name)
        if tensor.type != schema.TensorType.INT8:
            raise ImportFailure(f"operator {where}: tensor {name} is not int8: quantise the model to int8")
        shape = [int(n) for n in tensor.shape][1:]
        shape = [1] * (3 - len(shape)) + shape
        return Tensor(name, tuple(shape), self._quantization(tensor))

    def _quantization(self, tensor: schema.TensorT) -> Quantization:
        return Quantization(float(tensor.quantization.scale[0]), int(tensor.quantization.zeroPoint[0]))

    def _constant(self, index: int, kind: type) -> np.ndarray:
        tensor = self._raw(index)
        buffer = np.asarray(self.model.buffers[tensor.buffer].data, np.uint8)
        return buffer.view(kind).reshape([int(n) for n in tensor.shape])

    # ---- Operators ----

    def _weighted(self, operator, where: str, op: str, filters: np.ndarray, kernel: tuple[int, int],
                  stride: int, pads: tuple[int, int, int, int]) -> Node:
        source = self._activation(operator.inputs[0], where)
        output = self._activation(operator.outputs[0], where)
        channels = filters.shape[-1] if op == "depthwise_conv2d" else filters.shape[0]
        has_bias = len(operator.inputs) > 2 and operator.inputs[2] >= 0
        bias = self._constant(operator.inputs[2], np.int32) if has_bias else np.zeros(channels, np.int32)
        scales = np.asarray(self._raw(operator.inputs[1]).quantization.scale, np.float32)
        scales = np.broadcast_to(scales, channels)
        activation = _ACTIVATIONS[operator.builtinOptions.fusedActivationFunction]
        limits = requantization(source.quantization, scales, output.quantization, activation)
        return Node(op, where, (source,), output, filters, bias, kernel, stride, pads, limits)

    def _window(self, operator, where: str, kernel: tuple[int, int]) -> tuple[int, tuple[int, int, int, int]]:
        options = operator.builtinOptions
        if options.strideH != options.strideW:
            raise ImportFailure(f"operator {where}: strides {options.strideH} and {options.strideW} differ")
        if getattr(options, "dilationHFactor", 1) != 1 or getattr(options, "dilationWFactor", 1) != 1:
            raise ImportFailure(f"operator {where}: dilation is not supported")
        shape = self._activation(operator.inputs[0], where).shape[:2]
        pads = same_pads(shape, kernel, options.strideH) if options.padding == _SAME else NO_PADS
        return int(options.strideH), pads

    def _conv_2d(self, operator, where: str) -> Node:
        filters = self._constant(operator.inputs[1], np.int8)
        kernel = filters.shape[1:3]
        return self._weighted(operator, where, "conv2d", filters, kernel, *self._window(operator, where, kernel))

    def _depthwise_conv_2d(self, operator, where: str) -> Node:
        filters = self._constant(operator.inputs[1], np.int8)[0]
        if operator.builtinOptions.depthMultiplier != 1:
            raise ImportFailure(f"operator {where}: depth multiplier {operator.builtinOptions.depthMultiplier}")
        kernel = filters.shape[:2]
        return self._weighted(operator, where, "depthwise_conv2d", filters, kernel, *self._window(operator, where, kernel))

    def _fully_connected(self, operator, where: str) -> Node:
        filters = self._constant(operator.inputs[1], np.int8)
        return self._weighted(operator, where, "fully_connected", filters, (1, 1), 1, NO_PADS)

    def _average_pool_2d(self, operator, where: str) -> Node:
        options = operator.builtinOptions
        kernel = (int(options.filterHeight), int(options.filterWidth))
        stride, pads = self._window(operator, where, kernel)
        source, output = (self._activation(n[0], where) for n in (operator.inputs, operator.outputs))
        return Node("average_pool2d", where, (source,), output, kernel=kernel, stride=stride, pads=pads)

    def _pad(self, operator, where: str) -> Node:
        margins = self._constant(operator.inputs[1], np.int32)
        if margins[0].any() or margins[3].any():
            raise ImportFailure(f"operator {where}: PAD of the batch or channel axis")
        source, output = (self._activation(n[0], where) for n in (operator.inputs, operator.outputs))
        pads = tuple(int(n) for n in margins[1:3].ravel())
        return Node("pad", where, (source,), output, pads=pads)
