# SPDX-License-Identifier: Apache-2.0
"""The importer of TensorFlow Lite files: walks through the operators of a file's subgraph."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.contents import operator_number
from eyrie.compiler.frontend.tflite.custom import custom
from eyrie.compiler.frontend.tflite.interpreted import interpreted
from eyrie.compiler.frontend.tflite.options import options_table
from eyrie.compiler.frontend.tflite.reader import Call, Reader
from eyrie.compiler.frontend.tflite.rounding import as_rounded
from eyrie.compiler.frontend.tflite.variables import RESOURCES, Variables
from eyrie.compiler.ir.failure import CompileError, ModelImportError, Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator, Unknown
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.operators.custom import is_known
from eyrie.compiler.operators.foreign import Foreign
from eyrie.compiler.operators.record import Record
from eyrie.compiler.operators.registry import of_tflite
from eyrie.model.errors import InputError

_OPERATOR_NAMES = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
_DAMAGED = "damaged TensorFlow Lite file"
_OF_SHAPES = ("SHAPE", "RANK")  # they depend on the shape of their input only
_REMEDY = "copy or convert the model again"


def import_model(data: bytes) -> Graph:
    """Return the verified Graph of a file's contents. Raise ModelImportError."""
    try:
        model = schema.ModelT.InitFromPackedBuf(data, 0)
    except Exception as error:  # damaged bytes make the schema's classes raise any error
        raise ModelImportError(
            f"{_DAMAGED}: something in it lies beyond its end or cannot be read", remedy=_REMEDY
        ) from error
    importer = _Importer(model)
    try:
        _take_outside(model, data)
        return importer.graph().verified()
    except ModelImportError:
        raise
    except CompileError as error:
        raise ModelImportError(str(error), layer=error.layer) from error
    except Exception as error:  # a damaged file can raise any error
        raise ModelImportError(
            f"{_DAMAGED}: {importer.place} lacks a part or has one that makes no sense", remedy=_REMEDY
        ) from error


def _take_outside(model: schema.ModelT, data: bytes) -> None:
    """Take the contents of buffers that the file of a large model has after its tables. Raise ModelImportError."""
    for number, buffer in enumerate(model.buffers):
        if buffer.offset > 1:
            if buffer.offset + buffer.size > len(data):
                raise ModelImportError(f"{_DAMAGED}: buffer {number} lies beyond its end", remedy=_REMEDY)
            buffer.data = np.frombuffer(data, np.uint8, buffer.size, buffer.offset)
            buffer.offset = buffer.size = 0


