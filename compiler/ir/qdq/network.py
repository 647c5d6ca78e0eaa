# SPDX-License-Identifier: Apache-2.0
"""The network of a front end: float operators between DEQUANTIZE and QUANTIZE.

Values have names. Shapes and axes are in the framework's order: N, C, H, W. Attributes in brackets are optional.

    kind               inputs                attributes
    quantize           x                     scale, zero_point, dtype, [axis], [minimum, maximum]: of the codes
    dequantize         codes                 scale, zero_point, [axis]: a number, or one for each entry of the axis
    conv               x, weight, [bias]     [strides], [pads], [dilations], [groups]; weight M, C / groups, R, S
    conv_transpose     x, weight, [bias]     strides, pads: before each axis, size: of the result; weight M, C, R, S
    linear             x, weight, [bias]     weight M, C: of the last axis of x
    batch_norm         x, scale, bias, mean, variance    [epsilon]
    add, sub, mul, div, minimum, maximum     two values, which broadcast
    relu; clip         x                     [minimum], [maximum]
    prelu              x, slope              slope: as many axes as x, or fewer that broadcast
    identity; functions of one value, by the kinds of their records (operators/)    x
    hard_sigmoid       x                     [alpha], [beta]
    leaky_relu, elu    x                     [alpha]
    gelu               x                     [approximate]: "none" or "tanh"
    max_pool           x                     kernel, [strides], [pads]
    average_pool       x                     kernel, [strides], [pads], [count_pads]: whether pads count as zeros
    mean               x                     axes, [keep]
    reshape            x                     shape, without -1
    transpose          x                     axes: axis n of the result is axes[n]
    concat             any number            axis
    split              x, any number of outputs          axis, sizes
    pad                x                     margins: (before, after) of each axis, [value]
    slice              x                     begin, end, [steps]: of each axis, not negative
    gather             x                     axis, places: integers of any shape
    resize_nearest     x                     size, [align_corners], [half_pixel]
    resize_bilinear    x                     size, [align_corners], [half_pixel]
    softmax            x                     axis
    unknown            any                   reason: why it has no translation
    host               any                   reason: why the accelerator has no such operator

Pads are top, bottom, left, right (before, after of a single axis). An attribute that is None is left out. Data-movement
operators, and max_pool, take codes as well as float values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Form, Tensor

Attribute = ArrayLike | None


@dataclass(frozen=True, eq=False)
class Operation:
    """An operator.

    inputs: names, "" for one that is left out; where: its place; name: the framework's name of the operator
    """

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    where: str
    name: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def has(self, attribute: str) -> bool:
        return self.attributes.get(attribute) is not None

    # Raise KeyError for a missing attribute without a default, TypeError for one of another type.

    def array(self, attribute: str) -> np.ndarray:
        value = self.attributes[attribute]
        if value is None:
            raise KeyError(attribute)
        return np.asarray(value)

    def integers(self, attribute: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        if default is not None and not self.has(attribute):
            return default
        return tuple(int(each) for each in _whole(self.array(attribute)))

    def integer(self, attribute: str, default: int | None = None) -> int:
        if default is not None and not self.has(attribute):
            return default
        return int(_whole(self.array(attribute)))

    def pairs(self, attribute: str) -> tuple[tuple[int, int], ...]:
        return tuple((int(first), int(second)) for first, second in _whole(self.array(attribute)))

    def number(self, attribute: str, default: float | None = None) -> float:
        if default is not None and not self.has(attribute):
            return default
        return float(self.array(attribute))

    def text(self, attribute: str, default: str | None = None) -> str:
        value = default if default is not None and not self.has(attribute) else self.attributes[attribute]
        if not isinstance(value, str):
            raise TypeError(f"{attribute} is {value!r}, no text")
        return value

    def flag(self, attribute: str) -> bool:
        """Return a Boolean attribute, False by default."""
        return bool(self.attributes.get(attribute))

    @property
    def place(self) -> str:
        """Return the place and the name, for messages."""
        return f"operator {self.where} {self.name}"


@dataclass(frozen=True, eq=False, kw_only=True)
class HostOperation(Operation):
    """An operation that the host runs as the framework defines it. operator: of the Graph; forms: of its outputs"""

    operator: Operator
    forms: tuple[Form, ...]


def _whole(values: np.ndarray) -> np.ndarray:
    if values.size and values.dtype.kind not in "biu":
        raise TypeError(f"{values} is no whole number")
    return values


@dataclass(frozen=True, eq=False)
class Network:
    """A network. operations: in an order in which they can run; shapes: of values, if the framework gives them"""

    inputs: tuple[Tensor, ...]
    constants: Mapping[str, np.ndarray]
    operations: tuple[Operation, ...]
    outputs: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
