# SPDX-License-Identifier: Apache-2.0
"""The importer of TensorFlow Lite files: walks through the operators of a file's subgraph."""

from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.custom import custom
from eyrie.compiler.frontend.tflite.options import options_table
from eyrie.compiler.frontend.tflite.reader import Call, Reader
from eyrie.compiler.ir.failure import CompileError, ModelImportError, Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator, Unknown
from eyrie.compiler.ir.tensor import Constant, Tensor
from eyrie.compiler.operators.registry import of_tflite

_OPERATOR_NAMES = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
_DAMAGED = "damaged TensorFlow Lite file"
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
        return importer.graph().verified()
    except ModelImportError:
        raise
    except CompileError as error:
        raise ModelImportError(str(error), layer=error.layer) from error
    except Exception as error:  # a damaged file can raise any error
        raise ModelImportError(
            f"{_DAMAGED}: {importer.place} lacks a part or has one that makes no sense", remedy=_REMEDY
        ) from error


class _Importer:
    def __init__(self, model: schema.ModelT) -> None:
        self.model = model
        self.place = "the model"  # the part in progress, for messages

    def graph(self) -> Graph:
        if len(self.model.subgraphs) != 1:
            raise ModelImportError(f"{len(self.model.subgraphs)} subgraphs, one is supported")
        [subgraph] = self.model.subgraphs
        if not subgraph.operators:
            raise ModelImportError("the model has no operators")
        reader = Reader(self.model, subgraph)
        for end, indices in (("input", subgraph.inputs), ("output", subgraph.outputs)):
            for index in indices:
                reader.check_end(end, index)
        inputs = tuple(reader.tensor(index) for index in subgraph.inputs)
        known = {tensor.name for tensor in inputs}
        nodes = []
        for number, operator in enumerate(subgraph.operators):
            nodes.append(self._node(reader, operator, number, known))
            known |= {tensor.name for tensor in nodes[-1].outputs}
        self.place = "the model"
        outputs = tuple(reader.tensor(index) for index in subgraph.outputs)
        return Graph(inputs, tuple(nodes), outputs)

    def _node(self, reader: Reader, operator: schema.OperatorT, number: int, known: set[str]) -> Node:
        where = f"#{number}"
        self.place = f"operator {where}"
        name, is_custom = self._operator_name(operator)
        self.place = f"operator {where} {name}"
        record = None if is_custom else of_tflite().get(name)
        call = Call(reader, operator, name, options_table(name))
        try:
            inputs: tuple[Tensor, ...]
            made: Operator
            if is_custom:
                inputs, made = custom(call, name)
            elif record is None:
                raise Unsupported("no such operator is known")
            else:
                inputs, made = record.read(call)
        except Unsupported as error:
            inputs, made = _what_it_takes(call, known), Unknown(name, str(error))
        except ModelImportError as error:
            raise ModelImportError(f"{self.place}: {error}", layer=where) from error
        outputs = tuple(reader.tensor(index) for index in call.outputs)
        return Node(made, where, tuple(inputs), outputs)

    def _operator_name(self, operator: schema.OperatorT) -> tuple[str, bool]:
        """Return the name of an operator, and whether it is a custom operator."""
        code = self.model.operatorCodes[operator.opcodeIndex]
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        if number == schema.BuiltinOperator.CUSTOM and code.customCode:
            return "".join(letter if letter.isprintable() else "?" for letter in code.customCode.decode()), True
        return _OPERATOR_NAMES.get(number, f"number {number}"), False


def _what_it_takes(call: Call, known: set[str]) -> tuple[Tensor, ...]:
    """Return the inputs that earlier operators make; constants of an unknown operator have no known meaning."""
    tensors = (call.reader.tensor(index) for index in call.inputs if index >= 0 and not call.reader.is_constant(index))
    return tuple(tensor for tensor in tensors if tensor.name in known and not isinstance(tensor, Constant))
