# SPDX-License-Identifier: Apache-2.0
"""Functions of one quantised tensor as tables.

An elementwise function of a single quantised tensor becomes one table of 256 entries. It rounds as the framework does
at its QUANTIZE.
"""

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Known, Made, Real, Scaled, Target, int8_codes
from eyrie.compiler.operators.registry import of_kinds
from eyrie.model.operators.quantization import activation_range
from eyrie.model.operators.tables import VALUES

Values = np.ndarray


def is_table(real: Real) -> bool:
    """Return whether a float value is an elementwise function of one quantised tensor."""
    tensors: set[str] = set()
    return _is_of_one(real, tensors) and len(tensors) == 1


def _is_of_one(real: Real, tensors: set[str]) -> bool:
    if isinstance(real, Scaled):
        tensors.add(real.held.tensor.name)
        return True
    if isinstance(real, Known):
        return real.values.size == 1
    return (
        isinstance(real, Made)
        and of_kinds()[real.kind].real is not None
        and all(_is_of_one(each, tensors) for each in real.inputs)
    )


def _leaf(real: Real) -> Scaled | None:
    if isinstance(real, Made):
        return next((leaf for each in real.inputs if (leaf := _leaf(each))), None)
    return real if isinstance(real, Scaled) else None


def _evaluated(real: Real, values: Values) -> Values:
    if isinstance(real, Scaled):
        return values
    if isinstance(real, Known):
        return real.values.reshape(())
    assert isinstance(real, Made)  # is_table says so
    function = of_kinds()[real.kind].real
    assert function is not None
    with np.errstate(all="ignore"):
        return function(real.operation, *(_evaluated(each, values) for each in real.inputs))


def table(fold: Fold, operation: Operation, real: Real, target: Target) -> Held:
    """Return the table of a value for which is_table is true. Raise Unsupported if a result is not a number."""
    leaf = _leaf(real)
    assert leaf is not None  # is_table says so
    source, scale = leaf.held, leaf.held.quantization
    results = _evaluated(real, (VALUES - scale.zero_point) * scale.scale)
    if len(real.shape) != len(source.shape) or np.shape(results) != np.shape(VALUES):
        raise Unsupported("it makes more axes than its input has")
    used = np.isfinite(results)
    if np.isnan(results).any():
        raise Unsupported("its result is no number for some of its inputs")
    entries = int8_codes(np.where(used, results, np.sign(results) * np.finfo(np.float32).max), target.quantization)
    entries = np.clip(entries, *activation_range(target.activation, target.quantization)).astype(np.int8)
    return fold.lookup(operation, source, entries, target)
