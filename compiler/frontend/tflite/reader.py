# SPDX-License-Identifier: Apache-2.0
"""The tensors and constants of a file, and the access to its operators with their options."""

from collections import Counter
from collections.abc import Iterable
from math import prod

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers  # type: ignore[import-untyped]  # the package has no types

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY
from eyrie.compiler.ir.tensor import Constant, Quantized, QuantizedConstant, Tensor
from eyrie.compiler.operators.windows import MOST_TAPS
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import ACTIVATIONS, UINT8_OFFSET, Quantization, from_uint8
from eyrie.model.operators.windows import NO_PADS, same_pads

QUANTISE = "quantise the model to int8"
_TYPES = {value: name.lower() for name, value in vars(schema.TensorType).items() if isinstance(value, int)}
_ACTIVATION_NAMES = {
    value: name for name, value in vars(schema.ActivationFunctionType).items() if isinstance(value, int)
}
_KINDS = ("int", "uint", "float", "bool", "complex")
STORED = tuple(name for name in _TYPES.values() if hasattr(np, name) and name.startswith(_KINDS))  # types of arrays


class Reader:
    """The tensors of one subgraph."""

    def __init__(self, model: schema.ModelT, subgraph: schema.SubGraphT) -> None:
        self.model, self._tensors = model, subgraph.tensors
        self._names = self._unique_names()
        self._made: dict[int, Tensor] = {}
        self._same: dict[int, int] = {}
        self.corrected: dict[int, tuple[int, ...]] = {}  # shapes
        self.known: dict[int, np.ndarray] = {}  # values that are known though the file does not have them

    def set_same(self, index: int, other: int) -> None:
        """Make a tensor stand for another one, which has its values."""
        self._same[index] = other

    def set_known(self, index: int, values: np.ndarray) -> None:
        """Make a tensor a constant."""
        self.known[index] = values
        self._made.pop(index, None)

    def set_shape(self, index: int, shape: tuple[int, ...]) -> None:
        """Correct the shape of a tensor: where the file leaves sizes open, its shapes are wrong."""
        if shape != self.shape(index):
            self.corrected[index] = shape
            self._made.pop(index, None)

    def has_open_shape(self, index: int) -> bool:
        """Return whether the file leaves a size of a tensor open."""
        sizes = self.raw(index).shapeSignature
        return sizes is not None and any(size < 0 for size in sizes)

    def current(self, index: int) -> int:
        """Return the tensor for which a tensor stands."""
        return self._same.get(index, index)

    def _unique_names(self) -> list[str]:
        """Return unique names of the tensors; the file may repeat names. A "#" begins the part that the compiler
        adds."""
        names = [
            "".join(
                letter if letter.isprintable() and letter != "#" else "?" for letter in (tensor.name or b"").decode()
            )
            for tensor in self._tensors
        ]
        count = Counter(names)
        return [f"{name}#{index}" if count[name] > 1 or not name else name for index, name in enumerate(names)]

    def raw(self, index: int) -> schema.TensorT:
        """Return the tensor as the file has it. Raise ModelImportError if the file does not have it."""
        if not 0 <= index < len(self._tensors):
            raise ModelImportError(f"tensor {index} of {len(self._tensors)}", remedy=REMEDY)
        return self._tensors[index]

    def name(self, index: int) -> str:
        return self._names[index]

    def stored_type(self, index: int) -> str:
        """Return the name of the type: int8, uint8, ..."""
        number = self.raw(index).type
        return _TYPES.get(number, f"type {number}")

    def is_constant(self, index: int) -> bool:
        return index in self.known or len(self.data(index)) > 0

    def data(self, index: int) -> np.ndarray:
        """Return the bytes of a constant, of another tensor an empty array. Buffer 0 is empty by convention."""
        buffer = self.raw(index).buffer
        data = self.model.buffers[buffer].data if buffer else None
        return np.zeros(0, np.uint8) if data is None else np.asarray(data, np.uint8)

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of a tensor. Raise ModelImportError if no array has such a shape."""
        if index in self.corrected:
            return self.corrected[index]
        shape = self.raw(index).shape
        shape = () if shape is None else tuple(int(size) for size in shape)
        if any(size < 1 for size in shape):
            raise ModelImportError(f"tensor {self.name(index)} is {times(shape)}", remedy=REMEDY)
        return shape

    def check_end(self, end: str, index: int) -> None:
        """Raise ModelImportError if an input or output of the network has a type that arrays do not have."""
        if (kind := self.stored_type(index)) not in STORED:
            raise ModelImportError(
                f"{end} {self.name(index)} is {kind}", remedy="end the model before it, or begin it after it"
            )

    def tensor(self, index: int) -> Tensor:
        """Return a tensor of any type; a constant has its values."""
        if index not in self._made:
            self._made[index] = self._read(index)
        return self._made[index]

    def _read(self, index: int) -> Tensor:
        kind, name, shape = self.stored_type(index), self.name(index), self.shape(index)
        if kind not in ("int8", "uint8", "int32") or not self.has_scale(index):
            if not self.is_constant(index):
                return Tensor(name=name, shape=shape, dtype=kind)
            return Constant(name=name, shape=shape, dtype=kind, data=self.values(index))
        unsigned = kind == "uint8"
        made = Quantized(
            name=name,
            shape=shape,
            dtype="int8" if unsigned else kind,
            quantization=self._quantization(index, unsigned),
            unsigned=unsigned,
        )
        if not self.is_constant(index):
            return made
        data = self.values(index)
        return QuantizedConstant(
            name=name,
            shape=shape,
            dtype=made.dtype,
            quantization=made.quantization,
            unsigned=unsigned,
            data=from_uint8(data) if unsigned else data,
        )

    def has_scale(self, index: int) -> bool:
        values = self.raw(index).quantization
        return values is not None and values.scale is not None and len(values.scale) > 0

    def _quantization(self, index: int, unsigned: bool) -> Quantization:
        values = self.raw(index).quantization
        points, scale = values.zeroPoint, float(values.scale[0])
        if 0 < scale < np.finfo(np.float32).tiny:
            raise ModelImportError(f"tensor {self.name(index)}: a scale of {scale:g} is too small", remedy=QUANTISE)
        zero_point = int(points[0]) if points is not None and len(points) else 0
        try:
            return Quantization(scale, zero_point - (UINT8_OFFSET if unsigned else 0))
        except InputError as error:
            raise ModelImportError(f"tensor {self.name(index)}: {error}", remedy=QUANTISE) from error

    def values(self, index: int) -> np.ndarray:
        """Return the values of a constant, as the file has them. Raise ModelImportError if they do not fill its
        shape."""
        if index in self.known:
            return self.known[index]
        kind, tensor = self.stored_type(index), self.raw(index)
        shape = tuple(int(size) for size in (() if tensor.shape is None else tensor.shape))
        if kind not in STORED or tensor.sparsity is not None:
            form = "a sparse one" if tensor.sparsity is not None else f"one of {kind}"
            raise Unsupported(f"a constant is {form}")
        data, wanted = self.data(index), prod(shape) * np.dtype(kind).itemsize
        if len(data) != wanted or min(shape, default=1) < 0:
            raise ModelImportError(f"a constant of {times(shape)} has {len(data)} bytes, needs {wanted}", remedy=REMEDY)
        return data.view(kind).reshape(shape)

    def scales(self, index: int, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scales and zero points of filters: one of each, or one per channel."""
        if not self.has_scale(index):
            raise Unsupported("its filters are without scale")
        values = self.raw(index).quantization
        scales = np.asarray(values.scale, np.float32)
        points = np.zeros(1, np.int64) if values.zeroPoint is None else np.asarray(values.zeroPoint, np.int64)
        if len(scales) not in (1, channels):
            raise ModelImportError(f"{len(scales)} scales of filters for {channels} channels", remedy=REMEDY)
        if not np.all((scales > 0) & (scales < np.inf)):
            raise ModelImportError(f"filters {self.name(index)}: a scale is positive and finite", remedy=QUANTISE)
        return scales, points


