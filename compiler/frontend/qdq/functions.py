# SPDX-License-Identifier: Apache-2.0
"""Rules of functions of one value.

An elementwise function of a single quantised tensor becomes one table of 256 entries. It rounds as the framework does
at its QUANTIZE.
"""

from collections.abc import Callable
from math import erf

import numpy as np

from eyrie.compiler.frontend.qdq.fold import Fold, Rule
from eyrie.compiler.frontend.qdq.network import Operation
from eyrie.compiler.frontend.qdq.values import Held, Known, Made, Real, Scaled, Target, int8_codes
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators.tables import Lookup
from eyrie.model.operators.quantization import ACTIVATIONS, Quantization, activation_range
from eyrie.model.operators.tables import VALUES

Values = np.ndarray
_erf = np.vectorize(erf, otypes=[float])


def bounds(operation: Operation) -> tuple[float, float]:
    """Return the bounds of relu or clip."""
    if operation.kind == "relu":
        return 0.0, np.inf
    return operation.number("minimum", -np.inf), operation.number("maximum", np.inf)


def clamp(operation: Operation, to: Quantization) -> tuple[int, int]:
    """Return the int8 bounds of relu or clip after a QUANTIZE."""
    low, high = (int8_codes(np.array(bound), to) for bound in bounds(operation))
    return int(low), int(high)


def named(operation: Operation) -> str | None:
    """Return the activation of ACTIVATIONS that a relu or clip is equal to, None if it is none of them."""
    wanted = bounds(operation)
    for name, (low, high) in ACTIVATIONS.items():
        if wanted == (-np.inf if low is None else low, np.inf if high is None else high):
            return name
    return None


def _gelu(operation: Operation, x: Values) -> Values:
    if operation.text("approximate", "none") == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / np.sqrt(2)))


def _softplus(operation: Operation, x: Values) -> Values:
    return np.logaddexp(0, x)


def _sigmoid(operation: Operation, x: Values) -> Values:
    return np.exp(-np.logaddexp(0, -x))


# Functions on float64 arrays; the first argument has the attributes.
FUNCTIONS: dict[str, Callable[..., Values]] = {
    "relu": lambda operation, x: np.clip(x, *bounds(operation)),
    "clip": lambda operation, x: np.clip(x, *bounds(operation)),
    "sigmoid": _sigmoid,
    "tanh": lambda operation, x: np.tanh(x),
    "silu": lambda operation, x: x * _sigmoid(operation, x),
    "hard_swish": lambda operation, x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_sigmoid": lambda operation, x: np.clip(
        operation.number("alpha", 1 / 6) * x + operation.number("beta", 0.5), 0, 1
    ),
    "erf": lambda operation, x: _erf(x),
    "exp": lambda operation, x: np.exp(x),
    "abs": lambda operation, x: np.abs(x),
    "neg": lambda operation, x: -x,
    "sqrt": lambda operation, x: np.sqrt(x),
    "softplus": _softplus,
    "mish": lambda operation, x: x * np.tanh(_softplus(operation, x)),
    "identity": lambda operation, x: x,
    "leaky_relu": lambda operation, x: np.where(x < 0, operation.number("alpha", 0.01) * x, x),
    "elu": lambda operation, x: np.where(x < 0, operation.number("alpha", 1.0) * np.expm1(np.minimum(x, 0)), x),
    "gelu": _gelu,
    "prelu": lambda operation, x, slope: np.where(x < 0, slope * x, x),
    "add": lambda operation, x, y: x + y,
    "sub": lambda operation, x, y: x - y,
    "mul": lambda operation, x, y: x * y,
    "div": lambda operation, x, y: x / y,
    "minimum": lambda operation, x, y: np.minimum(x, y),
    "maximum": lambda operation, x, y: np.maximum(x, y),
}


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
    return isinstance(real, Made) and real.kind in FUNCTIONS and all(_is_of_one(each, tensors) for each in real.inputs)


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
    with np.errstate(all="ignore"):
        return FUNCTIONS[real.kind](real.operation, *(_evaluated(each, values) for each in real.inputs))


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
    return lookup(fold, operation, source, entries, target)


def lookup(fold: Fold, operation: Operation, source: Held, entries: np.ndarray, target: Target) -> Held:
    """Return the result of a table on a tensor, or the tensor itself if the table changes no value."""
    if source.quantization == target.quantization and (entries == VALUES).all():
        return source
    return fold.node(
        operation.where, Lookup(entries=entries), (source.tensor,), source.tensor.shape, source.axes, target
    )


def rescaled(fold: Fold, operation: Operation, source: Held, target: Target) -> Held:
    """Return a tensor in another scale, with an activation."""
    return table(fold, operation, Scaled(source), target)


def _clipped(fold: Fold, made: Made, target: Target) -> Held:
    """Return the result of relu or clip on a value that is not quantised.

    The operator before it applies the activation if it can; otherwise, the codes are clamped.
    """
    (inner,) = made.inputs
    low, high = clamp(made.operation, target.quantization)
    if (low, high) == (-128, 127):
        return fold.emit(inner, target)
    activation = named(made.operation)
    if activation and target.activation == "NONE" and isinstance(inner, Made):
        return fold.emit(inner, Target(target.quantization, target.name, activation=activation))
    plain = fold.emit(inner, Target(target.quantization, inner.name if isinstance(inner, Made) else target.name))
    entries = np.clip(np.clip(VALUES, low, high), *activation_range(target.activation, target.quantization))
    return lookup(fold, made.operation, plain, entries.astype(np.int8), target)


def clamped(rule: Rule) -> Rule:
    """Return the rule with activations for an operator that has none: a table after the operator applies them."""

    def done(fold: Fold, made: Made, target: Target) -> Held:
        if target.activation == "NONE":
            return rule(fold, made, target)
        plain = fold.emit(made, Target(target.quantization, made.name))
        entries = np.clip(VALUES, *activation_range(target.activation, target.quantization)).astype(np.int8)
        return lookup(fold, made.operation, plain, entries, target)

    return done


def _same(fold: Fold, made: Made, target: Target) -> Held:
    return fold.emit(made.inputs[0], target)


def _rejected(fold: Fold, made: Made, target: Target) -> Held:
    fold.operand(made.inputs[0])
    raise Unsupported("it takes several tensors, or constants for each channel")


RULES: dict[str, Rule] = {
    **dict.fromkeys(FUNCTIONS, _rejected),
    "relu": _clipped,
    "clip": _clipped,
    "identity": _same,
}
