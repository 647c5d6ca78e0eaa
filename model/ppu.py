# SPDX-License-Identifier: Apache-2.0
"""The model of the PPU at pass level: from the sums that leave the array to the int8 words written into the GLB."""

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.arithmetic import multiply_by_quantized_multiplier, rounding_average, table_entries, wrap_int32
from eyrie.model.array import DrainTransfers, in_pixel_pairs, unpack_tables
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Operation, PoolMode
from eyrie.model.operators.elementwise import ADD_LEFT_SHIFT, SQUARE_LEFT_SHIFT
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN

BLOCK_CHANNELS = 8
BYTES = 256  # values of an int8


def words(
    descriptor: Descriptor,
    sums: np.ndarray,
    beats: DrainTransfers,
    tables: np.ndarray | None,
    residual: np.ndarray | None = None,
) -> np.ndarray:
    """Return GLB words (uint64) in the order in which the PPU emits them; of two pixels the first one comes first.

    sums      int32 [tiles of the pass, sums of a column, cols], in the order of `beats`
    tables    uint64 [tiles of the pass * chains * blocks * 9], or None for raw words
    residual  uint64: words of the second operand, or the table of the operation
    """
    columns, last = descriptor.drain["columns"], descriptor.drain["last_block"]
    ordered = np.zeros((len(sums), np.prod(beats.loops), columns), np.int32)
    ordered[:, beats.place] = sums[:, :, :columns]
    blocks = ordered.reshape(-1, *beats.loops[2:], columns)  # [block, pixel, channel, column]
    if descriptor.ppu["raw"]:
        low_high = np.ascontiguousarray(blocks.transpose(0, 1, 3, 2))
        values = low_high.view(np.int8).reshape(*low_high.shape[:3], -1)
    else:
        values = _pool(
            descriptor,
            _requantize(descriptor, blocks, unpack_tables(_brought(tables).reshape(-1, enc.PARAMETER_WORDS))),
        )
    packed = np.zeros((*values.shape[:-1], BLOCK_CHANNELS), np.int8)
    packed[..., : values.shape[-1]] = values
    if not descriptor.ppu["raw"]:
        packed[beats.loops[1] - 1 :: beats.loops[1], ..., last:] = 0
    made = packed.reshape(-1, BLOCK_CHANNELS).view(np.uint64)[:, 0]
    if descriptor.drain["two_pixels"]:
        made = made[in_pixel_pairs(*values.shape[:3])]
    return operate(descriptor, made[:, None], residual)