class _Importer:
    def __init__(self, model: schema.ModelT) -> None:
        self.model = model
        self.place = "the model"  # the part in progress, for messages

    def graph(self) -> Graph:
        self.variables = Variables(self.model, [self._operator_name(code)[0] for code in self.model.operatorCodes])
        subgraph = self.model.subgraphs[0]
        if not subgraph.operators:
            raise ModelImportError("the model has no operators")
        reader = Reader(self.model, subgraph)
        for end, indices in (("input", subgraph.inputs), ("output", subgraph.outputs)):
            for index in indices:
                reader.check_end(end, index)
        self.ends = {int(index) for index in subgraph.outputs}
        inputs = tuple(reader.tensor(index) for index in subgraph.inputs)
        known = {tensor.name for tensor in inputs}
        nodes = []
        for number, operator in enumerate(subgraph.operators):
            node = self._node(reader, operator, number, known)
            if node is not None:
                nodes.append(node)
                known |= {tensor.name for tensor in node.outputs}
        self.place = "the model"
        outputs = tuple(reader.tensor(reader.current(int(index))) for index in subgraph.outputs)
        return self.variables.finished(reader, Graph(inputs, as_rounded(nodes), outputs))

    def _node(self, reader: Reader, operator: schema.OperatorT, number: int, known: set[str]) -> Node | None:
        """Return the node of an operator, None for a variable's and if it makes constants only."""
        where = f"#{number}"
        self.place = f"operator {where}"
        name, is_custom = self._operator_name(self.model.operatorCodes[operator.opcodeIndex])
        self.place = f"operator {where} {name}"
        call = Call(reader, operator, name, options_table(name))
        try:
            if name in RESOURCES:
                self.variables.take(reader, operator, name)
                return None
            inputs, made, outputs = self._read(call, is_custom)
        except Unsupported as error:
            inputs, made = _what_it_takes(call, known | self.variables.inputs(reader)), Unknown(name, str(error))
            outputs = tuple(reader.tensor(index) for index in call.outputs)
        except ModelImportError as error:
            raise ModelImportError(f"{self.place}: {error}", layer=where) from error
        made = made.between(inputs, outputs) if isinstance(made, Foreign) else made
        node = Node(made, where, tuple(inputs), outputs)
        return None if self._folded(node, call) else node

    def _read(self, call: Call, is_custom: bool) -> tuple[tuple[Tensor, ...], Operator, tuple[Tensor, ...]]:
        """Return inputs, operator and outputs of a call. Raise Unsupported if neither a golden function nor an
        interpreter runs it."""
        inputs: tuple[Tensor, ...]
        made: Operator
        record = of_tflite().get(call.name)
        try:
            if is_custom and (record is None or is_known(call.name)):
                inputs, made = custom(call, call.name)
            elif record is None:
                raise Unsupported("it has no golden function")
            else:
                inputs, made = record.read(call)
                _check(call, made, inputs)
        except Unsupported as error:
            alone, made = interpreted(call, str(error))
            sources = (alone.sources[number] for number in alone.taken + alone.kept)
            inputs = tuple(call.reader.tensor(call.reader.current(index)) for index in sources)
        outputs = tuple(map(call.reader.tensor, call.outputs))
        if isinstance(made, Record) and made.state:
            outputs = self.variables.with_state(inputs[-made.state :], outputs, made.state_is_shown)
        return inputs, made, outputs

    def _folded(self, node: Node, call: Call) -> bool:
        """Return whether a node makes constants, which the reader then knows."""
        if isinstance(node.operator, Unknown) or any(index in self.ends for index in call.outputs):
            return False
        plain = not any(isinstance(tensor, Quantized) for tensor in node.outputs)
        if not (plain and (not node.activations or call.name in _OF_SHAPES)):
            return False
        values = (
            tensor.data if isinstance(tensor, Constant) else np.zeros(tensor.shape, tensor.dtype)
            for tensor in node.inputs
        )
        try:
            made = node.run(tuple(values))
        except InputError:  # the user of the network may never need it
            return False
        for index, value in zip(call.outputs, made, strict=True):
            call.reader.set_known(index, value)
        return True

    def _operator_name(self, code: schema.OperatorCodeT) -> tuple[str, bool]:
        """Return the name of an operator, and whether it is a custom operator."""
        number = operator_number(code)
        if number == schema.BuiltinOperator.CUSTOM and code.customCode:
            return "".join(letter if letter.isprintable() else "?" for letter in code.customCode.decode()), True
        return _OPERATOR_NAMES.get(number, f"number {number}"), False


def _check(call: Call, made: Operator, inputs: tuple[Tensor, ...]) -> None:
    """Give the outputs the shapes that follow from the inputs, where the file leaves them open.

    Raise Unsupported if the golden function does not take the scales.
    """
    reader = call.reader
    try:
        forms = made.infer(inputs)
    except InputError:  # Graph.verified says it
        return
    if any(index in reader.corrected for index in call.inputs) or any(map(reader.has_open_shape, call.outputs)):
        for index, form in zip(call.outputs, forms):
            reader.set_shape(index, form.shape)
    try:
        made.check(inputs, tuple(map(reader.tensor, call.outputs)))
    except InputError as error:
        raise Unsupported(str(error)) from error


def _what_it_takes(call: Call, known: set[str]) -> tuple[Tensor, ...]:
    """Return the inputs that earlier operators make; constants of an unknown operator have no known meaning."""
    tensors = (call.reader.tensor(index) for index in call.inputs if index >= 0 and not call.reader.is_constant(index))
    return tuple(tensor for tensor in tensors if tensor.name in known and not isinstance(tensor, Constant))
