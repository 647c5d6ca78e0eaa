# SPDX-License-Identifier: Apache-2.0
"""What a front end gives.

Values have names; shapes and axes are the framework's: N, C, H, W. Attributes in brackets may be left out.

    kind               inputs                attributes
    quantize           x                     scale, zero_point, dtype, [axis], [minimum, maximum]: of the codes
    dequantize         codes                 scale, zero_point, [axis]: a number, or one for each entry of the axis
    conv               x, weight, [bias]     [strides], [pads], [dilations], [groups]; weight M, C / groups, R, S
    linear             x, weight, [bias]     weight M, C: of the last axis of x
    batch_norm         x, scale, bias, mean, variance    [epsilon]
    add, sub, mul, div, minimum, maximum     two values, which broadcast
    relu; clip         x                     [minimum], [maximum]
    prelu              x, slope              slope: as many axes as x, or fewer that broadcast
    sigmoid, tanh, silu, hard_swish, erf, exp, abs, neg, sqrt, softplus, mish, identity    x
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
    unknown            any                   reason: why nothing can be made of it

Pads are top, bottom, left, right (before, after of a single axis). Operators that only put values in other places, and
max_pool, take codes as well as float values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.ir.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Operation:
    """inputs: names, "" for one that is left out; where, name: the operator's place and the framework's name of it."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    where: str
    name: str
    attributes: Mapping[str, object] = field(default_factory=dict)

    def __getitem__(self, attribute: str) -> object:
        return self.attributes[attribute]

    def get(self, attribute: str, default: object) -> object:
        return self.attributes.get(attribute, default)

    @property
    def place(self) -> str:
        """For messages."""
        return f"operator {self.where} {self.name}"


@dataclass(frozen=True, eq=False)
class Network:
    """operations: in an order in which they can be executed; shapes: of values, as far as the framework says."""

    inputs: tuple[Tensor, ...]
    constants: Mapping[str, np.ndarray]
    operations: tuple[Operation, ...]
    outputs: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
