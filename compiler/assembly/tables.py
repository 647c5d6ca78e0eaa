# SPDX-License-Identifier: Apache-2.0
"""Numbers of a source: shapes, scales, and arrays, which are in the source or in .npy files beside it."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from eyrie.compiler.arrays import read_npy
from eyrie.compiler.assembly.lexer import Item, Statement
from eyrie.model.errors import InputError
from eyrie.model.messages import array, times
from eyrie.model.operators.quantization import Quantization

REMEDY = "save one array with numpy.save"
SUFFIX = ".npy"
LEAST_SCALE, MOST_SCALE = 1e-37, 3e38  # the range of normal float32 numbers, with a margin


@dataclass(frozen=True)
class Filter:
    """Filters of a layer. values: int8; scales: float32 [M] or [1]"""

    values: np.ndarray
    scales: np.ndarray


def filter_of(statement: Statement, folder: Path) -> Filter:
    """Read `filter NAME FILE.npy` or `filter NAME SHAPE values=...`, with scale=. Raise AssemblyError."""
    statement.expect(("NAME", "FILE|SHAPE"), ("values", "scale"), ("scale",))
    item = statement.unnamed[1]
    if item.text.endswith(SUFFIX):
        if "values" in statement.named:
            raise statement.named["values"].error(f"values beside a file, {item.text}: leave one out")
        values = _file(item, folder, np.int8)
    else:
        if "values" not in statement.named:
            raise statement.error(f"filter needs a file, NAME{SUFFIX}, or a shape and values=: values= is missing")
        shape = _sizes(item)
        values = _numbers(statement.named["values"], np.int8)
        if values.size != prod(shape):
            raise statement.named["values"].error(f"{values.size} values, {times(shape)} are {prod(shape)}")
        values = values.reshape(shape)
    if not values.size:
        raise item.error(f"filters of {times(values.shape)} have no values: give at least one")
    return Filter(values, _scales(statement.named["scale"], folder))


def words_of(statement: Statement, folder: Path) -> np.ndarray:
    """Read `data NAME FILE.npy` or `data NAME values=...` as uint64 words, the last one padded. Raise AssemblyError."""
    if "values" in statement.named:
        statement.expect(("NAME",), ("values",))
        return _numbers(statement.named["values"], np.uint64)
    statement.expect(("NAME", "FILE|values="), ())
    item = statement.unnamed[1]
    content = _file(item, folder).tobytes()
    if not content:
        raise item.error(f"{item.text}: the array is empty: give one with values")
    return np.frombuffer(content + bytes(-len(content) % 8), np.uint64)


def bias_of(statement: Statement, folder: Path, outputs: int) -> np.ndarray:
    """Return the bias, int32 [M]; zeros if the line has none. Raise AssemblyError if it does not fit."""
    item = statement.named.get("bias")
    if item is None:
        return np.zeros(outputs, np.int32)
    values = _file(item, folder, np.int32) if item.text.endswith(SUFFIX) else _numbers(item, np.int32)
    if values.size != outputs:
        raise item.error(f"{values.size} biases for {outputs} channels: give one for each")
    return values.reshape(outputs)


def quantization_of(statement: Statement) -> Quantization:
    """Return the quantisation of scale= and zero_point= (default 0). Raise AssemblyError if they are invalid."""
    scale, zero_point = statement.named["scale"], statement.named.get("zero_point")
    found = Quantization(_scale(scale), 0)
    if zero_point is None:
        return found
    try:
        return Quantization(found.scale, zero_point.number())
    except InputError as error:
        raise zero_point.error(str(error)) from None


def shape_of(item: Item) -> tuple[int, ...]:
    """Return (1, N) for N, (1, H, W, C) for H,W,C. Raise AssemblyError."""
    sizes = _sizes(item)
    if len(sizes) not in (1, 3):
        raise item.error(f"{item.text}: a tensor has one size, N, or three, H,W,C, of one image")
    return 1, *sizes


def _sizes(item: Item) -> tuple[int, ...]:
    sizes = tuple(item.numbers())
    if min(sizes) < 1 or prod(sizes) >= 1 << 32:
        raise item.error(f"{item.text}: sizes are at least 1, and 4 GiB at most in all")
    return sizes


def _numbers(item: Item, dtype: type) -> np.ndarray:
    limits, values = np.iinfo(dtype), item.numbers()
    for value in values:
        if not limits.min <= value <= limits.max:
            raise item.error(f"{value}: {limits.dtype} is {limits.min} to {limits.max}")
    return np.array(values, dtype)


def _scales(item: Item, folder: Path) -> np.ndarray:
    if item.text.endswith(SUFFIX):
        values = _file(item, folder)
        if values.dtype.kind != "f" or not values.size:
            raise item.error(f"{item.text}: {array(values)}: scales are float32, one or one for each channel")
    else:
        values = np.array([_scale(Item(item.place, item.name, text)) for text in item.text.split(",")])
    if not ((values > LEAST_SCALE) & (values < MOST_SCALE)).all():
        raise item.error(f"{item.text}: scales are positive and finite")
    return values.astype(np.float32).ravel()


def _scale(item: Item) -> float:
    value = item.real()
    if not LEAST_SCALE < value < MOST_SCALE:
        raise item.error(f"a scale is positive and finite, got {item.text}")
    return value


def _file(item: Item, folder: Path, dtype: type | None = None) -> np.ndarray:
    try:
        values = read_npy(folder / item.text, REMEDY)
    except InputError as error:
        raise item.error(str(error)) from None
    if dtype and values.dtype != dtype:
        raise item.error(f"{item.text}: {array(values)}: must be {np.dtype(dtype)}")
    return values
