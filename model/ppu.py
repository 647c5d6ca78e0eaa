# SPDX-License-Identifier: Apache-2.0
"""The PPU at pass level: from the sums that leave the array to the int8 words written into the GLB."""

import numpy as np

from model import encoding as enc
from model.arithmetic import multiply_by_quantized_multiplier, rounding_average, wrap_int32
from model.array import unpack_tables
from model.descriptor import Descriptor
from model.encoding import PoolMode
from model.operators.elementwise import ADD_LEFT_SHIFT

BLOCK_CHANNELS = 8


def words(descriptor: Descriptor, sums: np.ndarray, order: tuple[int, int, int, int],
          tables: np.ndarray | None, residual: np.ndarray | None = None) -> np.ndarray:
    """GLB words (uint64), in the order in which the PPU emits them.

    sums      int32 [tiles of the pass, beats, cols], beats ordered as `order`
    order     (chains, blocks, pixels, channels of a block), see `array.drain_beats`
    tables    uint64 [tiles of the pass * chains * blocks * 9], none for raw words
    residual  uint64, one per word that comes out
    """
    columns = descriptor.drain["columns"]
    beats = sums[:, :, :columns].reshape(-1, *order[2:], columns)  # [block, pixel, channel, column]
    if descriptor.ppu["raw"]:
        low_high = np.ascontiguousarray(beats.transpose(0, 1, 3, 2))
        values = low_high.view(np.int8).reshape(*low_high.shape[:3], -1)
    else:
        values = _pool(descriptor, _requantize(descriptor, beats, unpack_tables(tables.reshape(-1, enc.TABLE_WORDS))))
    packed = np.zeros((*values.shape[:-1], BLOCK_CHANNELS), np.int8)
    packed[..., : values.shape[-1]] = values
    add = enc.PPU_ADD_RESULT.unpack(descriptor.words[enc.PPU_ADD_RESULT_INDEX])
    if add["enable"]:
        packed = _add(descriptor, add, packed, residual.view(np.int8).reshape(packed.shape))
    return packed.reshape(-1, BLOCK_CHANNELS).view(np.uint64)[:, 0]


def _requantize(descriptor: Descriptor, beats: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """int8 [block, pixel, column, channel]."""
    channels = beats.shape[2]
    bias, multiplier, shift = (tables[:, n, None, None, :channels] for n in range(3))
    sums = beats.transpose(0, 1, 3, 2).astype(np.int64)
    scaled = multiply_by_quantized_multiplier(wrap_int32(sums + bias), multiplier, shift)
    return _clamp(scaled + descriptor.ppu["zero_point"], descriptor.ppu)


def _clamp(values: np.ndarray, limits: dict[str, int]) -> np.ndarray:
    return np.clip(values, limits["act_min"], limits["act_max"]).astype(np.int8)


def _pool(descriptor: Descriptor, values: np.ndarray) -> np.ndarray:
    """Pools [block, pixel, column, channel] as the configuration says."""
    mode = descriptor.ppu["pool"]
    if mode == PoolMode.AVERAGE:
        starts = np.arange(0, values.shape[2], 1 << descriptor.ppu["pool_columns"])
        total = np.add.reduceat(values.astype(np.int64).sum(axis=1, keepdims=True), starts, axis=2)
        return _clamp(rounding_average(total, descriptor.ppu["pool_count"]), descriptor.ppu)
    if mode == PoolMode.MAX:
        blocks, pixels, columns, channels = values.shape
        return values.reshape(blocks, pixels // 2, 2, columns // 2, 2, channels).max(axis=(2, 4))
    return values


def _add(descriptor: Descriptor, result: dict[str, int], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    total = 0
    for index, values in ((enc.PPU_ADD_FIRST_INDEX, first), (enc.PPU_ADD_SECOND_INDEX, second)):
        addend = enc.PPU_ADDEND.unpack(descriptor.words[index])
        raised = (values.astype(np.int64) - addend["zero_point"]) << ADD_LEFT_SHIFT
        total = total + multiply_by_quantized_multiplier(raised, addend["multiplier"], -addend["right_shift"])
    scaled = multiply_by_quantized_multiplier(total, result["multiplier"], -result["right_shift"])
    return _clamp(scaled + result["zero_point"], result)
