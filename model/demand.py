# SPDX-License-Identifier: Apache-2.0
"""The check of a pass that each stream brings exactly the words that its units consume.

A unit consumes the words of its own pass only. If words are left over when a unit is done, the accelerator stops with
ErrorCode.DESCRIPTOR. If words are missing, the pass does not end.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model import ppu
from eyrie.model.array import ArrayModel, DrainTransfers, drain_transfers
from eyrie.model.config import SET_ROWS
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, Stream
from eyrie.model.streams import Beats

_COLUMN_BITS = {Stream.IFMAP: 6, Stream.FILTER: 2}


class OverrunWords(ValueError):
    """A stream brings more words than its pass consumes, or the ofmap stream and the pass differ in words."""


class MissingWords(ValueError):
    """A stream brings fewer words than its pass takes."""


@dataclass(frozen=True)
class Demand:
    """The words that a stream brings to a unit, and the words that the unit consumes."""

    what: str
    brought: int
    taken: int


def check(array: ArrayModel, beats: dict[Stream, Beats]) -> None:
    """Check a pass of the array; `beats` has each read stream that the pass uses.

    Raise MissingWords if a unit gets too few words, else OverrunWords if one gets too many.
    """
    _judge([*_array(array, beats), *_sums(array, beats)])
    if array.descriptor.drain["to_ppu"]:
        _check_places(array.descriptor, _ppu_words(array))


def check_words(descriptor: Descriptor, beats: dict[Stream, Beats]) -> None:
    """Check a vector pass as `check` does. The pass consumes exactly the ifmap words that arrive."""
    transfers = len(beats[Stream.IFMAP].data)
    made = ppu.words_made(descriptor, transfers)
    taken = {Stream.RESIDUAL: ppu.others_taken(descriptor, transfers), Stream.PARAMETERS: made}
    _judge(
        [
            Demand(stream.name.lower(), len(beats[stream].data), count)
            for stream, count in taken.items()
            if stream in beats
        ]
    )
    _check_places(descriptor, made)


def _judge(demands: list[Demand]) -> None:
    for demand in demands:
        if demand.brought < demand.taken:
            raise MissingWords(f"{demand.what}: {demand.brought} words come, {demand.taken} are taken")
    for demand in demands:
        if demand.brought > demand.taken:
            raise OverrunWords(f"{demand.what}: {demand.brought} words come, {demand.taken} are taken")


def _check_places(descriptor: Descriptor, words: int) -> None:
    places = descriptor.stream(Stream.OFMAP).length
    if words != places:
        raise OverrunWords(f"ofmap: the pass writes {words} times, for {places} places")


def _counts(beats: Beats | None, column_bits: int) -> np.ndarray:
    """Count words by the row and the column of their tags: int [16, 2**column_bits]."""
    if beats is None:
        return np.zeros((16, 1 << column_bits), np.int64)
    place = (beats.tag >> 6 & 0xF) << column_bits | beats.tag & (1 << column_bits) - 1
    return np.bincount(place, beats.lanes.sum(axis=1), 16 << column_bits).astype(int).reshape(16, -1)


def _array(array: ArrayModel, beats: dict[Stream, Beats]) -> Iterator[Demand]:
    """Yield the demand of each PE and SUPER PE."""
    shape, mode, depthwise = array.shape, array.mode, beats.get(Stream.DEPTHWISE)
    words_made = mode in (ArrayMode.FUSED, ArrayMode.DEPTHWISE)
    dw_groups = array.outer * array.inner * array.groups
    groups = dw_groups if words_made else dw_groups * array.tiles
    ifmaps, filters = (_counts(beats.get(stream), bits) for stream, bits in _COLUMN_BITS.items())
    group_taps = shape["taps"] * array.loops["bands"]
    taps, tables = np.zeros(SET_ROWS, int), 0
    if depthwise is not None:
        run, place = array.depthwise_runs(depthwise)
        taps, tables = np.bincount(place[run < group_taps], minlength=SET_ROWS), int((run >= group_taps).sum())
    pixel_words = array.pixels if mode == ArrayMode.POINTWISE else array.row_words
    rows_taken = max(array.loops["bands"], 1)
    for row in range(array.config.rows):
        count = sum(array.filters_of(row % SET_ROWS)) * (shape["taps"] if mode == ArrayMode.CONVOLUTION else 1)
        for col in range(array.config.cols):
            there, ids = array.takes_part(row, col), (array.row_ids[row], array.column_ids[row][col])
            runs = there and (count > 0 or mode == ArrayMode.DEPTHWISE)
            where = f"PE {row}, {col}"
            tags = [column for column in array.ifmap_columns(row, col) if column < ifmaps.shape[1]]
            brought = ifmaps[ids[0]["ifmap"], tags].sum()
            yield Demand(f"ifmap of {where}", brought, runs * groups * pixel_words * rows_taken)
            yield Demand(
                f"filters of {where}",
                filters[ids[0]["filter"], ids[1]["filter"]],
                0 if mode == ArrayMode.DEPTHWISE else runs * dw_groups * count,
            )
            if not there or depthwise is None:
                continue
            yield Demand(f"taps of {where}", taps[row % SET_ROWS], runs * dw_groups * group_taps)
            if row % SET_ROWS == SET_ROWS - 1:
                yield Demand(f"tables of {where}", tables, dw_groups * enc.PARAMETER_WORDS)


def _tiles(array: ArrayModel) -> tuple[int, DrainTransfers]:
    """Return the number of tiles of sums of the pass, and the sums of one tile."""
    tiles = 1 if array.mode == ArrayMode.DEPTHWISE else array.tiles
    return array.outer * tiles * array.inner, drain_transfers(array.descriptor)


def _ppu_words(array: ArrayModel) -> int:
    tiles, sums = _tiles(array)
    return tiles * ppu.words_of_tile(array.descriptor, sums.loops)


def _sums(array: ArrayModel, beats: dict[Stream, Beats]) -> Iterator[Demand]:
    """Yield the demand of psum readout and PPU."""
    tiles, sums = _tiles(array)
    taken = {
        Stream.IPSUM: tiles * len(sums.place) * -(-array.descriptor.drain["columns"] // 2),
        Stream.PARAMETERS: tiles * sums.loops[0] * sums.loops[1] * enc.PARAMETER_WORDS,
        Stream.RESIDUAL: ppu.others_taken(array.descriptor, _ppu_words(array)),
    }
    for stream, words in taken.items():
        if stream in beats:
            yield Demand(stream.name.lower(), len(beats[stream].data), words)
