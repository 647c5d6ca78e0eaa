# SPDX-License-Identifier: Apache-2.0
"""The inputs of a network: types, checks, files and random values."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.messages import array
from eyrie.model.operators.quantization import to_uint8
from eyrie.runtime.networks import read_arrays


def is_unsigned(tensor: Tensor) -> bool:
    """Return whether a Graph has values of uint8 as int8."""
    return isinstance(tensor, Quantized) and tensor.unsigned


def in_file(value: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return a value of a Graph as the model's file has it."""
    return to_uint8(value) if is_unsigned(tensor) else value


def file_type(tensor: Tensor) -> str:
    """Return the type of the values in the model's file."""
    return "uint8" if is_unsigned(tensor) else tensor.dtype


def fitted(tensors: Sequence[Tensor], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return an array [N, ...] for each input, N of the model's shape each. A batch axis of 1 may be missing.

    Raise InputError, with one line, if an array does not match.
    """
    if isinstance(inputs, (str, bytes, Mapping)) or not isinstance(inputs, Iterable):
        raise InputError(f"inputs are {type(inputs).__name__}: give a list with an array for each input")
    try:
        inputs = [np.asarray(value) for value in inputs]
    except ValueError as error:  # NumPy's own
        raise InputError("an input is of lists that are no array: give rows of one length") from error
    if len(inputs) != len(tensors):
        raise InputError(f"{len(inputs)} inputs are given, the network takes {len(tensors)}")
    found = [_with_batch(tensor, value) for tensor, value in zip(tensors, inputs)]
    for tensor, value, given in zip(tensors, found, inputs):
        if (
            str(value.dtype) != file_type(tensor)
            or value.shape[1:] != tensor.shape
            or (len(value) != len(found[0]) or not len(value))
        ):
            form, is_real = Form(file_type(tensor), tensor.shape), given.dtype.kind == "f" and tensor.dtype == "int8"
            remedy = ": quantise it (docs/howto/batch.md)" if is_real else ""
            raise InputError(f"input {tensor.name} is {array(given)}, the network takes {form}, or N of them{remedy}")
    return found


def _with_batch(tensor: Tensor, values: np.ndarray) -> np.ndarray:
    shape = tensor.shape
    missing = shape[:1] == (1,) and values.shape[1:] != shape and 0 < values.ndim <= len(shape)
    if missing and values.shape[values.ndim - len(shape) + 1 :] == shape[1:]:
        return values.reshape(-1, *shape)
    return values


def read_inputs(path: str | Path, tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Read the inputs of a network from a file (see `read_arrays`). Raise InputError, with one line, if the file does
    not match the network.
    """
    values = read_arrays(path, [tensor.name for tensor in tensors])
    try:
        return fitted(tensors, values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def random_inputs(graph: Graph, count: int, seed: int) -> list[np.ndarray]:
    """Return random values [N, ...] for each input of a network.

    Integers are uniform over their type; with 32 or 64 bits, where they may be indices, they are 0 to 7. Real numbers
    cover the range of the quantised tensor that they become.
    """
    rng = np.random.default_rng(seed)
    return [_drawn(tensor, graph, count, rng) for tensor in graph.arguments]


def _drawn(tensor: Tensor, graph: Graph, count: int, rng: np.random.Generator) -> np.ndarray:
    shape, kind = (count, *tensor.shape), file_type(tensor)
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(kind).itemsize > 2 and np.dtype(kind).kind in "iu":
        return rng.integers(0, 8, shape, kind)
    if np.dtype(kind).kind in "fc":
        made = (node.outputs[0] for node in graph.readers.get(tensor.name, []))
        ranges = [of.quantization for of in made if isinstance(of, Quantized)]
        low, high = (
            ((-128 - ranges[0].zero_point) * ranges[0].scale, (127 - ranges[0].zero_point) * ranges[0].scale)
            if ranges
            else (-1, 1)
        )
        return rng.uniform(low, high, shape).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
