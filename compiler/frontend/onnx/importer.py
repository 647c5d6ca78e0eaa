# SPDX-License-Identifier: Apache-2.0
"""The importer of ONNX files: file -> Network -> Graph."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count as counted

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference
from onnx.external_data_helper import _get_all_tensors, uses_external_data
from onnx.inliner import inline_local_functions
from onnx.reference import ReferenceEvaluator

from eyrie.compiler.frontend.onnx.alone import Values, is_random, on_host, taken_by
from eyrie.compiler.frontend.onnx.call import Call
from eyrie.compiler.frontend.onnx.mixing import Batch, are_alike, first_that_mixes
from eyrie.compiler.frontend.qdq import graph_of
from eyrie.compiler.frontend.qdq.constants import QUANTISE
from eyrie.compiler.ir.failure import CompileError, ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Graph, Node
from eyrie.compiler.ir.operator import NO_OPERATOR, Unknown
from eyrie.compiler.ir.qdq.network import HostOperation, Network, Operation
from eyrie.compiler.ir.qdq.values import CODES
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.operators.registry import of_kinds, translators
from eyrie.model.errors import InputError
from eyrie.model.messages import one_line

_DAMAGED = "damaged ONNX file"
_REMEDY = "copy or export the model again"
_MICROSOFT = translators("microsoft")
_TRANSLATORS = {"ai.onnx": translators("onnx") | _MICROSOFT, "com.microsoft": _MICROSOFT}  # by domain and name
_MOST_COUNTS = 4  # numbers of images that are tried because a constant has them
_MOST_FOLDED = 1 << 24  # values of a constant that is computed of others


def import_model(data: bytes) -> Graph:
    """Return the verified Graph of a file's contents, for one image, whatever the file's batch is.

    Raise ModelImportError if the file is damaged or contradicts itself.
    """
    model = _parsed(data)
    batch = _batch(model.graph)
    if batch in (None, 1):
        return _imported(model)
    if not batch:  # without a size
        if reason := _mixing(model):
            raise ModelImportError(reason, remedy="export the model with a first axis of a fixed size")
        return _imported(_of_images(model, 1), images=True)
    with suppress(ModelImportError):
        if not _mixing(model):
            graph = _imported(_of_images(model, 1))
            if not any(map(_is_of_host, graph.nodes)):
                return graph
    return _imported(model)


def _parsed(data: bytes) -> onnx.ModelProto:
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's own
        raise ModelImportError(f"{_DAMAGED}: it cannot be read", remedy=_REMEDY) from error
    if any(map(uses_external_data, _get_all_tensors(model))):
        raise ModelImportError("its weights are in another file", remedy="give the path of the file")
    tensors = [each.type.tensor_type for each in model.graph.output if each.type.HasField("tensor_type")]
    bare = [tensor for tensor in tensors if not tensor.HasField("shape")]
    for tensor in bare:
        tensor.shape.SetInParent()  # which the checker asks for, but not onnxruntime
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        reason = one_line(next(iter(str(error).splitlines()), type(error).__name__)).rstrip(".")
        raise ModelImportError(f"{_DAMAGED}: {reason}", remedy=_REMEDY) from error
    for tensor in bare:
        tensor.ClearField("shape")
    return inline_local_functions(model) if model.functions else model


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


def _of_images(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """Return the model with inputs of so many images."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for each in _inputs(changed.graph):
        each.type.tensor_type.shape.dim[0].dim_value = count
    del changed.graph.value_info[:]
    for each in changed.graph.output:
        each.type.tensor_type.ClearField("shape")
    return changed


def _mixing(model: onnx.ModelProto) -> str:
    """Return the place of the first operator that may mix images, and the reason; "" without one.

    The model is imported for one image and for another number: one that is no size of its values, the declared one, and
    the sizes of constants. If it is wrong for all of these, it is for one image, whatever its inputs say.
    """
    one = _of_count(model, 1)
    outputs = [each.name for each in model.graph.output]
    sizes = {size for shape in one.shapes.values() for size in shape}
    constants = sorted({each.shape[0] for each in one.constants.values() if each.ndim > 1 and each.shape[0] > 1})
    unseen = next(count for count in counted(5) if count not in sizes)
    for count in dict.fromkeys((unseen, _batch(model.graph) or 2, 2, *constants[:_MOST_COUNTS])):
        with suppress(ModelImportError):
            several = _of_count(model, count)
            if not are_alike(one, several):
                return f"the model has other operators for {count} images"
            return first_that_mixes(one, several, outputs)
    for operation in one.operations:
        if wrong := [name for name in operation.outputs if name in outputs and one.shapes.get(name, (1,))[:1] != (1,)]:
            return f"{operation.place}: its result {wrong[0]} does not begin with an axis of images"
    return ""


