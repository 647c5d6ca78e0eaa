# SPDX-License-Identifier: Apache-2.0
"""The text of the C files: the header, the source, and the constants."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jinja2
import numpy as np

from eyrie.compiler.c import kernels
from eyrie.compiler.c.lowering import Lowered, lower
from eyrie.compiler.c.names import identifier, remark, unique
from eyrie.compiler.files import write_all
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.kernel_calls.steps import Operand, Real, Setting

_WIDTH = 120
_FEW = 6  # at most so many numbers are written inline
_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "bool": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
}
_OURS = re.compile(r"^(step|constant)\d+(_.*)?$")  # what steps and constants are called
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
)


@dataclass(frozen=True, eq=False)
class Argument:
    """An input or output of the network, as an argument of the C function.

    name    in C
    tensor  of the graph
    dtype   of the values that the caller passes or gets: uint8 if the model has uint8
    """

    name: str
    tensor: Tensor
    dtype: str

    @property
    def type(self) -> str:
        return _TYPES[self.dtype]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    @property
    def size(self) -> int:
        return self.tensor.size

    @property
    def scale(self) -> str:
        """Return the scale as text, "" if the tensor is not quantised."""
        return _number(np.float32(self.tensor.quantization.scale)) if isinstance(self.tensor, Quantized) else ""

    @property
    def zero_point(self) -> int:
        return quantized(self.tensor).zero_point + (128 if self.dtype == "uint8" else 0)

    @property
    def about(self) -> str:
        return remark(f"{self.tensor.name}: {self.dtype} [{', '.join(map(str, self.shape))}]")


@dataclass(frozen=True, eq=False)
class Sources:
    """A network as C. name: of its files; all identifiers in the header begin with it"""

    name: str
    lowered: Lowered
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    files: dict[str, str]
    constant_bytes: int

    @property
    def arena_bytes(self) -> int:
        return self.lowered.arena_bytes

    @property
    def arena_storage(self) -> str:
        """Return the name of the macro with the storage class of the arena; its default is `static`."""
        return f"{self.name.upper()}_ARENA_STORAGE"

    @property
    def header(self) -> str:
        """Return the file's name."""
        return f"{self.name}.h"

    @property
    def source(self) -> str:
        """Return the file's name."""
        return f"{self.name}.c"

    def save(self, folder: str | Path) -> None:
        """Write the files into a folder. Raise InputError, with one line."""
        write_all(folder, {name: text.encode() for name, text in self.files.items()})


def sources_of(graph: Graph, name: str) -> Sources:
    """Return a graph as C sources. Raise Unsupported."""
    name = identifier(name, "network")
    if not graph.outputs:
        raise Unsupported("the network has no output", remedy="convert the model again")
    lowered = lower(graph)
    ends = (*lowered.inputs, *lowered.outputs)
    words = unique(
        (_OURS.sub(r"\g<0>_", identifier(tensor.name, "value")) for tensor, _ in ends),
        {"arena", *kernels.functions(), *_TYPES.values()},
    )
    arguments = [Argument(word, tensor, given.dtype) for word, (tensor, given) in zip(words, ends)]
    inputs, outputs = (tuple(part) for part in (arguments[: len(lowered.inputs)], arguments[len(lowered.inputs) :]))
    text = _Text(lowered, {given.name: argument for argument, (_, given) in zip(arguments, ends)})
    values = {
        "name": name,
        "NAME": name.upper(),
        "inputs": inputs,
        "outputs": outputs,
        "arguments": arguments,
        "lowered": lowered,
        "text": text,
        "kernels": kernels.joined(sorted({s.kernel for s in lowered.steps})),
    }
    source = _TEMPLATES.get_template("network.c.j2").render(values)
    values |= {"constants": text.constants.values()}
    files = {
        f"{name}.h": _TEMPLATES.get_template("network.h.j2").render(values),
        f"{name}.c": source,
        f"{name}_constants.h": _TEMPLATES.get_template("constants.h.j2").render(values),
    }
    return Sources(name, lowered, inputs, outputs, files, text.constant_bytes)


@dataclass(frozen=True, eq=False)
class ConstantArray:
    name: str
    values: np.ndarray

    @property
    def declaration(self) -> str:
        return f"static const {_TYPES[str(self.values.dtype)]} {self.name}[{self.values.size}]"

    @property
    def text(self) -> str:
        return _lines(map(_number, self.values))


