# SPDX-License-Identifier: Apache-2.0
"""Lines for whole layers. Each becomes a node of a graph, which the compiler plans (docs/reference/assembly.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eyrie.compiler.assembly.lexer import Item, Statement
from eyrie.compiler.assembly.tables import Filter, bias_of, quantization_of
from eyrie.compiler.ir.graph import Malformed, Node
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.operators.convolution import Conv2D, DepthwiseConv2D
from eyrie.compiler.operators.elementwise import Add, Maximum, Minimum, Mul, Sub
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.functions import Absolute, Elu, Exp, HardSwish, Log, Logistic, Tanh
from eyrie.compiler.operators.joins import Concatenation
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.mean import Mean
from eyrie.compiler.operators.normalization import LocalResponseNormalization
from eyrie.compiler.operators.pooling import AveragePool2D, MaxPool2D
from eyrie.model.errors import InputError
from eyrie.model.messages import times, unknown
from eyrie.model.operators.quantization import ACTIVATIONS
from eyrie.model.operators.windows import NO_PADS, same_pads

PADS = ("valid", "same")
_SCALED = ("scale", "zero_point", "activation")
_WINDOW = ("stride", "pad", "dilation")


@dataclass(frozen=True)
class Known:
    """Tensors and filters of earlier lines, by name. folder: of the source; file names are relative to it."""

    folder: Path
    tensors: dict[str, Quantized] = field(default_factory=dict)
    filters: dict[str, Filter] = field(default_factory=dict)

    def tensor(self, item: Item) -> Quantized:
        """Return a tensor by name. Raise AssemblyError if it is unknown."""
        if item.text not in self.tensors:
            raise item.error(unknown("tensor", item.text, self.tensors, remedy="declare it with input first"))
        return self.tensors[item.text]

    def filter(self, item: Item) -> Filter:
        """Return a filter by name. Raise AssemblyError if it is unknown."""
        if item.text not in self.filters:
            raise item.error(unknown("filter", item.text, self.filters, remedy="declare it with filter first"))
        return self.filters[item.text]


@dataclass(frozen=True)
class Macro:
    """A line that makes a tensor.

    unnamed: the operands after the name of the result; make: returns the operator for a statement and its operands
    """

    unnamed: tuple[str, ...]
    named: tuple[str, ...]
    needed: tuple[str, ...]
    make: Callable[[Statement, Known], Operator]


def node_of(statement: Statement, known: Known) -> Node:
    """Return the node of a line, whose keyword is one of MACROS. Raise AssemblyError."""
    macro = MACROS[statement.keyword]
    statement.expect(("OUT", *macro.unnamed), macro.named, macro.needed)
    operands = [item for name, item in zip(macro.unnamed, statement.unnamed[1:]) if name != "FILTER"]
    inputs = tuple(known.tensor(item) for item in operands)
    operator = macro.make(statement, known)
    out = statement.unnamed[0]
    try:
        (form,) = operator.infer(inputs)
    except InputError as error:
        raise statement.error(f"{statement.keyword} {out.text}: {error}") from None
    if "zero_point" in statement.named and "scale" not in statement.named:
        raise statement.named["zero_point"].error("zero_point= without scale=: give both")
    scaled = quantization_of(statement) if "scale" in statement.named else inputs[0].quantization
    made = Quantized(name=out.text, shape=form.shape, dtype=form.dtype, quantization=scaled)
    node = Node(operator, out.text, inputs, (made,))
    try:
        node.verify()
    except Malformed as error:
        raise statement.error(f"{statement.keyword} {out.text}: {error.__cause__}") from None
    return node


def _weights(statement: Statement, known: Known, axes: int, what: str) -> dict:
    """Return the attributes that all operators with weights have. axes: the number of axes of the filters."""
    item = statement.unnamed[2]
    found = known.filter(item)
    if found.values.ndim != axes:
        raise item.error(f"filters of {times(found.values.shape)}: {statement.keyword} takes {what}")
    outputs = found.values.shape[-1 if statement.keyword == "depthwise_conv" else 0]
    if found.scales.size not in (1, outputs):
        raise item.error(f"{found.scales.size} scales for {outputs} channels: give one, or one for each")
    return {
        "filters": found.values,
        "scales": found.scales,
        "bias": bias_of(statement, known.folder, outputs),
        "activation": _activation(statement),
    }


def _activation(statement: Statement) -> str:
    item = statement.named.get("activation")
    return item.one_of("activation", ACTIVATIONS) if item else "NONE"


def _window(statement: Statement, known: Known, kernel: tuple[int, int]) -> dict:
    """Return the stride, dilation and pads."""
    stride, dilation = (_pair(statement, name) for name in ("stride", "dilation"))
    item = statement.named.get("pad")
    if item is None or item.text == "valid":
        pads = NO_PADS
    elif item.text == "same":
        shape = known.tensor(statement.unnamed[1]).shape
        if len(shape) != 4:
            raise item.error(f"pad=same of {times(shape)}, which is no map: leave it out")
        pads = same_pads(shape[1:3], kernel, stride, dilation)
    else:
        numbers = item.numbers()
        if len(numbers) != 4 or min(numbers) < 0:
            raise item.error(f"pad={item.text}: write same, valid, or four numbers: top, bottom, left, right")
        top, bottom, left, right = numbers
        pads = top, bottom, left, right
    return {"stride": stride, "dilation": dilation, "pads": pads}


def _pair(statement: Statement, name: str) -> tuple[int, int]:
    """Return the vertical and the horizontal value of one number or two."""
    item = statement.named.get(name)
    if item is None:
        return 1, 1
    values = item.numbers()
    if len(values) > 2 or min(values) < 1:
        raise item.error(f"{name}={item.text}: write one number of at least 1, or two: vertical, horizontal")
    return values[0], values[-1]


def _conv(statement: Statement, known: Known) -> Operator:
    fields = _weights(statement, known, 4, "[M, R, S, C]")
    return Conv2D(**fields, **_window(statement, known, fields["filters"].shape[1:3]))


def _depthwise(statement: Statement, known: Known) -> Operator:
    fields = _weights(statement, known, 3, "[R, S, M]")
    return DepthwiseConv2D(**fields, **_window(statement, known, fields["filters"].shape[:2]))


def _pointwise(statement: Statement, known: Known) -> Operator:
    fields = _weights(statement, known, 2, "[M, C]")
    return Conv2D(**fields | {"filters": fields["filters"][:, None, None]})


def _fully_connected(statement: Statement, known: Known) -> Operator:
    return FullyConnected(**_weights(statement, known, 2, "[M, C]"))


def _pool(kind: type[MaxPool2D | AveragePool2D]) -> Callable[[Statement, Known], Operator]:
    def make(statement: Statement, known: Known) -> Operator:
        kernel = _pair(statement, "kernel")
        window = _window(statement, known, kernel)
        stride = window["stride"] if "stride" in statement.named else kernel
        return kind(kernel=kernel, stride=stride, pads=window["pads"], activation=_activation(statement))

    return make


def _binary(kind: type[Add | Sub | Mul]) -> Macro:
    return Macro(("A", "B"), _SCALED, ("scale",), lambda statement, known: kind(activation=_activation(statement)))


def _function(kind: type[Function]) -> Macro:
    return Macro(("IN",), ("scale", "zero_point"), ("scale",), lambda statement, known: kind())


def _normalization(statement: Statement, known: Known) -> Operator:
    """Return a local response normalisation."""
    factors = {name: statement.named[name].real() for name in _FACTORS}
    try:
        return LocalResponseNormalization(radius=statement.named["radius"].number(), **factors)
    except InputError as error:
        raise statement.error(str(error)) from None


_FACTORS = ("alpha", "beta", "k")
_FILTERED = ("bias", *_SCALED)
_POOL = ("kernel", "stride", "pad", "activation")
MACROS = {
    "conv": Macro(("IN", "FILTER"), (*_FILTERED, *_WINDOW), ("scale",), _conv),
    "depthwise_conv": Macro(("IN", "FILTER"), (*_FILTERED, *_WINDOW), ("scale",), _depthwise),
    "pointwise_conv": Macro(("IN", "FILTER"), _FILTERED, ("scale",), _pointwise),
    "fc": Macro(("IN", "FILTER"), _FILTERED, ("scale",), _fully_connected),
    "max_pool": Macro(("IN",), _POOL, ("kernel",), _pool(MaxPool2D)),
    "average_pool": Macro(("IN",), _POOL, ("kernel",), _pool(AveragePool2D)),
    "mean": Macro(("IN",), ("scale", "zero_point"), (), lambda statement, known: Mean(axes=(1, 2))),
    "add": _binary(Add),
    "sub": _binary(Sub),
    "mul": _binary(Mul),
    "maximum": Macro(("A", "B"), (), (), lambda statement, known: Maximum()),
    "minimum": Macro(("A", "B"), (), (), lambda statement, known: Minimum()),
    "concat": Macro(("A", "B"), (), (), lambda statement, known: Concatenation(axis=-1)),
    **{kind.name.lower(): _function(kind) for kind in (Absolute, Elu, Exp, HardSwish, Log, Logistic, Tanh)},
    "lrn": Macro(("IN",), ("radius", *_FACTORS, "scale", "zero_point"), ("radius", *_FACTORS, "scale"), _normalization),
}