def _of_count(model: onnx.ModelProto, count: int) -> Batch:
    """Return the operations of a file for so many images."""
    importer = _Importer(_of_images(model, count), {}, images=False)
    with _reported(importer):
        importer.network()
    return Batch(count, importer.operations, importer.values.constants, importer.values.shapes)


@contextmanager
def _reported(importer: "_Importer") -> Iterator[None]:
    """Report any error as one of the model, at the node in progress."""
    try:
        yield
    except ModelImportError:
        raise
    except CompileError as error:  # a package is not installed
        raise ModelImportError(str(error)) from error
    except Exception as error:  # a damaged file can raise any error
        raise ModelImportError(
            f"{_DAMAGED}: {importer.place} lacks a part or has one that makes no sense", remedy=_REMEDY
        ) from error


def _imported(model: onnx.ModelProto, images: bool = False) -> Graph:
    """Return the Graph. Nodes that the walk rejects become operators of the host, and the next walk goes on from
    these. images: as in Values"""
    rejected: dict[str, str] = {}
    while True:
        importer = _Importer(model, rejected, images)
        with _reported(importer):
            graph = graph_of(importer.network())
        known = rejected.keys() | importer.refused
        found = {where: reason for where, reason in _rejections(graph) if where not in known}
        if not found:
            return graph
        rejected |= found


def _is_of_host(node: Node) -> bool:
    """Return whether the host runs a node in onnxruntime, or cannot run it."""
    return isinstance(node.operator, (Unknown, Interpreted))


