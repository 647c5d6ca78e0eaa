# SPDX-License-Identifier: Apache-2.0
"""The search for operators of a file that mix images. Without one, runs of one image each give the results of a batch.

The operators are imported twice, for one image and for several. The axis of a value that grows is the axis of its
images. Images may share it with other values, one image after the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import onnx

from eyrie.compiler.ir.qdq.network import HostOperation, Operation
from eyrie.compiler.operators.interpreted import Interpreted

_WINDOWS = ("conv", "conv_transpose", "max_pool", "average_pool", "batch_norm", "resize_nearest", "resize_bilinear")
_OF_SHAPES = ("shape", "begin", "end", "sizes", "size", "margins", "reason")  # attributes that images may change


class _Mixed(Exception):
    """An operator mixes images, or may."""

    def __init__(self, reason: str = "it may mix images") -> None:
        super().__init__(reason)


@dataclass(frozen=True)
class Batch:
    """The operations of a file for a number of images, its constants, and the shapes of all values, by name."""

    images: int
    operations: Sequence[Operation]
    constants: Mapping[str, np.ndarray]
    shapes: Mapping[str, tuple[int, ...]]


def are_alike(one: Batch, several: Batch) -> bool:
    """Return whether a file has the same operations for another number of images."""
    return [(each.kind, each.outputs) for each in one.operations] == [
        (each.kind, each.outputs) for each in several.operations
    ]


def first_that_mixes(one: Batch, several: Batch, outputs: Sequence[str]) -> str:
    """Return the place of the first operation that may mix images, and the reason; "" without one. outputs: of the
    file"""
    for own, other in zip(one.operations, several.operations, strict=True):
        try:
            axes = [_axis_of(one, several, name) for name in own.inputs if name]
            made = [_axis_of(one, several, name) for name in own.outputs if name]
            _check_constants(own, other, one, several)
            if any(axis is not None for axis in (*axes, *made)):
                _check(own, axes, made, one.shapes)
            for name, axis in zip(filter(None, own.outputs), made, strict=True):
                if name in outputs and (axis != 0 or one.shapes[name][0] != 1):
                    raise _Mixed(f"its result {name} does not begin with an axis of images")
        except _Mixed as error:
            return f"{own.place}: {error}"
        except KeyError:  # a shape is not known: the network reports it
            continue
    return ""


def _axis_of(one: Batch, several: Batch, name: str) -> int | None:
    """Return the axis of a value's images, None for a value that is the same for all. Raise _Mixed for another value,
    KeyError if its shape is not known."""
    if name not in one.constants:
        return _axis(one.shapes[name], several.shapes[name], several.images)
    constant, other = one.constants[name], several.constants[name]
    axis = _axis(constant.shape, other.shape, several.images)
    repeats = [several.images if n == axis else 1 for n in range(constant.ndim)]
    if not np.array_equal(np.tile(constant, repeats), other, equal_nan=constant.dtype.kind == "f"):
        raise _Mixed
    return axis


def _axis(one: tuple[int, ...], several: tuple[int, ...], images: int) -> int | None:
    grown = [axis for axis, (size, more) in enumerate(zip(one, several)) if size != more]
    if len(one) != len(several) or len(grown) > 1 or any(several[axis] != images * one[axis] for axis in grown):
        raise _Mixed
    return grown[0] if grown else None


def _check_constants(own: Operation, other: Operation, one: Batch, several: Batch) -> None:
    """Raise _Mixed if an operation has other constants for several images."""
    for name, value in own.attributes.items():
        if name not in _OF_SHAPES and not np.array_equal(np.asarray(value), np.asarray(other.attributes.get(name))):
            raise _Mixed
    if isinstance(own, HostOperation) and isinstance(own.operator, Interpreted):
        for constant in onnx.load_model_from_string(own.operator.model.tobytes()).graph.initializer:
            _axis_of(one, several, constant.name)


def _check(
    own: Operation, axes: Sequence[int | None], made: Sequence[int | None], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise _Mixed if an operation works along the axis of images, or makes it of values without one."""
    if None in made or all(axis is None for axis in axes):
        raise _Mixed
    single = own.kind in ("quantize", "dequantize") and own.array("scale").size == 1
    if own.has("axis") and not single and own.integer("axis") % len(shapes[own.inputs[0]]) in axes:
        raise _Mixed
    if (own.kind in _WINDOWS or isinstance(own, HostOperation)) and any(axes):
        raise _Mixed
    before, after = shapes[own.inputs[0]], shapes[own.outputs[0]]
    first, last = axes[0] or 0, made[0] or 0
    if own.kind in ("slice", "pad") and before[first] != after[last]:
        raise _Mixed
    if own.kind == "reshape" and prod(before[:first]) != prod(after[:last]):
        raise _Mixed
