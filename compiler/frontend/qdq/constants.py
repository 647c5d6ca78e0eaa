# SPDX-License-Identifier: Apache-2.0
"""Constants: data movement; and scales."""

from collections.abc import Iterable, Sequence

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.graph import REMEDY
from eyrie.compiler.ir.operator import axis_of
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Coded, Codes, Known, Scale, offset
from eyrie.compiler.operators.registry import of_kinds
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization

QUANTISE = "quantise the model to int8"
UNKNOWN = "no such operator is known"


def of_constants(operation: Operation, inputs: Sequence[Known | Codes]) -> Sequence[Known | Codes]:
    """Return the results of an operator on constants. Quantised weights keep their codes if only their axes move."""
    (first, *_others), arrays = inputs, of_kinds()[operation.kind].arrays
    assert arrays is not None
    if operation.kind in ("transpose", "reshape", "identity") and isinstance(first, Known) and first.coded:
        scale = _scale_behind(operation, first.coded.scale, first.shape)
        if scale:
            (values,), (codes,) = arrays(operation, first.values), arrays(operation, first.coded.codes)
            return [Known(values, Coded(codes, scale))]
    kind = Known if all(isinstance(each, Known) for each in inputs) else Codes
    return [kind(np.asarray(each)) for each in arrays(operation, *(each.values for each in inputs))]


def _scale_behind(operation: Operation, scale: Scale, shape: tuple[int, ...]) -> Scale | None:
    """Return the scale of a constant of `shape` after an operator on its axes, None if it has no such scale."""
    if scale.axis is None or operation.kind == "identity":
        return scale
    axis = axis_of(scale.axis, len(shape))
    if operation.kind == "transpose":
        return Scale(scale.scale, scale.zero_point, operation.integers("axes").index(axis))
    to, before = operation.integers("shape"), int(np.prod(shape[:axis]))
    for n, size in enumerate(to):
        if int(np.prod(to[:n])) == before and size == shape[axis]:
            return Scale(scale.scale, scale.zero_point, n)
    return None


def given_scale(operation: Operation) -> Scale:
    """Return the scale of a QUANTIZE or DEQUANTIZE. Raise ModelImportError."""
    scale, zero = operation.array("scale").astype(np.float64), operation.array("zero_point").astype(np.int64)
    if not (np.all(scale > 0) and np.all(scale < np.inf)):
        raise ModelImportError(
            f"{operation.place}: a scale is positive and finite", layer=operation.where, remedy=QUANTISE
        )
    if zero.size not in (1, scale.size):
        raise ModelImportError(
            f"{operation.place}: {zero.size} zero points for {scale.size} scales", layer=operation.where, remedy=REMEDY
        )
    axis = operation.integer("axis") if operation.has("axis") else None
    if axis is None and scale.size > 1:
        raise InputError(f"{scale.size} scales without an axis")
    single = scale.size == 1
    return Scale(
        scale,
        np.broadcast_to(zero.reshape(-1) if scale.ndim else zero.reshape(()), scale.shape),
        None if single else axis,
    )


def quantization_of(operation: Operation, unsigned: bool) -> Quantization:
    """Return the scale of a QUANTIZE or DEQUANTIZE of one scale, for int8 codes. Raise ModelImportError."""
    scale, zero = float(operation.array("scale").ravel()[0]), int(operation.array("zero_point").ravel()[0])
    try:
        if 0 < scale < np.finfo(np.float32).tiny:
            raise InputError(f"a scale of {scale:g} is too small")
        return Quantization(scale, zero - offset("uint8" if unsigned else "int8"))
    except InputError as error:
        raise ModelImportError(f"{operation.place}: {error}", layer=operation.where, remedy=QUANTISE) from error


def scale_of_codes(operations: Iterable[Operation], name: str, unsigned: bool) -> Quantization | None:
    """Return the scale of codes, which their DEQUANTIZE has, or None without one."""
    same = {name}
    for operation in operations:
        if operation.inputs and operation.inputs[0] in same:
            if operation.kind == "dequantize":
                return quantization_of(operation, unsigned)
            if takes_codes(operation):
                same |= set(operation.outputs)
    return None


def takes_codes(operation: Operation) -> bool:
    return operation.kind in of_kinds() and of_kinds()[operation.kind].takes_codes