def words_of_tile(descriptor: Descriptor, loops: tuple[int, int, int, int]) -> int:
    """Return how many times the PPU emits words (of one or two pixels) for a tile; `loops`: as in `DrainTransfers`."""
    chains, blocks, pixels, _ = loops
    columns, mode = descriptor.drain["columns"], descriptor.ppu["pool"]
    if mode == PoolMode.AVERAGE:
        return chains * blocks * (((columns - 1) >> descriptor.ppu["pool_columns"]) + 1)
    if mode == PoolMode.MAX:
        return chains * blocks * (pixels // 2) * (columns // 2)
    return chains * blocks * (-(-pixels // 2) if descriptor.drain["two_pixels"] else pixels) * columns


def _requantize(descriptor: Descriptor, beats: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return the requantised sums, int8 [block, pixel, column, channel]."""
    channels = beats.shape[2]
    bias, multiplier, shift = (tables[:, n, None, None, :channels] for n in range(3))
    sums = beats.transpose(0, 1, 3, 2).astype(np.int64)
    scaled = multiply_by_quantized_multiplier(wrap_int32(sums + bias), multiplier, shift)
    return _clamp(scaled + descriptor.ppu["zero_point"], descriptor.ppu)


def _clamp(values: np.ndarray, limits: dict[str, int]) -> np.ndarray:
    return np.clip(values, limits["act_min"], limits["act_max"]).astype(np.int8)


def _pool(descriptor: Descriptor, values: np.ndarray) -> np.ndarray:
    """Pool [block, pixel, column, channel] as the configuration says."""
    mode = descriptor.ppu["pool"]
    if mode == PoolMode.AVERAGE:
        starts = np.arange(0, values.shape[2], 1 << descriptor.ppu["pool_columns"])
        total = np.add.reduceat(values.astype(np.int64).sum(axis=1, keepdims=True), starts, axis=2)
        return _clamp(rounding_average(total, descriptor.ppu["pool_count"]), descriptor.ppu)
    if mode == PoolMode.MAX:
        blocks, pixels, columns, channels = values.shape
        return values.reshape(blocks, pixels // 2, 2, columns // 2, 2, channels).max(axis=(2, 4))
    return values


# ---- The elementwise operation ----------------------------------------------------------------------


def words_made(descriptor: Descriptor, transfers: int) -> int:
    """Return how many words a vector pass makes of the transfers of its first operand; the last one ends its window."""
    return -(-transfers // max(descriptor.first["window"], 1))


def others_taken(descriptor: Descriptor, transfers: int) -> int:
    """Return how many words of the residual stream go with the transfers of the first operand.

    They are words of the second operand or a table.
    """
    return enc.LOOKUP_WORDS if descriptor.second["operation"] == Operation.TABLE else transfers


def operate(
    descriptor: Descriptor,
    words: np.ndarray,
    residual: np.ndarray | None = None,
    windows: np.ndarray | None = None,
    lanes: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the GLB words (uint64) that leave.

    words     uint64 [transfers, 1 or 2]: the first operand; without windows, the first word of each transfer
    residual  uint64: a word of the second operand for each word of the first operand, or the 32 words of a table
    windows   uint64: parameters of each window of a SUM (`encoding.WINDOW`)
    lanes     bool, as `words`: which words of a window are valid; None: all
    """
    first, second, result = descriptor.first, descriptor.second, descriptor.result
    operation, window = Operation(second["operation"]), first["window"]
    if operation == Operation.NONE:
        return words[:, 0]
    values = _joined(operation, words, lanes) if window else _bytes(words[:, 0])
    if operation == Operation.TABLE:
        return _brought(residual).view(np.int8)[values + BYTES // 2].view(np.uint64)[:, 0]
    if operation in (Operation.ADD, Operation.SUB):
        sign = 1 if operation == Operation.ADD else -1
        other = _addend(second, _bytes(_brought(residual)), ADD_LEFT_SHIFT)
        total = _addend(first, values, ADD_LEFT_SHIFT) + sign * other
    elif operation == Operation.SQUARED_DIFFERENCE:
        other = _addend(second, _bytes(_brought(residual)), SQUARE_LEFT_SHIFT)
        total = (_addend(first, values, SQUARE_LEFT_SHIFT) - other) ** 2
    elif operation == Operation.MUL:
        total = (values - first["zero_point"]) * (_bytes(_brought(residual)) - second["zero_point"])
    elif operation == Operation.PRELU:
        return _slopes(descriptor, values - first["zero_point"], _bytes(_brought(residual)) - second["zero_point"])
    elif operation == Operation.SUM:
        return _sums(values, window, _brought(windows), result)
    elif window:
        combine = np.maximum if operation == Operation.MAXIMUM else np.minimum
        total = combine.reduceat(values, np.arange(0, len(values), window)) - first["zero_point"]
    else:
        combine = np.maximum if operation == Operation.MAXIMUM else np.minimum
        total = combine(values, _bytes(_brought(residual))) - first["zero_point"]
    return _result(total, result["multiplier"], result["shift"], result)


def _joined(operation: Operation, words: np.ndarray, lanes: np.ndarray | None) -> np.ndarray:
    """Return the sums, maxima or minima of the words of each transfer, int64 [transfers, 8]."""
    combine, nothing = {
        Operation.SUM: (np.add, 0),
        Operation.MAXIMUM: (np.maximum, INT8_MIN),
        Operation.MINIMUM: (np.minimum, INT8_MAX),
    }[operation]
    values = _bytes(words).reshape(*words.shape, BLOCK_CHANNELS)
    there = np.ones(words.shape, bool) if lanes is None else lanes
    return combine.reduce(np.where(there[..., None], values, nothing), axis=1)


def _brought(words: np.ndarray | None) -> np.ndarray:
    """Return the words of a stream; `demand` has checked before that the pass has it."""
    assert words is not None
    return words


def _bytes(words: np.ndarray) -> np.ndarray:
    """Unpack words into int64 [words, 8]."""
    return np.ascontiguousarray(words).view(np.int8).reshape(-1, BLOCK_CHANNELS).astype(np.int64)


def _addend(operand: dict[str, int], values: np.ndarray, left_shift: int) -> np.ndarray:
    raised = (values - operand["zero_point"]) << left_shift
    return multiply_by_quantized_multiplier(raised, operand["multiplier"], -operand["right_shift"]).astype(np.int64)


def _slopes(descriptor: Descriptor, values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    first, result, negative = descriptor.first, descriptor.result, values < 0
    multiplier = np.where(negative, first["multiplier"], result["multiplier"])
    shift = np.where(negative, -first["right_shift"], result["shift"])
    return _result(np.where(negative, values * slopes, values), multiplier, shift, result)


def _sums(values: np.ndarray, window: int, windows: np.ndarray, result: dict[str, int]) -> np.ndarray:
    totals = np.add.reduceat(values, np.arange(0, len(values), window))
    parameters = [enc.WINDOW.unpack(int(word)) for word in windows]
    multiplier, shift, bias = (
        np.array([p[name] for p in parameters])[:, None] for name in ("multiplier", "shift", "bias")
    )
    multiplier, shift = table_entries(multiplier, shift)
    return _result(totals + bias, multiplier, shift, result)


def _result(
    total: np.ndarray, multiplier: np.ndarray | int, shift: np.ndarray | int, result: dict[str, int]
) -> np.ndarray:
    scaled = multiply_by_quantized_multiplier(wrap_int32(total), multiplier, shift)
    return _clamp(scaled + result["zero_point"], result).view(np.uint64)[:, 0]