class _Text:
    """The text of steps; the constants that they name, by their bytes."""

    def __init__(self, lowered: Lowered, arguments: dict[str, Argument]) -> None:
        self._lowered, self._arguments = lowered, arguments
        self.constants: dict[tuple[str, bytes], ConstantArray] = {}
        self.steps = [(f"step{number}", step) for number, step in enumerate(lowered.steps)]

    @property
    def constant_bytes(self) -> int:
        return sum(array.values.nbytes for array in self.constants.values())

    @cached_property
    def settings(self) -> list[str]:
        """Return the declaration of each step's struct."""
        return [
            f"/* {remark(step.place)} */\nstatic const struct {step.kernel} {name} = "
            f"{self._struct(step.settings, f'{name}_', 1)};"
            for name, step in self.steps
        ]

    def call(self, name: str) -> str:
        step = dict(self.steps)[name]
        operands = [self._pointer(operand) for operand in (*step.inputs, step.output)]
        return f"{step.kernel}({', '.join([f'&{name}', *operands])});"

    def _pointer(self, operand: Operand) -> str:
        tensor, offset = operand.tensor, operand.offset
        if tensor.name in self._lowered.places:
            return _plus("arena", self._lowered.places[tensor.name] + offset)
        if isinstance(tensor, Constant):
            name, type_, is_read = self._constant(tensor.data, "constant"), _TYPES[tensor.dtype], True
        else:
            argument = self._arguments[tensor.name]
            name, type_, is_read = argument.name, argument.type, argument.tensor in self._inputs
        if not offset or type_ == "int8_t":
            return _plus(name, offset)
        qualifier = "const " if is_read else ""
        return f"({qualifier}unsigned char *){name} + {offset}"

    @property
    def _inputs(self) -> list[Tensor]:
        return [tensor for tensor, _ in self._lowered.inputs]

    def _struct(self, settings: Mapping[str, Setting], prefix: str, depth: int) -> str:
        fields = [f".{name} = {self._value(value, f'{prefix}{name}', depth)}" for name, value in settings.items()]
        return f"{{\n{_lines(fields)}\n}}" if depth == 1 else f"{{{', '.join(fields)}}}"

    def _value(self, value: Setting, name: str, depth: int) -> str:
        if isinstance(value, Mapping):
            return self._struct(value, f"{name}_", depth + 1)
        if isinstance(value, tuple):
            return f"{{{', '.join(map(_number, value))}}}"
        if not isinstance(value, np.ndarray):
            return _number(value)
        if not value.size:
            return "NULL"
        if value.size <= _FEW and value.dtype == np.int32:
            return f"(const int32_t[]){{{_numbers(value)}}}"
        return self._constant(value, name)

    def _constant(self, values: np.ndarray, name: str) -> str:
        """Return the name of the array with these values. Arrays with the same bytes share a name."""
        values = _stored(values)
        key = str(values.dtype), values.tobytes()
        if key not in self.constants:
            name = f"{name}{len(self.constants)}" if name == "constant" else name
            self.constants[key] = ConstantArray(name, values)
        return self.constants[key].name


def _plus(name: str, offset: int) -> str:
    return f"{name} + {offset}" if offset else name


def _lines(items: Iterable[str]) -> str:
    """Return lines with as many items as fit."""
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) + 6 > _WIDTH:
            lines.append(f"{line},")
            line = ""
        line = f"{line}, {item}" if line else item
    return "\n".join(f"    {each}" for each in [*lines, line])


def _stored(values: np.ndarray) -> np.ndarray:
    """Return the values in a type that can be written as integers: float32 as its bits, because it may have NaN."""
    values = np.ascontiguousarray(values).reshape(-1)
    return values.view({"float32": np.int32, "bool": np.uint8}.get(str(values.dtype), values.dtype))


def _numbers(values: Iterable) -> str:
    return ", ".join(map(_number, np.asarray(values).reshape(-1)))


def _number(value: int | Real) -> str:
    if isinstance(value, float | np.floating):
        text = str(value)
        text = text if "." in text or "e" in text else f"{text}.0"
        return f"{text}f" if isinstance(value, np.float32) else text
    value = int(value)
    if value == -(2**63):
        return f"-INT64_C({2**63 - 1}) - 1"
    return f"INT64_C({value})" if abs(value) >= 2**31 else str(value)