def _rejections(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield places and reasons of the rejected nodes, without those that follow from the rejection of another one: its
    result may have a scale, if the host makes it."""
    doubtful: set[str] = set()
    for node in graph.nodes:
        follows = any(tensor.name in doubtful for tensor in node.inputs)
        if isinstance(node.operator, Unknown) and not follows:
            yield node.where, node.operator.reason
        if follows or isinstance(node.operator, Unknown):
            doubtful |= {each.name for each in node.outputs if not isinstance(each, Quantized)}


class _Importer:
    """The walk through the nodes of a file's graph."""

    def __init__(self, model: onnx.ModelProto, rejected: Mapping[str, str], images: bool) -> None:
        """rejected: places of nodes that the host has to run, and the reasons"""
        self.graph, self.rejected = model.graph, rejected
        self.versions = {each.domain or "ai.onnx": each.version for each in model.opset_import}
        self.values = Values({each.name: numpy_helper.to_array(each) for each in self.graph.initializer})
        self.values.shapes.update((name, each.shape) for name, each in self.values.constants.items())
        self.operations: list[Operation] = []
        self.values.inferred, self.values.images = _inferred(model, self.values.types), images
        self.refused: set[str] = set()  # places of nodes that the host does not run
        self.plain: set[str] = set()  # values that are neither codes nor results of codes
        self.place = "the model"  # the node in progress, for messages

    def network(self) -> Network:
        inputs = tuple(self._input(each) for each in _inputs(self.graph))
        self.values.shapes |= {each.name: each.shape for each in inputs}
        self.plain |= {each.name for each in inputs if each.dtype not in CODES}
        for number, node in enumerate(self.graph.node):
            self.place = f"operator #{number} {one_line(node.op_type)}"
            self._take(node, f"#{number}")
        self.place = "the model"
        outputs = tuple(each.name for each in self.graph.output)
        return Network(inputs, self.values.constants, tuple(self.operations), outputs, self.values.inferred)

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
        if all(map(self.values.is_constant, taken_by(node))) and not is_random(node):
            self.values.derived |= dict.fromkeys(node.output, node)
        domain = node.domain or "ai.onnx"
        call = Call(node, where, self.versions.get(domain, 1), self.values.constants, self.values.shapes)
        try:
            operations = self._translated(node, call, domain)
        except Unsupported as error:
            operations = [self._on_host(node, call, str(error))]
        for operation in operations:
            self._add(operation)

    def _translated(self, node: onnx.NodeProto, call: Call, domain: str) -> list[Operation]:
        """Return the operations of a node. Raise Unsupported if the host has to run it."""
        if call.where in self.rejected:
            raise Unsupported(self.rejected[call.where])
        plain = [name for name in node.input if name in self.plain]
        if plain and node.op_type != "QuantizeLinear":
            kind = onnx.helper.tensor_dtype_to_np_dtype(self.values.types.get(plain[0], onnx.TensorProto.FLOAT))
            other = f"is {kind}, not int8" if kind.kind != "f" else f"is not quantised: {QUANTISE}"
            raise Unsupported(f"its input {plain[0]} {other}")
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and self._is_narrow(call):
            raise Unsupported("its scale is not float32")
        if node.op_type == "Cast" and self.values.types.get(node.input[0]) != onnx.TensorProto.FLOAT:
            raise Unsupported("it casts values that are not known to be float32")
        translate = _TRANSLATORS.get(domain, {}).get(node.op_type)
        if translate is None:
            raise Unsupported(NO_OPERATOR)
        return translate(call)

    def _is_narrow(self, call: Call) -> bool:
        """Return whether a QuantizeLinear or DequantizeLinear of a value is of other real numbers than float32."""
        scale = self.values.constants.get(call.inputs[1]) if call.has(1) else None
        return scale is not None and scale.dtype != np.float32 and not self.values.is_constant(call.inputs[0])

    def _on_host(self, node: onnx.NodeProto, call: Call, reason: str) -> Operation:
        try:
            return on_host(node, call.where, reason, self.values, self.versions)
        except Unsupported as error:
            self.refused.add(call.where)
            taken = tuple(name for name in call.inputs if name and not self.values.is_constant(name))
            return Operation("unknown", taken, call.outputs, call.where, call.name, {"reason": str(error)})

    def _add(self, operation: Operation) -> None:
        self.operations.append(operation)
        made: Sequence[tuple[int, ...] | None]
        if isinstance(operation, HostOperation):
            made = [form.shape for form in operation.forms]
            for name, form in zip(operation.outputs, operation.forms, strict=True):
                self.values.types[name] = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(form.dtype))
                self.plain |= set() if form.dtype in CODES else {name}
        elif operation.kind == "unknown":
            made = [self.values.inferred.get(name) for name in operation.outputs]
        else:
            made = self._shapes(operation)
            for name in operation.outputs:
                self.values.types.setdefault(name, self._type(operation))
        self.values.shapes |= {name: shape for name, shape in zip(operation.outputs, made) if shape is not None}

    def _shapes(self, operation: Operation) -> Sequence[tuple[int, ...] | None]:
        try:
            inputs = [self.values.shapes[name] for name in operation.inputs if name]
            return of_kinds()[operation.kind].shapes(operation, inputs)
        except KeyError:  # an earlier operator is unknown: the network reports it
            return [None] * len(operation.outputs)
        except InputError as error:
            raise ModelImportError(f"{operation.place}: {error}", layer=operation.where, remedy=REMEDY) from error

    def _type(self, operation: Operation) -> int:
        """Return the element type of an operation's results, where ONNX does not infer it."""
        if operation.kind == "quantize":
            return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(operation.text("dtype")))
        if operation.kind in of_kinds() and of_kinds()[operation.kind].takes_codes:
            return self.values.types.get(operation.inputs[0], onnx.TensorProto.FLOAT)
        return onnx.TensorProto.FLOAT

    def _is_constant(self, node: onnx.NodeProto) -> bool:
        """Return whether all outputs of a node are constants, and compute them. Quantised weights keep their codes."""
        constants, shapes = self.values.constants, self.values.shapes
        if node.op_type == "Shape" and node.input[0] in shapes:
            sizes = np.array(shapes[node.input[0]], np.int64)
            bounds = {each.name: each.i for each in node.attribute}
            self._known(node, [sizes[bounds.get("start", 0) : bounds.get("end", len(sizes))]])
            return True
        taken = taken_by(node)
        if node.op_type == "DequantizeLinear" or is_random(node) or not all(name in constants for name in taken):
            return False
        if sum(constants[name].size for name in taken) > _MOST_FOLDED:
            return False
        self._known(node, self._computed(node))
        return True

    def _computed(self, node: onnx.NodeProto) -> list[np.ndarray]:
        """Return the outputs, computed by ONNX's reference evaluator."""
        given = {name: self.values.constants[name] for name in taken_by(node)}
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
            self.values.constants[name] = values
            self.values.shapes[name] = values.shape
            self.values.types[name] = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)


def _inferred(model: onnx.ModelProto, types: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes that ONNX infers, if all sizes are known; only those without axes if it may infer wrong ones.
    Add the inferred types of elements to `types`."""
    graph = model.graph
    with suppress(Exception):  # its own
        graph = shape_inference.infer_shapes(model).graph
    types.update((each.name, each.data_type) for each in graph.initializer)
    made = [*graph.value_info, *graph.output]
    types.update(
        (each.name, each.type.tensor_type.elem_type)
        for each in (*graph.input, *made)
        if each.type.tensor_type.elem_type
    )
    found = dict(_sized(made))
    if any(map(_is_misread, graph.node)):
        return {name: shape for name, shape in found.items() if not shape}
    return found


def _is_misread(node: onnx.NodeProto) -> bool:
    """Return whether ONNX may infer another shape than onnxruntime makes: of a pool that rounds up, or of a transposed
    convolution with automatic pads."""
    given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    return bool(given.get("ceil_mode")) or (node.op_type == "ConvTranspose" and b"SAME" in given.get("auto_pad", b""))


def _sized(values: list[onnx.ValueInfoProto]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for value in values:
        shape = value.type.tensor_type.shape
        sizes = tuple(dim.dim_value for dim in shape.dim)
        if value.type.tensor_type.HasField("shape") and all(sizes):
            yield value.name, sizes
