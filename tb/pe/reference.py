# SPDX-License-Identifier: Apache-2.0
"""What a single PE computes, straight from its definition: random passes, their operands in the order of
the streams, and the sums. Independent of the golden model of the array."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.config import DEPTHWISE_BANDS, DEPTHWISE_PIXELS, DEPTHWISE_TAPS, SET_ROWS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode

CHANNELS = 4
INDICES = 256  # that a beat of the column adder chain can name
DW_SUM_BITS = 23


@dataclass(frozen=True)
class Shape:
    """The part of a pass that a PE sees. row_filters: filters of the row that has a tile's first one, and of those
    behind it; rotation: rows by which a tile's is behind that of the tile before (docs/hardware/overview.md); row: the
    PE's, of its set."""

    mode: ArrayMode
    taps: int
    stride: int
    ifmap_offset: bool
    word_offset: bool
    filter_zero_point: int
    depthwise_zero_point: int
    pixels: int
    row_filters: tuple[int, ...]
    outer: int
    tiles: int
    inner: int
    groups: int
    rotation: int
    row: int
    bands: int

    @property
    def depthwise(self) -> bool:
        return self.mode in (ArrayMode.FUSED, ArrayMode.DEPTHWISE)

    @property
    def sums(self) -> bool:
        return self.mode != ArrayMode.DEPTHWISE

    @property
    def row_words(self) -> int:
        return (self.pixels - 1) * self.stride + self.taps

    @property
    def groups_of_sums(self) -> list[tuple[int, ...]]:
        """(outer, tile, inner, group) in order."""
        return list(product(range(self.outer), range(self.tiles), range(self.inner), range(self.groups)))

    @property
    def groups_of_words(self) -> list[tuple[int, ...]]:
        """(outer, inner, group) in order."""
        return list(product(range(self.outer), range(self.inner), range(self.groups)))

    @property
    def filters(self) -> list[int]:
        """The PE's own, of each group of sums in order: rows take turns in having a tile's first one."""
        return [self.row_filters[(self.row - tile * self.rotation) % SET_ROWS] for _, tile, _, _ in self.groups_of_sums]

    def config(self) -> tuple[int, int]:
        """The configuration words."""
        shape = enc.ARRAY_SHAPE.pack(
            mode=self.mode,
            taps=self.taps,
            stride_2=self.stride - 1,
            ifmap_offset=self.ifmap_offset,
            word_offset=self.word_offset,
            filter_zero_point=self.filter_zero_point,
            depthwise_zero_point=self.depthwise_zero_point,
            pixels=self.pixels,
            rotation=self.rotation,
            **{f"filters_{n}": filters for n, filters in enumerate(self.row_filters)},
        )
        loops = {"groups": self.groups, "inner": self.inner, "tiles": self.tiles, "outer": self.outer}
        return shape, enc.ARRAY_LOOPS.pack(**loops, bands=self.bands)


