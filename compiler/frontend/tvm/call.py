# SPDX-License-Identifier: Apache-2.0
"""One operator of Relax, with the access methods of translators."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.frontend.tvm.steps import Step, Value
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.network import Attribute, Operation
from eyrie.model.messages import times

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """The size of the first axis of all values: a number, or a symbol. The Graph is for one image."""

    size: int | str

    def one(self, value: Value) -> Shape:
        """Return the shape of a value for one image. Raise Unsupported."""
        if not value.shape or value.shape[0] != self.size:
            raise Unsupported(f"the first axis of {value.name} is not the batch")
        return 1, *_sizes(value, value.shape[1:])


def _sizes(value: Value, axes: tuple[int | str, ...]) -> Shape:
    """Return the sizes of axes of a value. Raise Unsupported if one is known only at run time."""
    sizes = tuple(size for size in axes if isinstance(size, int))
    if len(sizes) < len(axes):
        raise Unsupported(f"the shape of {value.name} is not fixed: {' x '.join(map(str, value.shape))}")
    return sizes


@dataclass(frozen=True, eq=False)
class Call:
    """An operator. settled: names of values that are the same in every run; made: constants that a translator adds, by
    name"""

    step: Step
    batch: Batch
    settled: Collection[str]
    made: dict[str, np.ndarray] = field(default_factory=dict)

    def operand(self, number: int) -> object:
        return self.step.operands[number]

    def given(self, attribute: str) -> bool:
        return getattr(self.step.attributes, attribute) is not None

    def whole(self, attribute: str) -> int:
        return int(getattr(self.step.attributes, attribute))

    def numbers(self, attribute: str) -> Shape:
        return tuple(map(int, getattr(self.step.attributes, attribute)))

    def real(self, attribute: str) -> float:
        return float(getattr(self.step.attributes, attribute))

    def text(self, attribute: str) -> str:
        return str(getattr(self.step.attributes, attribute))

    @property
    def pads(self) -> Shape:
        """Return the pads before and after, for each axis. Relax lists all pads before first."""
        flat = self.numbers("padding")
        rank = len(flat) // 2
        return tuple(pad for pair in zip(flat[:rank], flat[rank:]) for pad in pair)

    def expect(self, **wanted: float) -> None:
        """Raise Unsupported unless attributes have these values."""
        for name, value in wanted.items():
            if (found := self.real(name)) != value:
                raise Unsupported(f"its {name} is {found}, must be {value}")

    @property
    def map_axes(self) -> int:
        """Return the number of axes of windows: 1 of conv1d, 2 of conv2d."""
        return 1 if self.step.operator.endswith("1d") else 2

    def is_constant(self, operand: object) -> bool:
        return not isinstance(operand, Value) or operand.name in self.settled

    def shape(self, operand: object) -> Shape:
        """Return the shape of an operand, for one image."""
        if isinstance(operand, Value):
            return _sizes(operand, operand.shape) if operand.name in self.settled else self.batch.one(operand)
        return operand.shape if isinstance(operand, np.ndarray) else ()

    @property
    def made_shape(self) -> Shape:
        """Return the shape of the result, for one image."""
        return self.shape(self.step.made)

    def array(self, number: int, what: str) -> np.ndarray:
        """Return the values of a constant operand. Raise Unsupported for another operand."""
        found = self.operand(number)
        if not isinstance(found, np.ndarray):
            raise Unsupported(f"its {what} is no constant: bind the module's parameters first (BindParams)")
        return found

    def value(self, operand: object) -> str:
        """Return the name of an operand; a constant gets one."""
        if isinstance(operand, Value):
            return operand.name
        if not isinstance(operand, (np.ndarray, int, float)):
            raise Unsupported("an operand is not a tensor")
        name = f"{self.step.made.name}.constant{len(self.made)}"
        self.made[name] = operand if isinstance(operand, np.ndarray) else np.array(operand, np.float32)
        return name

    def axis(self, value: int, rank: int) -> int:
        """Return an axis, counted from the front. Raise Unsupported if it is the batch axis."""
        if value % rank == 0:
            raise Unsupported("it goes across images")
        return value % rank

    def make(self, kind: str, /, *operands: object, **attributes: Attribute) -> Operation:
        """Return an operation with the operator's name and place."""
        return self.inner(kind, self.step.made.name, *operands, **attributes)

    def inner(self, kind: str, made: str, /, *operands: object, **attributes: Attribute) -> Operation:
        """Return one of several operations that an operator becomes. operands: strings name values of earlier
        operations"""
        inputs = tuple(each if isinstance(each, str) else self.value(each) for each in operands)
        return Operation(kind, inputs, (made,), self.step.where, self.step.operator, attributes)

    # ---- Operators that are known by their names alone ----

    def of_one(self, kind: str) -> list[Operation]:
        return [self.make(kind, self.operand(0))]

    def of_two(self, kind: str) -> list[Operation]:
        """Translate an operator of two values, which must be of one image."""
        rank = len(self.made_shape)
        for each in self.step.operands:
            shape = self.shape(each)
            if (not self.is_constant(each) and len(shape) != rank) or (len(shape) == rank and shape[0] != 1):
                raise Unsupported(f"an operand of {times(shape)} goes across images")
        return [self.make(kind, *self.step.operands)]
