"""Single-pass cases: anyone's tensors as a GLB image and a pass descriptor, and the way back from the
sums that leave the array to a tensor."""

from dataclasses import dataclass

import numpy as np

from compiler import layout
from compiler.descriptors import (
    Blocks,
    Convolution,
    Filters,
    Output,
    Pass,
    Window,
    convolution_descriptor,
    convolution_groups,
    convolution_sets,
    pass_descriptor,
)
from compiler.layout import FeatureMap
from model.array import drain_beats
from model.config import DEFAULT, MachineConfig
from model.descriptor import Descriptor


@dataclass(frozen=True)
class Case:
    """A pass ready to run.

    glb         uint64, from word 0 on
    descriptor  of the pass
    places      int [tiles of the pass, beats, cols, 3]: (m, y, x) of each sum that leaves; -1: none
    shape       (M, E, F) of the sums
    ofmap       where the int8 ofmap is written, if it is
    """

    glb: np.ndarray
    descriptor: Descriptor
    places: np.ndarray
    shape: tuple[int, int, int]
    ofmap: FeatureMap | None = None

    def gather(self, sums: np.ndarray) -> np.ndarray:
        """Sums in drain order, int32 [tiles, beats, cols] -> int32 [M, E, F]."""
        out = np.zeros(self.shape, np.int32)
        used = self.places[..., 0] >= 0
        m, y, x = self.places[used].T
        out[m, y, x] = sums[used]
        return out


class GlbOverflow(ValueError):
    """A case needs more of the GLB than there is."""


class Allocator:
    """Places arrays of GLB words one behind the other, `limit` words at most."""

    def __init__(self, limit: int) -> None:
        self.words, self.limit = np.zeros(0, np.uint64), limit

    def place(self, values: np.ndarray) -> int:
        """Appends values (uint64) at an even address and returns it."""
        if len(self.words) % 2:
            self.words = np.append(self.words, np.uint64(0))
        address = len(self.words)
        self.words = np.concatenate([self.words, values.ravel().astype(np.uint64)])
        if len(self.words) > self.limit:
            raise GlbOverflow(f"GLB: needs {len(self.words) * 8} bytes, has {self.limit * 8}: use a smaller case")
        return address


def output_size(shape: tuple[int, int], window: Window) -> tuple[int, int]:
    """(E, F). Raises ValueError where the kernel is larger than the padded map."""
    top, bottom, left, right = window.pads
    height, width = shape[0] + top + bottom, shape[1] + left + right
    rows, taps = window.kernel
    if height < rows or width < taps:
        raise ValueError(f"a {rows} x {taps} kernel on a padded map of {height} x {width}")
    return (height - rows) // window.stride + 1, (width - taps) // window.stride + 1