class Call:
    """One operator of the file, with the access methods of importers.

    Methods raise Unsupported if the operator lacks a part that other models have, and ModelImportError if the file
    contradicts itself.
    """

    def __init__(self, reader: Reader, operator: schema.OperatorT, name: str, table: str) -> None:
        """Make the access to an operator. name: of the operator, by the schema; table: of its options"""
        self.reader, self.name, self.operator, self._table = reader, name, operator, table
        self.inputs = [reader.current(int(index)) for index in _list(operator.inputs)]
        self.outputs = [int(index) for index in _list(operator.outputs)]

    @property
    def custom_options(self) -> bytes:
        """Return the options of a custom operator."""
        return bytes(_list(self.operator.customOptions))

    @property
    def custom_settings(self) -> dict[str, int]:
        """Return the options of a custom operator that has them by name."""
        return flexbuffers.Loads(self.custom_options)

    def option(self, name: str, default: int | None = None) -> int:
        """Return an integer option, or its default if the operator may have no options."""
        if self.operator.builtinOptions is None and default is not None:
            return default
        return int(self._option(name))

    def number(self, name: str) -> float:
        """Return an option."""
        return float(self._option(name))

    def typed(self, name: str, kind: object) -> object:
        """Return an option as a value of a type; text is the name of the fused activation."""
        if kind is str:
            return self.fused()
        return self.number(name) if kind is float else bool(self.option(name)) if kind is bool else self.option(name)

    def choice(self, name: str, enumeration: str) -> str:
        """Return the name of an option's value in an enumeration of the schema."""
        values = vars(getattr(schema, enumeration)).items()
        return {value: name for name, value in values if isinstance(value, int)}.get(self.option(name), "")

    def _option(self, name: str) -> float:
        """Return an option. Raise ModelImportError if the operator has no options, or the ones of another operator."""
        options = self.operator.builtinOptions
        found = "missing" if options is None else type(options).__name__.removesuffix("T")
        if found != self._table:
            raise ModelImportError(f"its options are {found}, must be {self._table}", remedy=REMEDY)
        return getattr(options, name)

    @property
    def unsigned(self) -> bool:
        """Return whether the operator has uint8 outputs."""
        return self.reader.stored_type(self.outputs[0]) == "uint8"

    def has(self, number: int) -> bool:
        """Return whether the operator has this input."""
        return number < len(self.inputs) and self.inputs[number] >= 0

    def tensor(self, number: int) -> Tensor:
        """Return an input of any type."""
        if not self.has(number):
            raise ModelImportError(f"its input {number} is missing", remedy=REMEDY)
        if (kind := self.reader.stored_type(self.inputs[number])) not in STORED:
            raise Unsupported(f"its input {number} is {kind}")
        return self.reader.tensor(self.inputs[number])

    def tensors(self) -> tuple[Tensor, ...]:
        """Return all inputs, of any types."""
        return tuple(self.tensor(number) for number in range(len(self.inputs)))

    def int8(self) -> Tensor:
        """Return the first input, which must be int8 or uint8; the output may have another type."""
        source = self.tensor(0)
        if source.dtype != "int8" or not isinstance(source, Quantized):
            raise Unsupported(f"its input is {source.dtype}, not int8 with a scale")
        return source

    def quantized(self, number: int) -> Quantized:
        """Return an input, which must have the type of the outputs: int8 or uint8."""
        tensor = self.tensor(number)
        return self._checked(self.inputs[number], tensor, f"input {number}")

    def quantized_output(self) -> Quantized:
        return self._checked(self.outputs[0], self.reader.tensor(self.outputs[0]), "output")

    def _checked(self, index: int, tensor: Tensor, end: str) -> Quantized:
        kind = self.reader.stored_type(index)
        if kind not in ("int8", "uint8"):
            raise Unsupported(f"its {end} is {kind}, not int8")
        if not isinstance(tensor, Quantized):
            raise Unsupported(f"its {end} is without scale")
        if (kind == "uint8") != self.unsigned:
            raise Unsupported(f"its {end} is {kind}, its output is not")
        return tensor

    def constant(self, number: int) -> np.ndarray:
        """Return the values of an input, which must be a constant."""
        if not self.has(number):
            raise ModelImportError(f"its input {number} is missing", remedy=REMEDY)
        index = self.inputs[number]
        if not self.reader.is_constant(index) and min(_list(self.reader.raw(index).shape), default=1) > 0:
            raise Unsupported(f"its input {number} is not a constant")
        return self.reader.values(index)

    def integers(self, number: int) -> tuple[int, ...]:
        """Return the integers of a constant input."""
        values = self.constant(number)
        if values.dtype not in (np.int32, np.int64):
            raise Unsupported(f"its input {number} is {values.dtype}, not int32")
        return tuple(map(int, values.ravel()))

    def fused(self) -> str:
        """Return the name of the fused activation."""
        number = self.option("fusedActivationFunction", 0)
        name = _ACTIVATION_NAMES.get(number, str(number))
        if name not in ACTIVATIONS:
            raise Unsupported(f"fused activation {name}; supported are {', '.join(ACTIVATIONS)}")
        return name

    @property
    def pads_as_same(self) -> bool:
        name = self.choice("padding", "Padding")
        if not name:
            raise ModelImportError(f"its padding is {self.option('padding')}, must be SAME or VALID", remedy=REMEDY)
        return name == "SAME"

    def window(
        self, kernel: tuple[int, int], dilation: tuple[int, int] = (1, 1)
    ) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
        """Return stride and pads of a window over the first input."""
        shape = self.tensor(0).shape
        stride = self.option("strideH"), self.option("strideW")
        if len(shape) != 4:
            raise ModelImportError(f"its input is {times(shape)}, must be N x H x W x C", remedy=REMEDY)
        if min(*stride, *kernel, *dilation) < 1:
            raise ModelImportError(
                f"a kernel of {times(kernel)} with strides of {times(stride)} and dilations of {times(dilation)}",
                remedy=REMEDY,
            )
        if max(*stride, *kernel, *dilation) > MOST_TAPS:
            raise Unsupported(
                f"a kernel of {times(kernel)} with strides of {times(stride)} and dilations of "
                f"{times(dilation)}: at most {MOST_TAPS} each"
            )
        if not self.pads_as_same:
            return stride, NO_PADS
        return stride, same_pads(shape[1:3], kernel, stride, dilation)


def _list(values: Iterable[int] | None) -> list[int]:
    return [] if values is None else list(values)
