# SPDX-License-Identifier: Apache-2.0
"""The importer of ONNX files: file -> Network -> Graph."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from eyrie.compiler.frontend.onnx.call import Call
from eyrie.compiler.frontend.qdq import graph_of
from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Graph
from eyrie.compiler.ir.qdq.network import Network, Operation
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.registry import of_kinds, translators
from eyrie.model.errors import InputError
from eyrie.model.messages import one_line

_DAMAGED = "damaged ONNX file"
_REMEDY = "copy or export the model again"
_MICROSOFT = translators("microsoft")
_TRANSLATORS = {"ai.onnx": translators("onnx") | _MICROSOFT, "com.microsoft": _MICROSOFT}  # by domain and name
_MOST_FOLDED = 1 << 24  # values of a constant that is computed of others


def import_model(data: bytes) -> Graph:
    """Return the verified Graph of a file's contents, for one image, whatever the file's batch is.

    Raise ModelImportError if the file is damaged or contradicts itself.
    """
    model = _parsed(data)
    batched = _batch(model.graph) not in (None, 1)
    if batched:
        try:
            return _imported(_of_one_image(model))
        except ModelImportError:
            if _batch(model.graph) == 0:  # has no size in the file
                raise
    return _imported(model)


def _parsed(data: bytes) -> onnx.ModelProto:
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's own
        raise ModelImportError(f"{_DAMAGED}: it cannot be read", remedy=_REMEDY) from error
    if any(each.data_location == onnx.TensorProto.EXTERNAL for each in model.graph.initializer):
        raise ModelImportError(
            "its weights are in another file", remedy="keep them in one: onnx.save(onnx.load(OLD), NEW)"
        )
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        reason = one_line(next(iter(str(error).splitlines()), type(error).__name__)).rstrip(".")
        raise ModelImportError(f"{_DAMAGED}: {reason}", remedy=_REMEDY) from error
    return model


def _inputs(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    constants = {each.name for each in graph.initializer}
    return [each for each in graph.input if each.name not in constants]


def _batch(graph: onnx.GraphProto) -> int | None:
    """Return the first axis of all inputs, 0 if it has no size. Return None if an input has no axes, if inputs differ,
    or if a value that is not a feature map has a fixed size."""
    found = set()
    for each in _inputs(graph):
        dims = each.type.tensor_type.shape.dim
        if not dims or (dims[0].dim_value and len(dims) != 4):
            return None
        found.add(dims[0].dim_value)
    return found.pop() if len(found) == 1 else None


def _of_one_image(model: onnx.ModelProto) -> onnx.ModelProto:
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for each in _inputs(changed.graph):
        each.type.tensor_type.shape.dim[0].dim_value = 1
    del changed.graph.value_info[:]
    for each in changed.graph.output:
        each.type.tensor_type.ClearField("shape")
    return changed


def _imported(model: onnx.ModelProto) -> Graph:
    importer = _Importer(model)
    try:
        return graph_of(importer.network())
    except ModelImportError:
        raise
    except Exception as error:  # a damaged file can raise any error
        raise ModelImportError(
            f"{_DAMAGED}: {importer.place} lacks a part or has one that makes no sense", remedy=_REMEDY
        ) from error


class _Importer:
    """The walk through the nodes of a file's graph."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = model.graph
        self.versions = {each.domain or "ai.onnx": each.version for each in model.opset_import}
        self.constants = {each.name: numpy_helper.to_array(each) for each in self.graph.initializer}
        self.operations: list[Operation] = []
        self.shapes: dict[str, tuple[int, ...]] = {name: each.shape for name, each in self.constants.items()}
        self.said = _said_shapes(model)
        self.place = "the model"  # the node in progress, for messages

    def network(self) -> Network:
        inputs = tuple(self._input(each) for each in _inputs(self.graph))
        self.shapes |= {each.name: each.shape for each in inputs}
        for number, node in enumerate(self.graph.node):
            self.place = f"operator #{number} {one_line(node.op_type)}"
            self._take(node, f"#{number}")
        self.place = "the model"
        outputs = tuple(each.name for each in self.graph.output)
        return Network(inputs, self.constants, tuple(self.operations), outputs, self.said)

    def _input(self, value: onnx.ValueInfoProto) -> Tensor:
        tensor = value.type.tensor_type
        sizes = [dim.dim_value for dim in tensor.shape.dim]
        if not tensor.HasField("shape") or not all(sizes):
            raise ModelImportError(
                f"input {value.name} has an axis without a size", remedy="export the model with sizes"
            )
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
        return Tensor(name=value.name, shape=tuple(sizes), dtype=kind)

    def _take(self, node: onnx.NodeProto, where: str) -> None:
        if self._is_constant(node):
            return
        domain = node.domain or "ai.onnx"
        call = Call(node, where, self.versions.get(domain, 1), self.constants, self.shapes)
        try:
            translate = _TRANSLATORS.get(domain, {}).get(node.op_type)
            if translate is None:
                raise Unsupported("no such operator is known")
            operations = translate(call)
        except Unsupported as error:
            operations = [self._unknown(call, str(error))]
        for operation in operations:
            self._add(operation)

    def _unknown(self, call: Call, reason: str) -> Operation:
        taken = tuple(name for name in call.inputs if name and name not in self.constants)
        return Operation("unknown", taken, call.outputs, call.where, call.name, {"reason": reason})

    def _add(self, operation: Operation) -> None:
        self.operations.append(operation)
        made: Sequence[tuple[int, ...] | None]
        if operation.kind == "unknown":
            made = [self.said.get(name) for name in operation.outputs]
        else:
            try:
                inputs = [self.shapes[name] for name in operation.inputs if name]
                made = of_kinds()[operation.kind].shapes(operation, inputs)
            except KeyError:  # an earlier operator is unknown: the network reports it
                made = [None] * len(operation.outputs)
            except InputError as error:
                raise ModelImportError(f"{operation.place}: {error}", layer=operation.where, remedy=REMEDY) from error
        self.shapes |= {name: shape for name, shape in zip(operation.outputs, made) if shape is not None}

    def _is_constant(self, node: onnx.NodeProto) -> bool:
        """Return whether all outputs of a node are constants, and compute them. Quantised weights keep their codes."""
        if node.op_type == "Shape" and node.input[0] in self.shapes:
            sizes = np.array(self.shapes[node.input[0]], np.int64)
            bounds = {each.name: each.i for each in node.attribute}
            self._known(node, [sizes[bounds.get("start", 0) : bounds.get("end", len(sizes))]])
            return True
        if node.op_type == "DequantizeLinear" or not all(name in self.constants for name in node.input if name):
            return False
        if sum(self.constants[name].size for name in node.input if name) > _MOST_FOLDED:
            return False
        self._known(node, self._computed(node))
        return True

    def _computed(self, node: onnx.NodeProto) -> list[np.ndarray]:
        """Return the outputs, computed by ONNX's reference evaluator."""
        given = {name: self.constants[name] for name in node.input if name}
        values = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in given.items()
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "constants", values, outputs)
        versions = [
            onnx.helper.make_opsetid("" if domain == "ai.onnx" else domain, version)
            for domain, version in self.versions.items()
        ]
        made = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=versions)).run(None, given)
        return [np.asarray(each) for each in made]

    def _known(self, node: onnx.NodeProto, made: list[np.ndarray]) -> None:
        for name, values in zip((name for name in node.output if name), made, strict=True):
            self.constants[name] = values
            self.shapes[name] = self.constants[name].shape


def _said_shapes(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Return the shapes that ONNX infers, if all sizes are known."""
    try:
        inferred = shape_inference.infer_shapes(model).graph
    except Exception:  # its own
        inferred = model.graph
    return dict(_sized([*inferred.value_info, *inferred.output]))


def _sized(values: list[onnx.ValueInfoProto]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for value in values:
        shape = value.type.tensor_type.shape
        sizes = tuple(dim.dim_value for dim in shape.dim)
        if value.type.tensor_type.HasField("shape") and all(sizes):
            yield value.name, sizes