def _place_map(memory: Allocator, values: np.ndarray, q: int = 4) -> FeatureMap:
    """int8 [H, W, C] -> a feature map in the image."""
    rows, cols, channels = values.shape
    empty = FeatureMap(rows, cols, -(-channels // (2 * q)), 0, rows)
    address = memory.place(empty.pack(values, q))
    return FeatureMap(rows, cols, empty.groups, address, rows)


def convolution_case(ifmap: np.ndarray, filters: np.ndarray, window: Window, mapping: dict[str, int],
                     zero_point: int = 0, ipsum: np.ndarray | None = None,
                     machine: MachineConfig = DEFAULT, limit: int | None = None) -> Case:
    """A convolution in one pass, whose sums are looked at where they leave the array.

    ifmap int8 [C, H, W]; filters int8 [M, C, R, S]; mapping: e, p, q, r, t; ipsum int32 [M, E, F].
    limit: words of GLB it may take, if not the machine's.
    """
    e, p, q, r, t = (mapping[name] for name in "epqrt")
    (m, channels), (height, width) = filters.shape[:2], output_size(ifmap.shape[1:], window)
    if channels != ifmap.shape[0]:
        raise ValueError(f"filter has {channels} channels, ifmap {ifmap.shape[0]}")
    pixels = min(width, max(1, machine.psum_words // p))
    if -(-width // pixels) > 1 and pixels * window.stride % 2:
        pixels -= 1
    blocks = Blocks(rows=e, cols=1, pixels=pixels, down=-(-height // e), along=-(-width // pixels))
    memory = Allocator(limit or machine.glb_words)
    placed = _place_map(memory, ifmap.transpose(1, 2, 0), q)
    tiles = -(-m // (p * t))
    draft = Convolution(placed, window, blocks, zero_point, p, q, r, t, tiles, 0)
    sets = convolution_sets(machine, draft)
    packed = layout.pack_convolution(filters, q, p, sets.across, sets.pairs, split=sets.split or not sets.by_set)
    if sets.by_set and not sets.split:
        packed = packed[:, : convolution_groups(draft)[0]]
    filter_address = memory.place(packed)
    final = Convolution(placed, window, blocks, zero_point, p, q, r, t, tiles, filter_address)
    places = _convolution_places(machine, final, (m, height, width))
    if ipsum is not None:
        ipsum_address = memory.place(_pack_ipsum(ipsum, places, convolution_descriptor(machine, final)))
        final = Convolution(placed, window, blocks, zero_point, p, q, r, t, tiles, filter_address, ipsum_address)
    return Case(memory.words, convolution_descriptor(machine, final), places, (m, height, width))


def convolution_cases(ifmap: np.ndarray, filters: np.ndarray, window: Window, mapping: dict[str, int],
                      zero_point: int = 0, ipsum: np.ndarray | None = None,
                      machine: MachineConfig = DEFAULT) -> list[tuple[Case, slice, slice]]:
    """A convolution in as many passes as the GLB demands: each with the filters (M) and output rows
    (E) that it computes. Splits output rows first, at multiples of e, then filters.
    """
    height, _ = output_size(ifmap.shape[1:], window)
    e, per_tile = mapping["e"], mapping["p"] * mapping["t"]

    def split(m: slice, rows: slice) -> list[tuple[Case, slice, slice]]:
        part, pads = _rows_of(ifmap, window, rows)
        sums = None if ipsum is None else ipsum[m, rows]
        cut = Window(window.kernel, window.stride, pads)
        try:
            return [(convolution_case(part, filters[m], cut, mapping, zero_point, sums, machine), m, rows)]
        except GlbOverflow:
            if rows.stop - rows.start > e:
                middle = rows.start + -(-(rows.stop - rows.start) // (2 * e)) * e
                return split(m, slice(rows.start, middle)) + split(m, slice(middle, rows.stop))
            if m.stop - m.start > per_tile:
                middle = m.start + -(-(m.stop - m.start) // (2 * per_tile)) * per_tile
                return split(slice(m.start, middle), rows) + split(slice(middle, m.stop), rows)
            raise

    return split(slice(0, len(filters)), slice(0, height))


def _rows_of(ifmap: np.ndarray, window: Window, rows: slice) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """The rows of [C, H, W] that output rows need, and the padding that is left."""
    top, _, left, right = window.pads
    first = rows.start * window.stride - top
    last = (rows.stop - 1) * window.stride - top + window.kernel[0]
    height = ifmap.shape[1]
    pads = (max(0, -first), max(0, last - height), left, right)
    return ifmap[:, max(0, first) : min(height, last)], pads


def _convolution_places(machine: MachineConfig, c: Convolution, shape: tuple[int, int, int]) -> np.ndarray:
    """(m, y, x) of every sum, in drain order."""
    sets, blocks = convolution_sets(machine, c), c.blocks
    descriptor = convolution_descriptor(machine, c)
    order = drain_beats(descriptor).order
    down, along, tile, chain, _, pixel, slot, col = np.indices((blocks.down, blocks.along, c.tiles, *order, machine.cols))
    width = blocks.rows // sets.folds
    per_tile = c.p * c.t
    across = col // width
    y = down * blocks.rows + (chain * machine.cols if sets.folds > 1 else 0) + col % width
    x = along * blocks.pixels + pixel
    m = tile * per_tile + across * c.p * sets.down + slot
    used = (across < sets.across) & (m < shape[0]) & (y < shape[1]) & (x < shape[2])
    places = np.where(used[..., None], np.stack([m, y, x], axis=-1), -1)
    return places.reshape(blocks.outer * c.tiles, -1, machine.cols, 3)


def _pack_ipsum(ipsum: np.ndarray, places: np.ndarray, descriptor: Descriptor) -> np.ndarray:
    """int32 [M, E, F] -> uint64, two columns a word, in drain order."""
    columns = descriptor.drain["columns"]
    m, y, x = np.moveaxis(places[:, :, : columns + columns % 2], -1, 0)
    values = np.where(m >= 0, ipsum[m, y, x], 0).astype(np.int32)
    return np.ascontiguousarray(values).view(np.uint64)


def pointwise_blocks(height: int, width: int, machine: MachineConfig, stride: int = 1) -> Blocks:
    """Blocks of pixels for a map: up to 4 pixels a column, as many rows as there are."""
    pixels = min(4, width + width % 2 if width > 1 else 1)
    rows = min(height, machine.cols)
    cols = min(machine.cols // rows, -(-width // pixels))
    while pixels > 2 and cols * 2 * rows <= machine.cols and cols * pixels >= width:
        pixels, cols = pixels // 2, cols * 2
    if cols * pixels < width and pixels * stride % 2:
        pixels += 1
    return Blocks(rows, cols, pixels, -(-height // rows), -(-width // (cols * pixels)))


@dataclass(frozen=True)
class Table:
    """Requantisation per channel: int32 bias, Q31 multiplier, shift; and the range."""

    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    output: Output

    def pack(self, blocks: int) -> np.ndarray:
        words = layout.pack_tables(self.bias, self.multiplier, self.shift)
        out = np.zeros((blocks, words.shape[1]), np.uint64)
        out[: len(words)] = words
        return out


def separable_case(ifmap: np.ndarray, window: Window, zero_point: int, depthwise: np.ndarray | None,
                   middle: Table | None, pointwise: np.ndarray | None, output: Table | None,
                   blocks: Blocks | None = None, tile: int | None = None,
                   machine: MachineConfig = DEFAULT) -> Case:
    """A fused (both filters), depthwise or pointwise pass, with its int8 ofmap.

    ifmap int8 [C, H, W]; depthwise int8 [C, R, S] with table `middle`; pointwise int8 [M, C] with
    table `output`. tile: filters of a tile, a multiple of 8.
    """
    window = window if depthwise is not None else Window((1, 1), 1, (0, 0, 0, 0))
    height, width = output_size(ifmap.shape[1:], window)
    blocks = blocks or pointwise_blocks(height, width, machine, window.stride)
    memory = Allocator(machine.glb_words)
    placed = _place_map(memory, ifmap.transpose(1, 2, 0))
    depthwise_address = filters = None
    channels = ifmap.shape[0]
    if depthwise is not None:
        taps = depthwise.transpose(1, 2, 0)
        depthwise_address = memory.place(layout.pack_depthwise(taps, middle.pack(placed.groups)))
    if pointwise is not None:
        channels = len(pointwise)
        tile = tile or _tile(channels, blocks.pixels, machine)
        packed = layout.pack_pointwise(pointwise, tile)
        filter_address = memory.place(packed)
        table_address = memory.place(output.pack(len(packed) * tile // 8))
        full = len(packed) * tile == -(-channels // 8) * 8
        filters = Filters(tile, len(packed), filter_address, table_address,
                          last_channels=(channels - 1) % 8 + 1 if full else 8)
    storage = FeatureMap(height, width, -(-channels // 8), 0, height)
    if filters:
        storage = FeatureMap(height, width, filters.count // 8 * filters.tiles, 0, height)
    ofmap = FeatureMap(height, width, storage.groups, memory.place(np.zeros(storage.words, np.uint64)), height)
    final = output.output if pointwise is not None else Output()
    p = Pass(placed, ofmap, window, blocks, zero_point, final, filters, depthwise_address,
             middle.output if middle else Output())
    descriptor = pass_descriptor(machine, p)
    places = _block_places(machine, p, descriptor, (channels, height, width))
    return Case(memory.words, descriptor, places, (channels, height, width), ofmap)


def _tile(filters: int, pixels: int, machine: MachineConfig) -> int:
    """Filters of a tile: as many as the psum buffers hold, evenly spread, in blocks of 8."""
    most = 3 * (machine.psum_words // pixels) // 8 * 8
    tiles = -(-filters // most)
    return -(-filters // (tiles * 8)) * 8


def _block_places(machine: MachineConfig, p: Pass, descriptor: Descriptor,
                  shape: tuple[int, int, int]) -> np.ndarray:
    """(m, y, x) of every sum of a pass with pixel blocks; words of a depthwise pass count as their
    first channel."""
    blocks, order = p.blocks, drain_beats(descriptor).order
    tiles = p.filters.tiles if p.filters else 1
    down, along, tile, inner, _, block, pixel, slot, col = np.indices(
        (blocks.down, blocks.along, tiles, blocks.inner, *order, machine.cols))
    y = down * blocks.rows + col // blocks.cols
    x = along * blocks.outer_width + inner * blocks.width + col % blocks.cols * blocks.pixels + pixel
    per_block = 8 if p.filters is None else order[3]
    m = (tile * order[1] + block) * per_block + (slot * 4 if p.filters is None else slot)
    used = (col < blocks.rows * blocks.cols) & (m < shape[0]) & (y < shape[1]) & (x < shape[2])
    places = np.where(used[..., None], np.stack([m, y, x], axis=-1), -1)
    return places.reshape(-1, int(np.prod(order)), machine.cols, 3)
