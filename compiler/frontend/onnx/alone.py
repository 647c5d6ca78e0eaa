# SPDX-License-Identifier: Apache-2.0
"""A node of an ONNX file as a model of its own, for onnxruntime.

The model has the constants that the node takes, and the nodes that compute these: DequantizeLinear of weights, and
data-movement operators on their results.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
import onnx
from onnx import numpy_helper

from eyrie.compiler.frontend.extra import require
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.network import HostOperation
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.model.interpreters import APART, ONNXRUNTIME, Rejected
from eyrie.model.messages import one_line

_RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
_RECURRENT = ("GRU", "LSTM", "RNN")


@dataclass
class Values:
    """The values of a file's graph so far, by name.

    constants  arrays
    derived    the nodes that compute others from constants alone
    shapes     of all values, where they are known
    types      numbers of element types, where they are known
    inferred   the shapes that ONNX infers
    images     whether the first axis of the inputs has no size: the runs of a model are of one image each
    """

    constants: dict[str, np.ndarray]
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    derived: dict[str, onnx.NodeProto] = field(default_factory=dict)
    inferred: dict[str, tuple[int, ...]] = field(default_factory=dict)
    images: bool = False

    def is_constant(self, name: str) -> bool:
        return name in self.constants or name in self.derived


def on_host(
    node: onnx.NodeProto, where: str, reason: str, values: Values, versions: Mapping[str, int]
) -> HostOperation:
    """Return a node as an operation of the host. reason: why the accelerator does not run it

    Raise Unsupported if onnxruntime does not run it.
    """
    name = one_line(node.op_type)
    if is_random(node) or _is_trained(node, values):
        raise Unsupported(f"{reason}, and it draws random numbers")
    require("onnxruntime", "onnx")
    taken = [each for each in taken_by(node) if not values.is_constant(each)]
    made = [each for each in node.output if each]
    model = _model(node, taken, made, values, versions)
    try:
        ends = APART.outputs(ONNXRUNTIME, model)
    except Rejected as rejection:
        raise Unsupported(f"{reason}, and onnxruntime does not run it ({rejection})") from rejection
    forms = []
    for end, output in zip(ends, made, strict=True):
        if not hasattr(np, end.dtype):
            raise Unsupported(f"{reason}, and its output {output} is {end.dtype}")
        if end.shape is None or (not end.shape and output not in values.inferred):
            raise Unsupported(f"{reason}; the shape of its output is known at run time only")
        forms.append(Form(end.dtype, end.shape))
    if values.images and not _keeps_images(node, model, taken, made, values, versions):
        raise Unsupported(f"{reason}, and it may mix images: export the model with a first axis of a fixed size")
    operator = Interpreted(
        operator=name,
        interpreter=ONNXRUNTIME,
        reason=reason,
        variables=0,
        work=_work(node, values, forms),
        taken=tuple(range(len(taken))),
        made=tuple(range(len(made))),
        model=np.frombuffer(model, np.uint8),
    )
    return HostOperation(
        "host", tuple(taken), tuple(made), where, name, {"reason": reason}, operator=operator, forms=tuple(forms)
    )


def taken_by(node: onnx.NodeProto) -> list[str]:
    """Return the values that a node takes, also in its subgraphs."""
    found = dict.fromkeys(name for name in node.input if name)
    for graph in _subgraphs(node):
        own = {each.name for each in (*graph.input, *graph.initializer)}
        own |= {name for inner in graph.node for name in inner.output}
        within = [name for inner in graph.node for name in taken_by(inner)] + [each.name for each in graph.output]
        found |= dict.fromkeys(name for name in within if name not in own)
    return list(found)


def is_random(node: onnx.NodeProto) -> bool:
    """Return whether a node, or one in its subgraphs, draws random numbers."""
    return node.op_type in _RANDOM or any(is_random(inner) for graph in _subgraphs(node) for inner in graph.node)


def _is_trained(node: onnx.NodeProto, values: Values) -> bool:
    """Return whether a Dropout may draw random numbers."""
    mode = node.input[2] if node.op_type == "Dropout" and len(node.input) > 2 else ""
    return bool(mode) and (mode not in values.constants or bool(values.constants[mode].any()))


def _keeps_images(
    node: onnx.NodeProto,
    model: bytes,
    taken: Sequence[str],
    made: Sequence[str],
    values: Values,
    versions: Mapping[str, int],
) -> bool:
    """Return whether the results of two images together are the results of each alone, by a run with random values.

    model: of the node, for one image
    """
    rng, two, each = np.random.default_rng(1), list[np.ndarray](), tuple[list[np.ndarray], ...](([], []))
    for name in taken:
        shape = values.shapes.get(name, ())
        if not shape or shape[0] != 1:
            return False
        kind = onnx.helper.tensor_dtype_to_np_dtype(values.types[name])
        drawn = rng.normal(size=(2, *shape[1:])) if kind.kind == "f" else rng.integers(0, 2, (2, *shape[1:]))
        two.append(drawn.astype(kind))
        for image, part in enumerate(each):
            part.append(two[-1][image : image + 1])
    doubled = replace(values, shapes=values.shapes | {name: (2, *values.shapes[name][1:]) for name in taken})
    try:
        [whole] = APART.run(ONNXRUNTIME, _model(node, taken, made, doubled, versions), [two])
        parts = APART.run(ONNXRUNTIME, model, each)
    except Rejected:
        return False
    return all(
        of_two.ndim > 0 and np.array_equal(of_two, np.concatenate(of_each), equal_nan=of_two.dtype.kind == "f")
        for of_two, *of_each in zip(whole, *parts)
    )


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _model(
    node: onnx.NodeProto, taken: Sequence[str], made: Sequence[str], values: Values, versions: Mapping[str, int]
) -> bytes:
    nodes = _needed(node, values)
    names = dict.fromkeys(name for each in nodes for name in taken_by(each) if name in values.constants)
    inputs = []
    for name in taken:
        if name not in values.types:
            raise Unsupported(f"the type of its input {name} is not known")
        inputs.append(onnx.helper.make_tensor_value_info(name, values.types[name], values.shapes.get(name)))
    graph = onnx.helper.make_graph(
        nodes,
        "alone",
        inputs,
        [onnx.ValueInfoProto(name=name) for name in made],
        [numpy_helper.from_array(np.asarray(values.constants[name], order="C"), name) for name in names],
    )
    sets = [onnx.helper.make_opsetid("" if name == "ai.onnx" else name, version) for name, version in versions.items()]
    return onnx.helper.make_model(graph, opset_imports=sets, ir_version=10).SerializeToString()


def _needed(node: onnx.NodeProto, values: Values) -> list[onnx.NodeProto]:
    """Return a node and the nodes that compute its inputs from constants, in their order."""
    found: list[onnx.NodeProto] = []
    for name in taken_by(node):
        if name in values.derived:
            found += [each for each in _needed(values.derived[name], values) if each not in found]
    return [*found, node]


def _work(node: onnx.NodeProto, values: Values, forms: Sequence[Form]) -> int:
    """Return the number of MACs of a node with weights, else of output values."""
    made = sum(prod(form.shape) for form in forms)
    shapes = [values.shapes.get(name, ()) for name in node.input]
    if node.op_type in ("Gemm", "MatMul", "MatMulInteger") and shapes[0]:
        return made * shapes[0][-1]
    if node.op_type in ("Conv", "ConvInteger") and shapes[1]:
        return made * prod(shapes[1][1:])
    if node.op_type == "ConvTranspose" and shapes[1]:
        return prod(shapes[0]) * prod(shapes[1][1:])
    if node.op_type in _RECURRENT and shapes[0]:
        return prod(shapes[0][:2]) * sum(map(prod, shapes[1:3]))
    return made
