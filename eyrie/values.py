# SPDX-License-Identifier: Apache-2.0
"""The conversion of a caller's values to the model's types and shapes, and back."""

from collections.abc import Mapping
from os import PathLike

import numpy as np
from PIL.Image import Image as Picture

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.messages import about, array, unknown
from eyrie.model.operators.host import quantize
from eyrie.model.operators.quantization import to_uint8
from eyrie.runtime.inputs import file_type
from eyrie.runtime.preprocessing import photo_input

_STEPS = np.array([-512.0, 512.0])  # more of a scale than any value of int8 is away from its zero point


def stacked(graph: Graph, value: object, values: Mapping[str, object]) -> tuple[list[np.ndarray], bool]:
    """Return an array [N, ...] for each input, in the model's order, and whether N was given (even if it is 1).

    `value` is the only input, or a mapping of all by name; `values` are inputs by name. Raise InputError, with one
    line, if they do not match.
    """
    named = _named(graph, value, values)
    found = [_stack(tensor, named[tensor.name], graph) for tensor in graph.arguments]
    counts = {len(stack) for stack, _ in found}
    if len(counts) != 1 or 0 in counts:
        said = ", ".join(f"{tensor.name} {len(stack)}" for tensor, (stack, _) in zip(graph.arguments, found))
        raise InputError(f"values of inputs are {said}: give as many of each, and one at least")
    return [stack for stack, _ in found], any(several for _, several in found)


def joined(graph: Graph, outputs: list[np.ndarray], several: bool) -> dict[str, np.ndarray]:
    """Return the outputs by name; `outputs` are [N, ...] each."""
    return {
        tensor.name: _joined(tensor, values, several) for tensor, values in zip(graph.results, outputs, strict=True)
    }


def _joined(tensor: Tensor, output: np.ndarray, several: bool) -> np.ndarray:
    if not several:
        return output.reshape(tensor.shape)
    return output.reshape(len(output), *(tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape))


def _named(graph: Graph, value: object, values: Mapping[str, object]) -> dict[str, object]:
    names = [tensor.name for tensor in graph.arguments]
    if isinstance(value, Mapping):
        given = {**value, **values}
    elif value is None:
        given = dict(values)
    elif len(names) != 1 or values:
        raise InputError(f"the network takes {', '.join(names)}: give each by its name")
    else:
        given = {names[0]: value}
    for name in given:
        if name not in names:
            raise InputError(unknown("input", str(name), names))
    if missing := [name for name in names if name not in given]:
        raise InputError(f"no value is given for {', '.join(missing)}: the network takes {', '.join(names)}")
    return given


def _stack(tensor: Tensor, value: object, graph: Graph) -> tuple[np.ndarray, bool]:
    if isinstance(value, (Picture, str, PathLike)):
        return photo_input(value, graph)[0], False
    with about(f"input {tensor.name}"):
        values = _converted(as_array(value, file_type(tensor)), tensor)
    shape = tensor.shape
    shapes = [shape, shape[1:]] if shape[:1] == (1,) else [shape]
    if str(values.dtype) == file_type(tensor):
        if values.shape in shapes:
            return values.reshape(1, *shape), False
        if values.shape[1:] in shapes:
            return values.reshape(-1, *shape), True
    raise InputError(
        f"input {tensor.name} is {array(values)}, the network takes {Form(file_type(tensor), shape)}, or N of them"
    )


def as_array(value: object, dtype: np.typing.DTypeLike) -> np.ndarray:
    """Return an array. A list of whole numbers gets a type that holds them. Raise InputError, with one line."""
    if not isinstance(value, list | tuple):
        return np.asarray(value)
    try:
        made = np.asarray(value)
    except ValueError as error:
        raise InputError("lists that are no array: give rows of one length") from error
    kind = np.dtype(dtype)
    if made.dtype.kind in "iu" and kind.kind in "iu" and made.size:
        limits = np.iinfo(kind)
        if made.min() >= limits.min and made.max() <= limits.max:
            return made.astype(kind)
    return made


def _converted(values: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Convert real numbers to the network's type: quantised as QUANTIZE does, or its float type."""
    if values.dtype.kind != "f":
        return values
    if np.isnan(values).any():
        raise InputError("has values that are no numbers: give real ones")
    if file_type(tensor) == "float32":
        return values.astype(np.float32)
    if not isinstance(tensor, Quantized) or tensor.dtype != "int8":
        return values
    made = quantize(np.clip(values, *_STEPS * tensor.quantization.scale), tensor.quantization)
    return to_uint8(made) if tensor.unsigned else made