def draw_shape(
    rng: np.random.Generator, mode: ArrayMode, accelerator: AcceleratorConfig, row: int, max_filters: int = 20
) -> Shape:
    """A pass that a PE of the accelerator takes, in a row of its set."""

    def up_to(limit: int) -> int:
        return int(rng.integers(1, limit + 1))

    convolution = mode == ArrayMode.CONVOLUTION
    depthwise = mode in (ArrayMode.FUSED, ArrayMode.DEPTHWISE)
    taps = up_to(min(DEPTHWISE_TAPS, accelerator.ifmap_words)) if depthwise else up_to(3)
    bands = up_to(DEPTHWISE_BANDS) if depthwise else 0
    if depthwise and rng.random() < 0.4:
        taps, bands = 3, 1
    stride = up_to(2)
    room = min(4, accelerator.filter_words // taps) if convolution else min(max_filters, accelerator.psum_words)
    row_filters = tuple(up_to(room) for _ in range(SET_ROWS))
    pixels = up_to(min(20, accelerator.psum_words // max(row_filters)))
    rotation = int(rng.integers(SET_ROWS)) if mode in (ArrayMode.POINTWISE, ArrayMode.FUSED) else 0
    if not convolution:
        # A group of depthwise work lies in the ifmap queue, one of pointwise work in the pixel queue.
        if mode != ArrayMode.POINTWISE:
            pixels = min(pixels, (accelerator.ifmap_words - taps) // stride + 1)
        if bands > 1:
            pixels = min(pixels, DEPTHWISE_PIXELS)
        pixels = min(pixels, accelerator.pixel_words, up_to(4) if rng.random() < 0.7 else pixels)
    zero_points = [int(rng.choice([-128, 0, 127, rng.integers(-128, 128)])) for _ in range(2)]
    return Shape(
        mode,
        taps,
        stride,
        bool(rng.integers(2)),
        bool(rng.integers(2)),
        *zero_points,
        pixels,
        row_filters,
        up_to(2),
        up_to(4) if mode != ArrayMode.DEPTHWISE else 1,
        up_to(2),
        up_to(5),
        rotation,
        row,
        bands,
    )


@dataclass(frozen=True)
class Values:
    """Shares of operands: zeros, and those that are as far from zero as they can be, of which sums are largest."""

    rng: np.random.Generator
    zeros: float
    farthest: float

    def draw(self, *shape: int, zero_point: int = -128) -> np.ndarray:
        """int8 [..., 4]; zeros are 0 or the zero point: of filters, or -128 where activations have an offset."""
        values = self.rng.integers(-128, 128, (*shape, CHANNELS))
        far = 127 if zero_point < 0 else -128
        for rare, share in ((far, self.farthest), (0, self.zeros / 2), (zero_point, self.zeros / 2)):
            values[self.rng.random(values.shape) < share] = rare
        return values.astype(np.int8)


def words(values: np.ndarray) -> list[int]:
    """int8 [..., 4] -> 32-bit words in order."""
    return np.ascontiguousarray(values).view(np.uint32).ravel().tolist()


def less(values: np.ndarray, zero_point: int) -> np.ndarray:
    """Filters as the multipliers see them."""
    return values.astype(np.int64) - zero_point


def seen(values: np.ndarray, offset: bool) -> np.ndarray:
    """Activations as the multipliers see them."""
    return values.astype(np.int64) + (128 if offset else 0)


@dataclass
class Activity:
    """MACs, and those of them with a zero operand."""

    macs: int = 0
    zero_skipped: int = 0

    def dot(self, activations: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Products of words, int64 [4]; counts them."""
        self.macs += CHANNELS
        self.zero_skipped += int(((activations == 0) | (weights == 0)).sum())
        return activations * weights


@dataclass
class Operands:
    """Values of a pass in stream order, int8 [groups, words, 4] each; pixels by (outer, inner, group)
    in a fused pass, else by (outer, tile, inner, group). Groups of filters differ in their words."""

    ifmap: np.ndarray | None = None
    filters: list[np.ndarray] | None = None
    taps: np.ndarray | None = None
    pixels: np.ndarray | None = None


def draw_operands(rng: np.random.Generator, shape: Shape, zeros: float) -> Operands:
    sums, dw = len(shape.groups_of_sums), len(shape.groups_of_words)
    operands, values = Operands(), Values(rng, zeros, float(rng.choice([0.05, 0.9], p=[0.7, 0.3])))
    if shape.depthwise:
        operands.ifmap = values.draw(dw, shape.bands * shape.row_words)
        operands.taps = values.draw(dw, shape.bands * shape.taps, zero_point=shape.depthwise_zero_point)
    if shape.mode == ArrayMode.CONVOLUTION:
        operands.ifmap = values.draw(sums, shape.row_words)
        operands.filters = [
            values.draw(count * shape.taps, zero_point=shape.filter_zero_point) for count in shape.filters
        ]
    elif shape.sums:
        operands.filters = [values.draw(count, zero_point=shape.filter_zero_point) for count in shape.filters]
        count = dw if shape.mode == ArrayMode.FUSED else sums
        operands.pixels = values.draw(count, shape.pixels)
    return operands


def depthwise_sums(shape: Shape, operands: Operands, activity: Activity) -> np.ndarray:
    """int64 [groups, pixels, 4]."""
    sums = np.zeros((len(operands.taps), shape.pixels, CHANNELS), np.int64)
    loops = len(sums), shape.bands, shape.pixels, shape.taps
    for group, band, pixel, tap in np.ndindex(loops):
        word = operands.ifmap[group, band * shape.row_words + pixel * shape.stride + tap]
        activation = seen(word, shape.ifmap_offset)
        weight = less(operands.taps[group, band * shape.taps + tap], shape.depthwise_zero_point)
        sums[group, pixel] += activity.dot(activation, weight)
    return sums


def pixels_of(shape: Shape, operands: Operands) -> np.ndarray:
    """int8 [groups of sums, pixels, 4]: a fused pass uses its words again for every tile."""
    if shape.mode != ArrayMode.FUSED:
        return operands.pixels
    at = {group: n for n, group in enumerate(shape.groups_of_words)}
    return operands.pixels[[at[o, i, g] for o, _, i, g in shape.groups_of_sums]]


def partial_sums(shape: Shape, operands: Operands, activity: Activity) -> list[np.ndarray]:
    """Of each tile, in order of (outer, tile, inner): int64 [filters, pixels]."""
    convolution = shape.mode == ArrayMode.CONVOLUTION
    pixels = None if convolution else pixels_of(shape, operands)
    sums = [np.zeros((count, shape.pixels), np.int64) for count in shape.filters[:: shape.groups]]
    for n, count in enumerate(shape.filters):
        for filter_, pixel in product(range(count), range(shape.pixels)):
            for tap in range(shape.taps if convolution else 1):
                if convolution:
                    activation = seen(operands.ifmap[n, pixel * shape.stride + tap], shape.ifmap_offset)
                    weight = operands.filters[n][filter_ * shape.taps + tap]
                else:
                    activation = seen(pixels[n, pixel], shape.word_offset)
                    weight = operands.filters[n][filter_]
                products = activity.dot(activation, less(weight, shape.filter_zero_point))
                sums[n // shape.groups][filter_, pixel] += products.sum()
    return sums


@dataclass
class Chain:
    """Beats of the column adder chain, and what becomes of them."""

    beats: list[dict[str, int]] = field(default_factory=list)
    results: list[dict[str, int]] = field(default_factory=list)

    def beat(
        self,
        rng: np.random.Generator,
        row: int,
        own: list[int],
        index: int,
        free: bool,
        word: int | None = None,
        two: bool | None = None,
    ) -> None:
        """A beat that takes the row's sums `own`, of one pixel or of two, or passes by (none), then of two pixels if
        `two` or chance says so; word: what a SUPER puts in the first sum's place. The bits of the other rows are
        random."""
        mine, two = 1 << row, len(own) == 2 if own else rng.random() < 0.5 if two is None else two
        add = int(rng.integers(8)) & ~mine | (mine if own else 0)
        frees = int(rng.integers(8)) & ~mine | (mine if free else 0)
        control = add << 13 | frees << 10 | index << 2 | int(word is not None) << 1 | int(two)
        starts = [int(start) for start in rng.integers(1 << 32, size=2)]
        totals = [start + sum(own[n : n + 1]) for n, start in enumerate(starts[: 1 + two])]
        if word is not None:
            totals[0] = word
        self.beats.append({"control": control, "sums": _side_by_side(starts)})
        self.results.append({"control": control, "sums": _side_by_side(totals)})

    def tiles(self, rng: np.random.Generator, row: int, sums: list[np.ndarray]) -> None:
        """All sums of each tile, one by one or two side by side, in any order, other beats between them; the last gives
        the half back."""
        for tile in sums:
            values, places = tile.ravel().tolist(), []
            while (at := sum(len(place) for place in places)) < len(values):
                places.append(range(at, min(at + int(rng.integers(1, 3)), len(values))))
            order = rng.permutation(len(places)).tolist()
            for n in order:
                while rng.random() < 0.2:
                    self.beat(rng, row, [], int(rng.integers(INDICES)), False)
                last = n == order[-1]
                apart = last and rng.random() < 0.5  # the half goes back with a beat that adds nothing
                self.beat(rng, row, [values[m] for m in places[n]], places[n][0], last and not apart)
                if apart:
                    self.beat(rng, row, [], int(rng.integers(INDICES)), True)


def _side_by_side(sums: list[int]) -> int:
    return sum((value & 0xFFFFFFFF) << 32 * n for n, value in enumerate(sums))


def filter_beats(rng: np.random.Generator, values: list[np.ndarray], lanes: int) -> list[dict[str, int]]:
    """Beats of up to `lanes` words each, from lane 0 on, none across groups."""
    beats = []
    for group in values:
        left = words(group)
        while left:
            count = int(rng.integers(1, min(lanes, len(left)) + 1))
            data = sum(left.pop(0) << 32 * lane for lane in range(count))
            beats.append({"lanes": (1 << count) - 1, "data": data})
    return beats


def ifmap_beats(rng: np.random.Generator, values: np.ndarray, to_pixels: bool) -> list[dict[str, int]]:
    """Beats of up to two words each, none across groups; lanes that are not sent hold anything."""
    beats = []
    for group in values:
        left = words(group)
        while left:
            lanes = int(rng.integers(1, 4)) if len(left) > 1 else int(rng.integers(1, 3))
            data = int(rng.integers(1 << 63))
            for lane in range(2):
                if lanes >> lane & 1:
                    data = data & ~(0xFFFFFFFF << 32 * lane) | left.pop(0) << 32 * lane
            beats.append({"lanes": lanes, "to_pixels": int(to_pixels), "data": data})
    return beats


def pack_dw(sums: np.ndarray) -> list[int]:
    """int64 [..., 4] -> 92-bit values, modulo 2^23 per channel."""
    mask = (1 << DW_SUM_BITS) - 1
    return [sum((int(v) & mask) << DW_SUM_BITS * n for n, v in enumerate(row)) for row in sums.reshape(-1, CHANNELS)]
