# SPDX-License-Identifier: Apache-2.0
"""Feature maps at the ends of a Graph: frameworks have channels first, the accelerator has them last."""

from collections.abc import Collection, Iterable

import numpy as np

from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.tensor import Tensor

TO_CHANNELS_LAST = {4: (0, 2, 3, 1), 3: (0, 2, 1)}  # orders of axes, by their number
FROM_CHANNELS_LAST = {4: (0, 3, 1, 2), 3: (0, 2, 1)}


def map_axes(operators: Iterable[str]) -> frozenset[int]:
    """Return how many axes values have that are maps with channels: three are a map beside operators of rows alone,
    whose names end with 1d."""
    return frozenset((3, 4) if any(name.endswith("1d") for name in operators) else (4,))


def input_of(
    name: str, shape: tuple[int, ...], dtype: str, operations: list[Operation], maps: Collection[int]
) -> Tensor:
    """Return an input of a Network; add the operation that makes the framework's value of it."""
    if len(shape) not in maps:
        return Tensor(name=name, shape=shape, dtype=dtype)
    image = f"{name}.image"
    operations.append(_moved(image, name, FROM_CHANNELS_LAST[len(shape)]))
    return Tensor(name=image, shape=tuple(shape[axis] for axis in TO_CHANNELS_LAST[len(shape)]), dtype=dtype)


def output_of(name: str, shape: tuple[int, ...], operations: list[Operation], maps: Collection[int]) -> str:
    """Return the name of an output of a Network; add the operation that makes it of the framework's value."""
    if len(shape) not in maps:
        return name
    image = f"{name}.image"
    operations.append(_moved(name, image, TO_CHANNELS_LAST[len(shape)]))
    return image


def _moved(source: str, made: str, axes: tuple[int, ...]) -> Operation:
    return Operation("transpose", (source,), (made,), "#0", "permute", {"axes": axes})


def to_accelerator(values: np.ndarray, maps: Collection[int]) -> np.ndarray:
    """Return values of a framework as [N, 1, ...], feature maps with channels last."""
    values = values.transpose(TO_CHANNELS_LAST[values.ndim]) if values.ndim in maps else values
    return np.ascontiguousarray(values)[:, None]


def from_accelerator(values: np.ndarray, maps: Collection[int]) -> np.ndarray:
    """Return values of a framework, a copy, from [N, 1, ...]."""
    values = values[:, 0]
    return np.array(values.transpose(FROM_CHANNELS_LAST[values.ndim]) if values.ndim in maps else values, order="C")
