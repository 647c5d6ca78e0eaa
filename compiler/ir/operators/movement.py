# SPDX-License-Identifier: Apache-2.0
"""Data-movement operators. They take tensors of any type, and copy values without regard to their scale."""

from abc import abstractmethod
from dataclasses import dataclass
from math import prod

import numpy as np

from eyrie.compiler.ir.operators.operator import Arrays, Operator, Tensors, axis_of, check_same, only, quantized
from eyrie.compiler.ir.tensor import Form
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import movement, tables


class Move(Operator):
    """A data-movement operator from one tensor to one of the same type."""

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return (Form(source.dtype, tuple(map(int, self.shape(source.shape)))),)

    @abstractmethod
    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the result. Raise InputError if the source does not fit."""

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (self.move(values[0]),)

    @abstractmethod
    def move(self, values: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, kw_only=True)
class Reshape(Move):
    """RESHAPE, SQUEEZE or EXPAND_DIMS. to: the shape; operator: the name"""

    to: tuple[int, ...]
    operator: str = "RESHAPE"

    @property
    def name(self) -> str:
        return self.operator

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if prod(source) != prod(self.to):
            raise InputError(f"{times(source)} values do not fill {times(self.to)}")
        return self.to

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.reshape(values, self.to)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return 0


@dataclass(frozen=True, kw_only=True)
class Transpose(Move):
    """TRANSPOSE: axis n of the result is axis axes[n]."""

    name = "TRANSPOSE"
    axes: tuple[int, ...]

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        places = [axis_of(axis, len(source)) for axis in self.axes]
        if sorted(places) != list(range(len(source))):
            raise InputError(f"axes {', '.join(map(str, self.axes))} of a tensor of {len(source)} axes")
        return tuple(source[place] for place in places)

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.transpose(values, self.axes)


@dataclass(frozen=True, kw_only=True)
class Pad(Move):
    """PAD or PADV2. margins: before and after, of each axis; value: the fill value"""

    name = "PAD"
    margins: tuple[tuple[int, int], ...]
    value: int

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        return _padded(source, self.margins)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.pad(values, self.margins, self.value)


@dataclass(frozen=True, kw_only=True)
class MirrorPad(Move):
    """MIRROR_PAD. mode: REFLECT, without the edge, or SYMMETRIC, with it"""

    name = "MIRROR_PAD"
    margins: tuple[tuple[int, int], ...]
    mode: str

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        made = _padded(source, self.margins)
        edge = self.mode == "REFLECT"
        if any(max(pair) > size - edge for pair, size in zip(self.margins, source)):
            raise InputError(f"margins that are larger than {times(source)} values")
        return made

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.mirror_pad(values, self.margins, self.mode)


def _padded(source: tuple[int, ...], margins: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    if len(margins) != len(source):
        raise InputError(f"margins for {len(margins)} axes do not go with a tensor of {len(source)} axes")
    if min(min(pair) for pair in margins) < 0:
        raise InputError("margins are not negative")
    return tuple(size + before + after for size, (before, after) in zip(source, margins))


@dataclass(frozen=True, kw_only=True)
class Tile(Move):
    """TILE. multiples: number of copies along each axis"""

    name = "TILE"
    multiples: tuple[int, ...]

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if len(self.multiples) != len(source) or min(self.multiples, default=1) < 1:
            raise InputError(f"a tensor of {times(source)} is not repeated {times(self.multiples)} times")
        return tuple(size * count for size, count in zip(source, self.multiples))

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.tile(values, self.multiples)


@dataclass(frozen=True, kw_only=True)
class Slice(Move):
    """SLICE. begin, size: of each axis"""

    name = "SLICE"
    begin: tuple[int, ...]
    size: tuple[int, ...]

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if not len(self.begin) == len(self.size) == len(source):
            raise InputError(f"a slice of {len(self.begin)} axes of a tensor of {len(source)}")
        return movement.slice_(_places(source), self.begin, self.size).shape

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.slice_(values, self.begin, self.size)


@dataclass(frozen=True, kw_only=True)
class StridedSlice(Move):
    """STRIDED_SLICE. Bit n of a mask applies to entry n of begin, end and strides."""

    name = "STRIDED_SLICE"
    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...]
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        try:
            return self.move(_places(source)).shape
        except IndexError:
            raise InputError(f"a slice that leaves {times(source)} values") from None

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.strided_slice(
            values,
            self.begin,
            self.end,
            self.strides,
            self.begin_mask,
            self.end_mask,
            self.ellipsis_mask,
            self.new_axis_mask,
            self.shrink_axis_mask,
        )


@dataclass(frozen=True, kw_only=True)
class Gather(Move):
    """GATHER. places: indices along the axis, of any shape"""

    name = "GATHER"
    places: tuple[int, ...]
    places_shape: tuple[int, ...]
    axis: int = 0

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        axis = axis_of(self.axis, len(source))
        if not all(0 <= place < source[axis] for place in self.places):
            raise InputError(f"places that {source[axis]} values along axis {axis} do not have")
        return source[:axis] + self.places_shape + source[axis + 1 :]

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.gather(values, np.reshape(self.places, self.places_shape), self.axis)


@dataclass(frozen=True, kw_only=True)
class ResizeNearestNeighbor(Move):
    """RESIZE_NEAREST_NEIGHBOR. size: rows, columns of the result"""

    name = "RESIZE_NEAREST_NEIGHBOR"
    size: tuple[int, int]
    align_corners: bool = False
    half_pixel_centers: bool = False

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        if len(source) != 4 or min(self.size) < 1:
            raise InputError(f"a tensor of {times(source)} is not resized to {times(self.size)}")
        return source[0], *self.size, source[3]

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.resize_nearest_neighbor(values, self.size, self.align_corners, self.half_pixel_centers)


@dataclass(frozen=True, kw_only=True)
class Concatenation(Operator):
    """CONCATENATION. unsigned: the model has it in uint8; then each input may have a scale of its own"""

    name = "CONCATENATION"
    axis: int
    unsigned: bool = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        if not inputs:
            raise InputError("takes no tensors")
        rank = len(inputs[0].shape)
        axis = axis_of(self.axis, rank)
        others = {(part.dtype, *part.shape[:axis], None, *part.shape[axis + 1 :]) for part in inputs}
        if len(others) > 1 or any(len(part.shape) != rank for part in inputs):
            shapes = ", ".join(times(part.shape) for part in inputs)
            raise InputError(f"tensors of {shapes} are not joined along axis {axis}")
        total = sum(part.shape[axis] for part in inputs)
        shape = inputs[0].shape
        return (Form(inputs[0].dtype, (*shape[:axis], total, *shape[axis + 1 :])),)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        if outputs[0].dtype == "int8" and not self.unsigned:
            check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        if self.unsigned:
            output = quantized(outputs[0]).quantization
            values = tuple(
                tables.apply(tables.joined_uint8(quantized(tensor).quantization, output), value)
                for tensor, value in zip(inputs, values)
            )
        return (movement.concatenation(values, self.axis),)


@dataclass(frozen=True, kw_only=True)
class Split(Operator):
    """SPLIT or SPLIT_V. sizes: of the parts along the axis."""

    name = "SPLIT"
    axis: int
    sizes: tuple[int, ...]

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape, axis = source.shape, axis_of(self.axis, len(source.shape))
        if min(self.sizes, default=0) < 1 or sum(self.sizes) != shape[axis]:
            sizes = " + ".join(map(str, self.sizes))
            raise InputError(f"{shape[axis]} values along an axis are not split into {sizes}")
        return tuple(Form(source.dtype, (*shape[:axis], size, *shape[axis + 1 :])) for size in self.sizes)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return tuple(movement.split_v(values[0], self.sizes, self.axis))


@dataclass(frozen=True, kw_only=True)
class Pack(Operator):
    """PACK: joins tensors of one shape along a new axis."""

    name = "PACK"
    axis: int

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        if len({part.form for part in inputs}) != 1:
            raise InputError(f"tensors of {' and '.join(str(part.form) for part in inputs)} are not packed")
        shape = inputs[0].shape
        axis = axis_of(self.axis, len(shape) + 1)
        return (Form(inputs[0].dtype, (*shape[:axis], len(inputs), *shape[axis:])),)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (movement.pack(values, self.axis),)


@dataclass(frozen=True, kw_only=True)
class Unpack(Operator):
    """UNPACK: splits a tensor along an axis, which its results do not have."""

    name = "UNPACK"
    axis: int

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape, axis = source.shape, axis_of(self.axis, len(source.shape))
        return (Form(source.dtype, shape[:axis] + shape[axis + 1 :]),) * shape[axis]

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return tuple(movement.unpack(values[0], self.axis))


@dataclass(frozen=True, kw_only=True, eq=False)
class Composed(Operator):
    """Several data-movement operators in one.

    of      their names, the first one first
    places  integers of the result's shape: indices into the values of all inputs, counted through one input after the
            other; -1: `fill`
    fill    a value
    """

    name = "MOVE"
    of: tuple[str, ...]
    places: np.ndarray
    fill: int = 0

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        if len({part.dtype for part in inputs}) != 1 or self.places.max() >= sum(part.size for part in inputs):
            raise InputError(f"places of other tensors than {' and '.join(str(part.form) for part in inputs)}")
        return (Form(inputs[0].dtype, self.places.shape),)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        flat = np.concatenate([value.reshape(-1) for value in values])
        return (np.where(self.places < 0, np.asarray(self.fill, flat.dtype), flat[self.places]),)


MOVES = (Move, Concatenation, Split, Pack, Unpack, Composed)


def _places(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a shape that takes no memory. Raise InputError if no array has such a shape."""
    return np.broadcast_to(np.int8(0), shape)
