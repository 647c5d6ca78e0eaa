# SPDX-License-Identifier: Apache-2.0
"""Random elementwise operations of the PPU with their expected results, value by value.

Written from the reference kernels, not from model/ppu.py: gemmlowp's SaturatingRoundingDoublingHighMul and
RoundingDivideByPOT; Add, SubElementwise, MulElementwise, BroadcastPrelu4DSlow, AveragePool, MaxPool and
Mean of TensorFlow Lite's reference kernels for int8, SquaredDifference of tflite-micro.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.encoding import Operation

RIDING = ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "PRELU", "MAXIMUM", "MINIMUM", "TABLE")  # on any pass
WINDOWS = ("SUM", "WINDOW_MAXIMUM", "WINDOW_MINIMUM")  # on vector passes
ALL = ("NONE", *RIDING, *WINDOWS)
AS_IS = {"multiplier": 1 << 30, "shift": 1}  # a factor of 1
ADD_SHIFT = 20
SQUARE_SHIFT = 7


@dataclass
class Operated:
    """An operation: configuration words by port, words of the residual and of the table stream, and int8 [n, 8]."""

    ports: dict[str, int]
    words: np.ndarray
    residual: list[int] = field(default_factory=list)
    table: list[int] = field(default_factory=list)


def high_mul(a: int, b: int) -> int:
    """Return half of the high half of a product, rounded. The quotient is truncated towards zero for both signs."""
    product = a * b
    total = product + (1 << 30 if product >= 0 else 1 - (1 << 30))
    return total // (1 << 31) if total >= 0 else -(-total // (1 << 31))


def divide_by_pot(x: int, exponent: int) -> int:
    mask = (1 << exponent) - 1
    remainder, threshold = x & mask, (mask >> 1) + (x < 0)
    return (x >> exponent) + (remainder > threshold)


def scale(x: int, multiplier: int, shift: int) -> int:
    return divide_by_pot(high_mul(x << max(shift, 0), multiplier), max(-shift, 0))


def finish(value: int, result: dict[str, int]) -> int:
    scaled = scale(value, result["multiplier"], result["shift"]) + result["zero_point"]
    return min(max(scaled, result["act_min"]), result["act_max"])


def words_of(values: np.ndarray) -> list[int]:
    """Return int8 [n, 8] as GLB words."""
    return [int.from_bytes(row.astype(np.int8).tobytes(), "little") for row in values]


def draw_operation(rng: np.random.Generator, name: str, a: np.ndarray, window: int = 0) -> Operated:
    """Return a random operation of ALL on words of the first operand, int8 [n, 8].

    `window` is one of WINDOWS, random if 0.
    """
    if name == "NONE":  # the other fields have no effect
        ports = _ports(Operation.NONE, {**_operand(rng), "window": 0}, _operand(rng), _result(rng, 0.5))
        return Operated(ports, a)
    return _BUILD.get(name, _extreme)(rng, name, a, window or int(rng.choice([1, 2, 3, 4, 9, len(a)])))


def _ports(
    operation: Operation, first: dict[str, int], second: dict[str, int], result: dict[str, int]
) -> dict[str, int]:
    return {
        "first": enc.PPU_FIRST.pack(**first),
        "second": enc.PPU_SECOND.pack(operation=operation, **second),
        "result": enc.PPU_RESULT.pack(**result),
    }


def _operand(rng: np.random.Generator) -> dict[str, int]:
    return {
        "multiplier": int(rng.integers(1 << 30, 1 << 31)),
        "right_shift": int(rng.integers(0, 12)),
        "zero_point": int(rng.integers(-128, 128)),
    }


def _result(rng: np.random.Generator, factor: float) -> dict[str, int]:
    """Return a factor around one, with any zero point and clamp."""
    shift = int(np.floor(np.log2(factor) + rng.uniform(-1, 2)))
    low, high = sorted(int(v) for v in rng.integers(-128, 128, 2)) if rng.random() < 0.4 else (-128, 127)
    return {
        "multiplier": int(rng.integers(1 << 30, 1 << 31)),
        "shift": min(max(shift, -31), 30),
        "zero_point": int(rng.integers(-128, 128)),
        "act_min": low,
        "act_max": high,
    }


def _each(a: np.ndarray, b: np.ndarray, value: Callable[[int, int], int], result: dict[str, int]) -> np.ndarray:
    values = [finish(value(int(x), int(y)), result) for x, y in zip(a.ravel(), b.ravel())]
    return np.array(values, np.int8).reshape(a.shape)


def _other(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    return rng.integers(-128, 128, a.shape).astype(np.int8)


def _sum(rng: np.random.Generator, name: str, a: np.ndarray, _: int) -> Operated:
    """Return sums, differences, or squared differences, whose addends are raised by less."""
    b, operands, squared = _other(rng, a), [_operand(rng), _operand(rng)], name == "SQUARED_DIFFERENCE"
    raised = SQUARE_SHIFT if squared else ADD_SHIFT
    if rng.random() < 0.5:  # factors so small that every rounding shows in the result, and half of them ties
        for operand in operands:
            tie = (2 * int(rng.integers(2)) + 1) << int(rng.integers(28, 31) - raised)
            small = int(rng.integers(1 << 32 - raised))
            operand |= {"multiplier": tie if rng.random() < 0.5 else small, "right_shift": 0}
        reach = 512.0
    else:
        if squared:  # a larger one overflows
            operands = [operand | {"right_shift": max(operand["right_shift"], 1)} for operand in operands]
        reach = 256 * 2.0 ** (raised - min(operand["right_shift"] for operand in operands))
    result = _result(rng, 256 / (reach**2 if squared else reach))

    def addend(operand: dict[str, int], q: int) -> int:
        return scale((q - operand["zero_point"]) << raised, operand["multiplier"], -operand["right_shift"])

    def value(x: int, y: int) -> int:
        first, second = addend(operands[0], x), addend(operands[1], y)
        return first + second if name == "ADD" else (first - second) ** 2 if squared else first - second

    words = _each(a, b, value, result)
    ports = _ports(Operation[name], {**operands[0], "window": 0}, operands[1], result)
    return Operated(ports, words, words_of(b))


def _product(rng: np.random.Generator, name: str, a: np.ndarray, _: int) -> Operated:
    b, first, second = _other(rng, a), _operand(rng), _operand(rng)  # only their zero points matter
    result = _result(rng, float(2.0 ** rng.uniform(-12, 3)))
    words = _each(a, b, lambda x, y: (x - first["zero_point"]) * (y - second["zero_point"]), result)
    return Operated(_ports(Operation.MUL, {**first, "window": 0}, second, result), words, words_of(b))


def _prelu(rng: np.random.Generator, name: str, a: np.ndarray, _: int) -> Operated:
    b, first, second, result = _other(rng, a), _operand(rng), _operand(rng), _result(rng, 1.0)
    negative = result | {"multiplier": first["multiplier"], "shift": -first["right_shift"]}

    def value(x: int, y: int) -> int:
        x, y = x - first["zero_point"], y - second["zero_point"]
        return finish(x, result) if x >= 0 else finish(x * y, negative)

    words = [value(int(x), int(y)) for x, y in zip(a.ravel(), b.ravel())]
    ports = _ports(Operation.PRELU, {**first, "window": 0}, second, result)
    return Operated(ports, np.array(words, np.int8).reshape(a.shape), words_of(b))


def _extreme(rng: np.random.Generator, name: str, a: np.ndarray, window: int) -> Operated:
    """Return maxima and minima, most of them without a change of scale."""
    kind = Operation[name.removeprefix("WINDOW_")]
    choose = max if kind == Operation.MAXIMUM else min
    first = _operand(rng) | {"window": 0}
    result = _result(rng, 1.0)
    if rng.random() < 0.6:
        first["zero_point"] = 0
        result |= AS_IS | {"zero_point": 0}
    if name == kind.name:
        b = _other(rng, a)
        words = _each(a, b, lambda x, y: choose(x, y) - first["zero_point"], result)
        return Operated(_ports(kind, first, _operand(rng), result), words, words_of(b))
    first["window"] = window
    rows = [
        [finish(choose(int(v) for v in column) - first["zero_point"], result) for column in part.T]
        for part in _windows(a, window)
    ]
    return Operated(_ports(kind, first, _operand(rng), result), np.array(rows, np.int8))


def _table(rng: np.random.Generator, name: str, a: np.ndarray, _: int) -> Operated:
    entries = rng.integers(-128, 128, 256).astype(np.int8)  # of -128, -127, ...
    ports = _ports(Operation.TABLE, {**_operand(rng), "window": 0}, _operand(rng), _result(rng, 1.0))
    return Operated(ports, entries[a.astype(int) + 128], words_of(entries.reshape(-1, 8)))


def _windows(a: np.ndarray, window: int) -> list[np.ndarray]:
    """Return the windows; the last one may be shorter."""
    return [a[first : first + window] for first in range(0, len(a), window)]


def _window_sum(rng: np.random.Generator, name: str, a: np.ndarray, window: int) -> Operated:
    """Return averages of all values or of fewer, or sums with any factor and bias."""
    averages = rng.random() < 0.5
    result = _result(rng, 1.0)
    if averages:
        result["zero_point"] = 0
    table, words = [], []
    for part in _windows(a, window):
        totals = [sum(int(v) for v in column) for column in part.T]
        if averages:
            count = int(rng.integers(max(1, (len(part) + 1) // 2), len(part) + 1))
            factor = AS_IS if count == 1 else {"multiplier": (1 << 31) // count + 1, "shift": 0}
            table.append(enc.WINDOW.pack(**factor, bias=0))
            means = [(abs(total) + count // 2) // count * (1 if total >= 0 else -1) for total in totals]
            words.append([min(max(mean, result["act_min"]), result["act_max"]) for mean in means])
        else:
            bias = int(rng.integers(-128 * len(part), 128 * len(part) + 1))
            factor = _result(rng, 1 / len(part))
            table.append(enc.WINDOW.pack(multiplier=factor["multiplier"], shift=factor["shift"], bias=bias))
            own = {**result, "multiplier": factor["multiplier"], "shift": factor["shift"]}
            words.append([finish(total + bias, own) for total in totals])
    first = _operand(rng) | {"window": window}
    return Operated(_ports(Operation.SUM, first, _operand(rng), result), np.array(words, np.int8), table=table)


_BUILD: dict[str, Callable[[np.random.Generator, str, np.ndarray, int], Operated]] = {
    "ADD": _sum,
    "SUB": _sum,
    "SQUARED_DIFFERENCE": _sum,
    "MUL": _product,
    "PRELU": _prelu,
    "TABLE": _table,
    "SUM": _window_sum,
}
