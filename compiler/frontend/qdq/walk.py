# SPDX-License-Identifier: Apache-2.0
"""The walk through the operators of a network.

Codes become tensors of the Graph at once. A float value stays pending until a QUANTIZE reads it; then the walk adds its
operators to the Graph, in the scale of the QUANTIZE.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eyrie.compiler.frontend.qdq import functions
from eyrie.compiler.frontend.qdq.constants import (
    QUANTISE,
    UNKNOWN,
    given_scale,
    of_constants,
    quantization_of,
    scale_of_codes,
    takes_codes,
)
from eyrie.compiler.frontend.qdq.nodes import Nodes, names_of_ends
from eyrie.compiler.ir.failure import CompileError, ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Graph, Node
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.ir.qdq.fold import Rejected
from eyrie.compiler.ir.qdq.network import HostOperation, Network, Operation
from eyrie.compiler.ir.qdq.values import (
    CODES,
    Codes,
    Given,
    Held,
    Known,
    Made,
    Real,
    Scaled,
    Target,
    Value,
    dequantised,
    int8_codes,
    leaves,
    offset,
    quantised,
)
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.operators.foreign import Foreign
from eyrie.compiler.operators.quantization import Dequantize, Quantize
from eyrie.compiler.operators.record import FloatOperator
from eyrie.compiler.operators.registry import of_kinds
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization, activation_range
from eyrie.model.operators.tables import VALUES

_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


def graph_of(network: Network) -> Graph:
    """Return the verified Graph. An operator without a translation becomes an Unknown node with the reason.

    Raise ModelImportError if the network contradicts itself.
    """
    if not network.operations:
        raise ModelImportError("the model has no operators")
    try:
        return _Walk(network).graph().verified()
    except ModelImportError:
        raise
    except CompileError as error:
        raise ModelImportError(str(error), layer=error.layer) from error


class _Walk(Nodes):
    """The walk through a network."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self._values: dict[str, Value] = {}
        self._made: dict[tuple[Real, Quantization, str], Held] = {}
        self._floats: dict[Real, Held] = {}
        self.current = network.operations[0]  # the operator in progress
        self._unsigned: set[str] = set()  # ends that the framework has as uint8

    def graph(self) -> Graph:
        inputs = tuple(self._input(tensor) for tensor in self.network.inputs)
        for operation in self.network.operations:
            self._take(operation)
        outputs = tuple(self._output(name) for name in self.network.outputs)
        return self._finished(Graph(inputs, tuple(self.nodes), outputs))

    def _finished(self, graph: Graph) -> Graph:
        """Return the graph, with its uint8 inputs and outputs marked, and the framework's names of outputs."""
        names = names_of_ends(graph, self.network.outputs)

        def finished(tensor: Tensor) -> Tensor:
            named = replace(tensor, name=names.get(tensor.name, tensor.name))
            if isinstance(named, Quantized) and tensor.name in self._unsigned:
                return replace(named, unsigned=True)
            return named

        def all_of(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(map(finished, tensors))

        nodes = tuple(replace(node, inputs=all_of(node.inputs), outputs=all_of(node.outputs)) for node in graph.nodes)
        return Graph(all_of(graph.inputs), nodes, all_of(graph.outputs))

    # ---- Ends ----

    def _input(self, tensor: Tensor) -> Tensor:
        name = self.name(tensor.name)
        if any(size < 1 for size in tensor.shape):
            raise ModelImportError(f"input {name} is {times(tensor.shape)}", remedy=REMEDY)
        axes = tuple(range(len(tensor.shape)))
        unsigned = tensor.dtype == "uint8"
        scale = scale_of_codes(self.network.operations, tensor.name, unsigned) if tensor.dtype in CODES else None
        if scale is not None:
            codes = Quantized(name=name, shape=tensor.shape, dtype="int8", quantization=scale)
            self._unsigned |= {name} if unsigned else set()
            self._values[tensor.name] = Held(codes, axes, unsigned)
            return codes
        made = replace(tensor, name=name)
        self._values[tensor.name] = Given(Held(made, axes))
        return made

    def _output(self, name: str) -> Tensor:
        value = self._value(name, f"the model's output {name}")
        if isinstance(value, Held):
            tensor = self.ordered(value, tuple(range(len(value.axes))), "", name)
            self._unsigned |= {tensor.name} if value.unsigned else set()
            return tensor
        if isinstance(value, (Codes, Known)):
            raise ModelImportError(f"the model's output {name} is a constant", remedy=REMEDY)
        held = self.float_of(value, name)
        return self.ordered(held, tuple(range(len(held.axes))), "", name)

    # ---- Operators ----

    def _take(self, operation: Operation) -> None:
        self.current = operation
        inputs = tuple(self._value(name, operation.place) for name in operation.inputs if name)
        made: Sequence[Value]
        try:
            made = self._results(operation, inputs)
        except Rejected as rejected:
            made = self._unknown(rejected, operation, inputs)
        except ModelImportError:
            raise
        except (ValueError, KeyError, IndexError) as error:
            what = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise ModelImportError(f"{operation.place}: {what}", layer=operation.where, remedy=REMEDY) from error
        self._values.update(zip(operation.outputs, made, strict=True))

    def _value(self, name: str, place: str) -> Value:
        if name not in self._values:
            if name not in self.network.constants:
                raise ModelImportError(f"{place}: takes {name}, which no operator before it makes", remedy=REMEDY)
            values = np.asarray(self.network.constants[name])
            real = values.dtype.kind == "f"
            self._values[name] = Known(values.astype(np.float64)) if real else Codes(values)
        return self._values[name]

    def _results(self, operation: Operation, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if operation.kind == "quantize":
            return [self._quantize(operation, *inputs)]
        if operation.kind == "dequantize":
            return [self._dequantize(operation, *inputs)]
        if isinstance(operation, HostOperation):
            return self._on_host(operation, inputs)
        record = of_kinds().get(operation.kind)
        if record is None:
            raise Rejected(operation, operation.text("reason", UNKNOWN))
        shapes = record.shapes(operation, [value.shape for value in inputs])
        self._check_shapes(operation, shapes)
        constants = [each for each in inputs if isinstance(each, (Known, Codes))]
        if len(constants) == len(inputs) and record.arrays is not None:
            return of_constants(operation, constants)
        known = [each.values for each in inputs if isinstance(each, Known)]
        if len(known) == len(inputs) and record.real is not None:
            return [Known(record.real(operation, *known))]
        reals = tuple(each for each in inputs if isinstance(each, Real))
        if len(reals) < len(inputs):
            return self._of_codes(operation, inputs, shapes)
        return [Made(operation, reals, shape, number) for number, shape in enumerate(shapes)]

    def _on_host(self, operation: HostOperation, inputs: tuple[Value, ...]) -> list[Held | Given]:
        """Add a node of the host, and return its results."""
        held = []
        for value, name in zip(inputs, operation.inputs, strict=True):
            if isinstance(value, Codes):
                raise InputError("takes a constant that its model does not have")
            held.append(value if isinstance(value, Held) else self.float_of(value, name))
        tensors = tuple(self.ordered(each, tuple(range(len(each.axes))), operation.where) for each in held)
        made = [self._of_form(name, form) for name, form in zip(operation.outputs, operation.forms, strict=True)]
        operator = operation.operator
        assert isinstance(operator, Foreign)
        operator = replace(
            operator,
            unsigned_inputs=tuple(n for n, each in enumerate(held) if each.unsigned),
            unsigned_outputs=tuple(n for n, each in enumerate(made) if isinstance(each, Held) and each.unsigned),
        )
        outputs = tuple(_held(each).tensor for each in made)
        self.nodes.append(Node(operator, operation.where, tensors, outputs))
        return made

    def _of_form(self, value: str, form: Form) -> Held | Given:
        """Return a new result of the host. Codes have the scale of their DEQUANTIZE."""
        name, axes, unsigned = self.name(value), tuple(range(len(form.shape))), form.dtype == "uint8"
        scale = scale_of_codes(self.network.operations, value, unsigned) if form.dtype in CODES else None
        if scale is None:
            return Given(Held(Tensor(name=name, shape=form.shape, dtype=form.dtype), axes))
        return Held(Quantized(name=name, shape=form.shape, dtype="int8", quantization=scale), axes, unsigned)

    def _check_shapes(self, operation: Operation, shapes: list[tuple[int, ...]]) -> None:
        for name, shape in zip(operation.outputs, shapes, strict=True):
            said = self.network.shapes.get(name, shape)
            if tuple(said) != tuple(shape):
                raise InputError(f"makes {times(shape)}, the model says {times(said)}")

    def _of_codes(self, operation: Operation, inputs: tuple[Value, ...], shapes: list[tuple[int, ...]]) -> list[Held]:
        """Return the results of an operator on codes, with the scale of its inputs."""
        held = [each for each in inputs if isinstance(each, Held)]
        if not takes_codes(operation) or len(held) < len(inputs):
            raise Rejected(operation, f"takes codes without a DEQUANTIZE: {QUANTISE}")
        if len({each.quantization for each in held}) > 1:
            raise Rejected(operation, "takes codes of several scales")
        scale, unsigned = held[0].quantization, held[0].unsigned
        operation = of_kinds()[operation.kind].on_codes(operation, scale, offset("uint8" if unsigned else "int8"))
        reals = tuple(Scaled(each) for each in held)
        made = [Made(operation, reals, shape, number) for number, shape in enumerate(shapes)]
        return [replace(self.emit(each, Target(scale, each.name)), unsigned=unsigned) for each in made]

    def _unknown(self, rejected: Rejected, operation: Operation, inputs: tuple[Value, ...]) -> list[Held | Given]:
        """Add a node with the reason of the rejection, and return its results for the operators after it."""
        taken: dict[str, Tensor] = {}
        for value in inputs:
            held = [value] if isinstance(value, Held) else [leaf.held for leaf in leaves(value)]
            taken |= {each.tensor.name: each.tensor for each in held}
        made = [self._unknown_output(operation, inputs, number) for number in range(len(operation.outputs))]
        tensors = tuple(_held(each).tensor for each in made)
        self.nodes.append(
            Node(
                Unknown(rejected.operation.name, rejected.reason),
                rejected.operation.where,
                tuple(taken.values()),
                tensors,
            )
        )
        return made

    def _unknown_output(self, operation: Operation, inputs: tuple[Value, ...], number: int) -> Held | Given:
        """Return the result of an unknown operator: codes for a QUANTIZE, a float value for others."""
        shape = self._shape_of(operation, inputs, number)
        name, axes = self.name(operation.outputs[number]), tuple(range(len(shape)))
        if operation.kind == "quantize" and operation.text("dtype") in CODES and operation.array("scale").size == 1:
            unsigned = operation.text("dtype") == "uint8"
            quantization = quantization_of(operation, unsigned)
            return Held(Quantized(name=name, shape=shape, dtype="int8", quantization=quantization), axes, unsigned)
        return Given(Held(Tensor(name=name, shape=shape, dtype="float32"), axes))

    def _shape_of(self, operation: Operation, inputs: tuple[Value, ...], number: int) -> tuple[int, ...]:
        said = self.network.shapes.get(operation.outputs[number])
        if said is not None:
            return tuple(said)
        if operation.kind in of_kinds():
            return of_kinds()[operation.kind].shapes(operation, [value.shape for value in inputs])[number]
        raise ModelImportError(f"{operation.place}: {operation.text('reason', UNKNOWN)}", layer=operation.where)

    # ---- Quantisation ----

    def _quantize(self, operation: Operation, source: Value) -> Held | Codes:
        dtype = operation.text("dtype")
        if not isinstance(source, Real):
            raise InputError(f"quantises codes: {operation.inputs[0]}")
        if dtype not in _RANGES:
            raise Rejected(operation, f"its codes are {dtype}, not int8: {QUANTISE}")
        low, high = (operation.integer(name, bound) for name, bound in zip(("minimum", "maximum"), _RANGES[dtype]))
        if isinstance(source, Known):
            return Codes(quantised(source.values, given_scale(operation), low, high).astype(dtype))
        if dtype not in CODES or operation.array("scale").size != 1:
            form = dtype if dtype not in CODES else "of a scale for each channel"
            raise Rejected(operation, f"codes of activations are {form}, not int8 of one scale: {QUANTISE}")
        target = Target(quantization_of(operation, dtype == "uint8"), operation.outputs[0])
        if (low, high) != _RANGES[dtype]:
            scale, zero = target.quantization.scale, int(operation.array("zero_point").ravel()[0])
            bounds = {"minimum": (low - zero) * scale, "maximum": (high - zero) * scale}
            clip = replace(operation, kind="clip", attributes=bounds)
            source = Made(clip, (source,), source.shape)
        return replace(self.emit(source, target), unsigned=dtype == "uint8")

    def _dequantize(self, operation: Operation, codes: Value) -> Real:
        scale = given_scale(operation)
        if isinstance(codes, Codes):
            axis_size = 1 if scale.axis is None else codes.shape[scale.axis]
            if scale.scale.size not in (1, axis_size):
                raise InputError(f"{scale.scale.size} scales for {axis_size} channels")
            return dequantised(codes.values, scale)
        if isinstance(codes, Given):
            if codes.held.tensor.dtype != "float32":
                raise Rejected(operation, "its codes have no scale of their own")
            return codes  # after an operator that has no translation
        if not isinstance(codes, Held):
            raise InputError(f"dequantises a value without codes: {operation.inputs[0]}")
        if scale.scale.size != 1:
            raise Rejected(operation, f"an activation has a scale for each channel: {QUANTISE}")
        quantization = quantization_of(operation, codes.unsigned)
        if quantization == codes.quantization:
            return Scaled(codes)
        raise Rejected(operation, "its scale differs from the QUANTIZE before it")

    # ---- The interface of records ----

    def emit(self, real: Real, target: Target) -> Held:
        key = real, target.quantization, target.activation
        if key not in self._made:
            self._made[key] = self._emitted(real, target)
        return self._made[key]

    def _emitted(self, real: Real, target: Target) -> Held:
        if isinstance(real, Known):
            return self.constant(int8_codes(real.values, target.quantization), target)
        if isinstance(real, Scaled) and (real.held.quantization, target.activation) == (target.quantization, "NONE"):
            return real.held
        if isinstance(real, Given) and (real.held.tensor.dtype, target.activation) == ("float32", "NONE"):
            tensor = real.held.tensor
            return self.node(
                self.current.where, Quantize(to_even=True), (tensor,), tensor.shape, real.held.axes, target
            )
        operation = real.operation if isinstance(real, Made) else self.current
        try:
            if functions.is_table(real):
                return functions.table(self, operation, real, target)
            if not isinstance(real, Made):
                raise Unsupported(f"its input is not quantised: {QUANTISE}")
            return self._made_by(of_kinds()[real.kind], real, target)
        except Unsupported as error:
            raise Rejected(operation, str(error)) from error

    def _made_by(self, record: type[FloatOperator], made: Made, target: Target) -> Held:
        """Return the tensor of an operator's result, with its change of scale and its activation if the operator does
        not apply them itself."""
        scale = self.scale_of(made) if record.moves else None
        if scale is not None and (scale, "NONE") != (target.quantization, target.activation):
            return self.rescaled(made.operation, self.emit(made, Target(scale, made.name)), target)
        if record.clamps or target.activation == "NONE":
            return record.as_int8(self, made, target)
        plain = self.emit(made, Target(target.quantization, made.name))
        entries = np.clip(VALUES, *activation_range(target.activation, target.quantization)).astype(np.int8)
        return self.lookup(made.operation, plain, entries, target)

    def operand(self, real: Real) -> Held:
        if isinstance(real, Scaled):
            return real.held
        if isinstance(real, Made) and (scale := self.scale_of(real)):
            return self.emit(real, Target(scale, real.name))
        name = real.name if isinstance(real, Made) else real.held.tensor.name if isinstance(real, Given) else ""
        raise Unsupported(f"its input {name} is not quantised: {QUANTISE}" if name else "it takes a constant")

    def scale_of(self, made: Made) -> Quantization | None:
        record, scales = of_kinds()[made.kind], set()
        if not record.keeps_scale:
            return None
        for real in made.inputs:
            scale = real.held.quantization if isinstance(real, Scaled) else None
            scales.add(self.scale_of(real) if isinstance(real, Made) else scale)
        only = scales.pop() if len(scales) == 1 else None
        return only if only is not None and record.keeps(made.operation, only) else None

    def rescaled(self, operation: Operation, source: Held, target: Target) -> Held:
        return functions.table(self, operation, Scaled(source), target)

    def float_of(self, real: Real, name: str) -> Held:
        """Return a float tensor."""
        if real not in self._floats:
            self._floats[real] = self._float_of(real, name)
        return self._floats[real]

    def _float_of(self, real: Real, name: str) -> Held:
        if isinstance(real, Given):
            return real.held
        maker = next(each for each in self.network.operations if name in each.outputs)
        try:
            held = self.operand(real)
        except (Unsupported, Rejected) as error:
            rejected = (
                error
                if isinstance(error, Rejected)
                else Rejected(
                    real.operation if isinstance(real, Made) else maker, f"its result is not quantised: {QUANTISE}"
                )
            )
            (value,) = self._unknown(rejected, replace(maker, outputs=(name,)), (real,))
            return _held(value)
        source = self.ordered(held, tuple(range(len(held.axes))), maker.where)
        output = Tensor(name=self.name(name), shape=source.shape, dtype="float32")
        self.nodes.append(Node(Dequantize(), maker.where, (source,), (output,)))
        return Held(output, tuple(range(len(source.shape))))


def _held(value: Held | Given) -> Held:
    return value if isinstance(value, Held) else value.held
