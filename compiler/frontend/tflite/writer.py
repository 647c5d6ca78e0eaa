# SPDX-License-Identifier: Apache-2.0
"""The writer of int8 .tflite files: the inverse of the reader.

Pads other than TensorFlow Lite's SAME become a PAD before the operator. A table becomes the operator that has the same
table, or several (functions.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike

from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.compiler.frontend.tflite.functions import nodes_of
from eyrie.compiler.frontend.tflite.options import options_table
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.ir.window import Window
from eyrie.compiler.operators.padding import Pad
from eyrie.compiler.operators.record import Record
from eyrie.compiler.operators.registry import version_of
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.windows import NO_PADS, same_pads

SCHEMA_VERSION = 3
REMEDY = "replace the layer by others, or leave it out of the model"
_TYPES = {name: getattr(schema.TensorType, name.upper()) for name in ("int8", "int32", "int64", "float32")}


def written(graph: Graph, description: str = "") -> bytes:
    """Return the file's contents. Raise Unsupported, with the place, if TensorFlow Lite has no such operator."""
    file = File()
    inputs, outputs = ([file.tensor(tensor) for tensor in side] for side in (graph.inputs, graph.outputs))
    for node in graph.nodes:
        try:
            file.write(node)
        except Unsupported as error:
            raise Unsupported(
                f"{node.outputs[0].name}: {node.operator.name}: {error.what}", layer=node.where, remedy=REMEDY
            ) from error
    return file.contents(inputs, outputs, description)


class File:
    """A file in progress, which records of operators write to. Tensors have indices."""

    def __init__(self) -> None:
        self.tensors: list[schema.TensorT] = []
        self.buffers = [schema.BufferT()]  # buffer 0 means "no data", by convention
        self.operators: list[schema.OperatorT] = []
        self.codes: dict[str, int] = {}
        self._places: dict[str, int] = {}

    # ---- Operators ----

    def write(self, node: Node) -> None:
        if not isinstance(node.operator, Record):
            raise Unsupported("it is not written to TensorFlow Lite")
        node.operator.write(node, self)

    def operator(
        self,
        node: Node,
        name: str,
        options: Mapping[str, object],
        *constants: ArrayLike,
        inputs: tuple[Tensor, ...] | None = None,
        others: tuple[int, ...] = (),
    ) -> None:
        """Add an operator.

        options    by the schema's names; the fused activation has the name of its activation
        constants  integers that follow the inputs
        inputs     of the node, by default; others: inputs after the constants
        """
        made, output = schema.OperatorT(), node.outputs[0].name
        made.opcodeIndex = self.codes.setdefault(name, len(self.codes))
        made.inputs = [self.tensor(tensor) for tensor in (node.inputs if inputs is None else inputs)]
        made.inputs += [self.integers(f"{output}/{number}", values) for number, values in enumerate(constants)]
        made.inputs += others
        made.outputs = [self.tensor(tensor) for tensor in node.outputs]
        if table := options_table(name):
            made.builtinOptionsType = getattr(schema.BuiltinOptions, table)
            made.builtinOptions = getattr(schema, f"{table}T")()
            for option, value in options.items():
                if option == "fusedActivationFunction":
                    value = self.choice("ActivationFunctionType", str(value))
                setattr(made.builtinOptions, option, value)
        self.operators.append(made)

    def choice(self, enumeration: str, name: str) -> int:
        """Return a value of an enumeration of the schema."""
        return getattr(getattr(schema, enumeration), name)

    def functions(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that replace a table. Raise Unsupported if TensorFlow Lite has no such operators."""
        return nodes_of(node)

    def padded(self, node: Node, window: Window, value: int | None) -> tuple[Quantized, dict[str, object]]:
        """Return the tensor that a window reads, padded if SAME differs, and the options of strides and padding.

        value: of the pads, None if pads have no value
        """
        source, pads = quantized(node.inputs[0]), tuple(window.pads)
        rows, columns = map(int, window.stride)
        options: dict[str, object] = {"strideH": rows, "strideW": columns, "padding": schema.Padding.VALID}
        if pads == NO_PADS:
            return source, options
        if pads == tuple(same_pads(source.shape[1:3], window.kernel, window.stride, window.dilation)):
            return source, options | {"padding": schema.Padding.SAME}
        if value is None:
            raise Unsupported("its pads differ from SAME")
        top, bottom, left, right = pads
        pad = Pad(margins=((0, 0), (top, bottom), (left, right), (0, 0)), value=value)
        made = replace(source, name=f"{node.outputs[0].name}/padded", shape=pad.shape(source.shape))
        self.write(Node(pad, node.where, (source,), (made,)))
        return made, options

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

    def value(self, name: str, value: int, like: Quantization) -> int:
        """Add a tensor with one int8 value."""
        return self.constant(name, np.array([value], np.int8), [like.scale], zero_point=like.zero_point)

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
        return packed(model)


def _code(name: str) -> schema.OperatorCodeT:
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), version_of(name)
    return code


def _quantization(scales: Iterable[float], zero_point: int, dimension: int = 0) -> schema.QuantizationParametersT:
    made = schema.QuantizationParametersT()
    made.scale = [float(scale) for scale in scales]
    made.zeroPoint, made.quantizedDimension = [int(zero_point)] * len(made.scale), dimension
    return made
