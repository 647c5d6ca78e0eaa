# SPDX-License-Identifier: Apache-2.0
"""Single-pass cases: anyone's tensors as a GLB image and a pass descriptor, and the way back from the
sums that leave the array to a tensor."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from compiler.ir.feature_map import FeatureMap
from compiler.ir.layer import Output, Table, Window, WordOperation, output_size
from compiler.target.blocks import Blocks, Filters
from compiler.target.descriptors.convolution import (
    ConvolutionPass,
    convolution_descriptor,
    convolution_groups,
    convolution_sets,
)
from compiler.target.descriptors.elementwise import set_operation
from compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from compiler.target.descriptors.streams import ring_of
from compiler.target.limits import most_filters, most_pixels, single_tile
from compiler.target.packing import pack_convolution, pack_depthwise, pack_pointwise, pack_table, pad_runs
from model import encoding as enc
from model.array import drain_beats
from model.config import DEFAULT, GLB_WORD_BYTES, MachineConfig
from model.descriptor import Descriptor, Level, StreamDescriptor
from model.encoding import Operation, PoolMode, Stream
from model.operators.elementwise import AddParameters
from model.operators.quantization import Requantization, stored_zero_point


@dataclass(frozen=True)
class Case:
    """A pass ready to run.

    glb         uint64, from word 0 on
    descriptor  of the pass
    places      int [tiles of the pass, sums of a column, cols, 3]: (m, y, x) of each sum that leaves; -1: none
    shape       (M, E, F) of the sums
    ofmap       where the int8 ofmap is written, if it is
    """

    glb: np.ndarray
    descriptor: Descriptor
    places: np.ndarray
    shape: tuple[int, int, int]
    ofmap: FeatureMap | None = None

    def gather(self, sums: np.ndarray) -> np.ndarray:
        """Sums in drain order, int32 [tiles, sums of a column, cols] -> int32 [M, E, F]."""
        out = np.zeros(self.shape, np.int32)
        used = self.places[..., 0] >= 0
        m, y, x = self.places[used].T
        out[m, y, x] = sums[used]
        return out

    def signed(self) -> "Case":
        """The case with activations multiplied as signed values, whatever their zero points."""
        descriptor = Descriptor(self.descriptor.words)
        shape = {**descriptor.shape, "ifmap_offset": 0, "word_offset": 0}
        descriptor.set(enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE, **shape)
        return replace(self, descriptor=descriptor)


LayerPass = tuple[Case, slice, slice]  # of a layer: a pass, its filters (M), its output rows (E)


@dataclass(frozen=True)
class Addition:
    """A residual addition to an ofmap: int8 [rows, cols, C] of the second addend, and how both are scaled."""

    values: np.ndarray
    parameters: AddParameters

    def of(self, rows: slice, filters: slice) -> "Addition":
        return Addition(self.values[rows, :, filters], self.parameters)


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
            raise GlbOverflow(f"GLB: needs {len(self.words) * 8} bytes, has {self.limit * 8}")
        return address


def place_map(memory: Allocator, values: np.ndarray, q: int = 4, packed: bool = False) -> FeatureMap:
    """int8 [H, W, C] -> a feature map in the image."""
    rows, cols, channels = values.shape
    empty = FeatureMap(rows, cols, -(-channels // (2 * q)), 0, rows, packed=packed)
    return replace(empty, address=memory.place(empty.pack(values, q)))


def convolution_case(ifmap: np.ndarray, filters: np.ndarray, window: Window, mapping: dict[str, int],
                     zero_point: int = 0, ipsum: np.ndarray | None = None,
                     machine: MachineConfig = DEFAULT, limit: int | None = None,
                     output: Table | None = None, addition: Addition | None = None, packed: bool = False) -> Case:
    """A convolution in one pass, whose sums are looked at where they leave the array.

    ifmap int8 [C, H, W]; filters [M, C, R, S], here and below int8, or int16 if they are of a range of at most 255;
    mapping: e, p, q, r, t; ipsum int32 [M, E, F].
    limit: words of GLB it may take, if not the machine's. output: of an int8 ofmap, with an addition or without.
    packed: the ifmap, of at most q channels.
    """
    e, p, q, r, t = (mapping[name] for name in "epqrt")
    (m, channels), (height, width) = filters.shape[:2], output_size(ifmap.shape[1:], window)
    if channels != ifmap.shape[0]:
        raise ValueError(f"filter has {channels} channels, ifmap {ifmap.shape[0]}")
    pixels = min(width, max(1, machine.psum_words // p))
    if -(-width // pixels) > 1 and pixels * window.stride[1] % 2:
        pixels -= 1
    blocks = Blocks(rows=e, cols=1, pixels=pixels, down=-(-height // e), along=-(-width // pixels))
    memory = Allocator(limit or machine.glb_words)
    placed = place_map(memory, ifmap.transpose(1, 2, 0), q, packed)
    tiles = -(-m // (p * t))
    draft = ConvolutionPass(placed, window, blocks, zero_point, p, q, r, t, tiles, 0,
                            one_pixel=ipsum is not None or addition is not None,
                            filter_zero_point=stored_zero_point(filters))
    sets = convolution_sets(machine, draft)
    words = pack_convolution(filters, q, p, sets.across, sets.down, split=sets.split or not sets.by_set)
    if sets.by_set and not sets.split:
        words = words[:, : convolution_groups(draft)[0]]
    filter_address = memory.place(pad_runs(words, machine.filter_lanes))
    final = replace(draft, filter_address=filter_address)
    places = _convolution_places(machine, final, (m, height, width))
    if ipsum is not None:
        ipsum_address = memory.place(_pack_ipsum(ipsum, places, convolution_descriptor(machine, final)))
        final = replace(final, ipsum_address=ipsum_address)
    if output is not None:
        groups = tiles * -(-p * sets.down // GLB_WORD_BYTES)
        table_address = memory.place(pack_table(output, groups))
        final = replace(final, table_address=table_address, ofmap=place_ofmap(memory, height, width, groups),
                        output=output.output, last_channels=_last_channels(m, groups))
    descriptor = convolution_descriptor(machine, final)
    if addition is not None:
        _set_addition(descriptor, memory, final.ofmap, addition)
    return Case(memory.words, descriptor, places, (m, height, width), final.ofmap)


def place_ofmap(memory: Allocator, rows: int, cols: int, groups: int) -> FeatureMap:
    """Room for an ofmap."""
    empty = FeatureMap(rows, cols, groups, 0, rows)
    return replace(empty, address=memory.place(np.zeros(empty.words, np.uint64)))


def convolution_cases(ifmap: np.ndarray, filters: np.ndarray, window: Window, mapping: dict[str, int],
                      zero_point: int = 0, ipsum: np.ndarray | None = None,
                      machine: MachineConfig = DEFAULT, output: Table | None = None,
                      addition: Addition | None = None, packed: bool = False) -> list[LayerPass]:
    """A convolution in as many passes as the GLB demands. Splits output rows first, at multiples of
    e, then filters.
    """
    height, _ = output_size(ifmap.shape[1:], window)

    def build(m: slice, rows: slice) -> Case:
        part, cut = _rows_of(ifmap, window, rows)
        sums = None if ipsum is None else ipsum[m, rows]
        return convolution_case(part, filters[m], cut, mapping, zero_point, sums, machine, None,
                                output and output.of(m), addition and addition.of(rows, m), packed)

    steps = mapping["p"] * mapping["t"], mapping["e"]
    return _split(build, slice(0, len(filters)), slice(0, height), steps)


def _split(build: Callable[[slice, slice], Case], m: slice, rows: slice,
           steps: tuple[int, int]) -> list[LayerPass]:
    """build(filters, output rows), in halves until they fit the GLB: rows, then filters.

    steps: (filters, rows) that stay together.
    """
    try:
        return [(build(m, rows), m, rows)]
    except GlbOverflow:
        if halves := _halves(rows, steps[1]):
            return [part for half in halves for part in _split(build, m, half, steps)]
        if halves := _halves(m, steps[0]):
            return [part for half in halves for part in _split(build, half, rows, steps)]
        raise


def _halves(whole: slice, step: int) -> tuple[slice, slice] | None:
    """Cut at a multiple of `step`; None where there is none."""
    length = whole.stop - whole.start
    middle = whole.start + -(-length // (2 * step)) * step
    return (slice(whole.start, middle), slice(middle, whole.stop)) if length > step else None


def _rows_of(ifmap: np.ndarray, window: Window, rows: slice) -> tuple[np.ndarray, Window]:
    """The rows of [C, H, W] that output rows need, and the window with the padding that is left."""
    top, _, left, right = window.pads
    first = rows.start * window.stride[0] - top
    last = (rows.stop - 1) * window.stride[0] - top + window.span[0]
    height = ifmap.shape[1]
    pads = (max(0, -first), max(0, last - height), left, right)
    return ifmap[:, max(0, first) : min(height, last)], replace(window, pads=pads)


def _convolution_places(machine: MachineConfig, c: ConvolutionPass, shape: tuple[int, int, int]) -> np.ndarray:
    """(m, y, x) of every sum, in drain order."""
    sets, blocks = convolution_sets(machine, c), c.blocks
    descriptor = convolution_descriptor(machine, c)
    beats = drain_beats(descriptor)
    down, along, tile, chain, _, pixel, slot, col = np.indices(
        (blocks.down, blocks.along, c.tiles, *beats.loops, machine.cols))
    width = blocks.rows // sets.folds
    per_tile = c.p * c.t
    across = col // width
    rows, filters = (width, 0) if sets.folds > 1 else (0, c.p)  # from chain to chain, where they come in turn
    y = down * blocks.rows + chain * rows + col % width
    x = along * blocks.pixels + pixel
    m = tile * per_tile + across * c.p * sets.down + chain * filters + slot
    used = (across < sets.across) & (m < shape[0]) & (y < shape[1]) & (x < shape[2])
    places = np.where(used[..., None], np.stack([m, y, x], axis=-1), -1)
    return places.reshape(blocks.outer * c.tiles, -1, machine.cols, 3)[:, beats.place]


def _pack_ipsum(ipsum: np.ndarray, places: np.ndarray, descriptor: Descriptor) -> np.ndarray:
    """int32 [M, E, F] -> uint64, two columns a word, in drain order."""
    columns = descriptor.drain["columns"]
    even = np.pad(places[:, :, :columns], ((0, 0), (0, 0), (0, columns % 2), (0, 0)), constant_values=-1)
    m, y, x = np.moveaxis(even, -1, 0)
    values = np.where(m >= 0, ipsum[m, y, x], 0).astype(np.int32)
    return np.ascontiguousarray(values).view(np.uint64)


def pointwise_blocks(height: int, width: int, machine: MachineConfig, stride: int | None = None,
                     pixels: int = 4) -> Blocks:
    """Blocks of pixels for a map: up to so many pixels a column, as many rows as there are. stride: of depthwise work;
    None: pointwise."""
    most = min(pixels, most_pixels(machine, stride))
    stride = stride or 1
    if most % 2 and stride == 1:
        most -= 1
    pixels = min(most, width + width % 2 if width > 1 else 1)
    rows = min(height, machine.cols)
    cols = min(machine.cols // rows, -(-width // pixels))
    while (pixels > 2 and pixels // 2 * stride % 2 == 0 and cols * 2 * rows <= machine.cols
           and cols * pixels >= width):
        pixels, cols = pixels // 2, cols * 2
    if cols * pixels < width and pixels * stride % 2:
        pixels += 1
    return Blocks(rows, cols, pixels, -(-height // rows), -(-width // (cols * pixels)))


def _set_addition(descriptor: Descriptor, memory: Allocator, ofmap: FeatureMap, addition: Addition) -> None:
    """Adds to the words of a pass those of a map that lies as its ofmap does."""
    packed = ofmap.pack(addition.values)
    residual = replace(ofmap, address=memory.place(packed))
    words = descriptor.stream(Stream.OFMAP)
    address = words.address | {"row_address": residual.row_address(words.range["y"]), **ring_of(residual)}
    descriptor.set_stream(Stream.RESIDUAL, StreamDescriptor(address, words.range, {}, words.levels))
    first, second, result = addition.parameters.first, addition.parameters.second, addition.parameters.output

    def scaling(item: Requantization) -> dict[str, int]:
        return {"multiplier": int(item.multiplier), "right_shift": -int(item.shift), "zero_point": item.zero_point}

    set_operation(descriptor, WordOperation(Operation.ADD, scaling(first), scaling(second), {
        "multiplier": int(result.multiplier), "shift": int(result.shift), "zero_point": result.zero_point,
        "act_min": result.minimum, "act_max": result.maximum}))


def place_filters(memory: Allocator, filters: np.ndarray, table: Table | None, tile: int) -> Filters:
    """[M, C] and their tables, if they have any."""
    packed, count = pack_pointwise(filters, tile), len(filters)
    address = memory.place(packed)
    found = Filters(tile, len(packed), address, 0)
    blocks = found.blocks * found.tiles
    tables = memory.place(pack_table(table, blocks)) if table else 0
    return replace(found, table_address=tables, last_channels=_last_channels(count, blocks))


def _last_channels(count: int, groups: int) -> int:
    """Channels of the last of so many groups, which padding may fill, of so many filters."""
    return (count - 1) % 8 + 1 if groups == -(-count // 8) else 8


def separable_case(ifmap: np.ndarray, window: Window, zero_point: int, depthwise: np.ndarray | None,
                   middle: Table | None, pointwise: np.ndarray | None, output: Table | None,
                   blocks: Blocks | None = None, tile: int | None = None,
                   machine: MachineConfig = DEFAULT, ipsum: np.ndarray | None = None,
                   maxima: bool = False, addition: Addition | None = None) -> Case:
    """A fused (both filters), depthwise or pointwise pass, with its int8 ofmap.

    ifmap int8 [C, H, W]; depthwise [C, R, S] with table `middle`; pointwise [M, C] with
    table `output`, or None: the sums are looked at where they leave the array. They may start with
    `ipsum`, int32 [M, E, F]. tile: filters of a tile, a multiple of 8. maxima: of 2 x 2 pixels, before the addition.
    """
    window = window if depthwise is not None else Window()
    height, width = output_size(ifmap.shape[1:], window)
    blocks = blocks or pointwise_blocks(height, width, machine, None if depthwise is None else window.stride[0])
    memory = Allocator(machine.glb_words)
    placed = place_map(memory, ifmap.transpose(1, 2, 0))
    depthwise_address = filters = None
    channels = ifmap.shape[0]
    if depthwise is not None:
        taps = depthwise.transpose(1, 2, 0)
        depthwise_address = memory.place(pack_depthwise(taps, pack_table(middle, placed.groups)))
    if pointwise is not None:
        channels = len(pointwise)
        filters = place_filters(memory, pointwise, output, tile or tile_of(channels, blocks.pixels, machine))
    ofmap, pool = None, 2 if maxima else 1
    if output or pointwise is None:
        groups = filters.blocks * filters.tiles if filters else -(-channels // 8)
        ofmap = place_ofmap(memory, height // pool, width // pool, groups)
    final = output.output if pointwise is not None and output else Output()
    p = SeparablePass(placed, ofmap, window, blocks, zero_point, final, filters, depthwise_address,
                      middle.output if middle else Output(), PoolMode.MAX if maxima else PoolMode.NONE,
                      one_pixel=ipsum is not None or addition is not None,
                      filter_zero_point=0 if pointwise is None else stored_zero_point(pointwise),
                      depthwise_zero_point=0 if depthwise is None else stored_zero_point(depthwise))
    descriptor = separable_descriptor(machine, p)
    places = block_places(machine, p, descriptor, (channels, height, width))
    if ipsum is not None:
        _set_ipsum(descriptor, memory, _pack_ipsum(ipsum, places, descriptor))
    if addition is not None:
        _set_addition(descriptor, memory, ofmap, addition)
    return Case(memory.words, descriptor, places, (channels, height, width), ofmap)


def _set_ipsum(descriptor: Descriptor, memory: Allocator, words: np.ndarray) -> None:
    """Lets the sums of a pass start with `words`, uint64 [tiles, beats, pairs of columns]."""
    tiles, beats, pairs = words.shape
    descriptor.set(enc.DRAIN_INDEX, enc.DRAIN, **{**descriptor.drain, "ipsum": 1})
    descriptor.set_stream(Stream.IPSUM, StreamDescriptor(
        {"offset": memory.place(words)}, {"rows": 1, "cols": 1}, {},
        (Level(pairs, 1), Level(beats, pairs), Level(tiles, beats * pairs))))


def fused_cases(ifmap: np.ndarray, window: Window, zero_point: int, depthwise: np.ndarray,
                middle: Table, pointwise: np.ndarray, ipsum: np.ndarray | None = None,
                machine: MachineConfig = DEFAULT) -> list[LayerPass]:
    """A fused layer, looked at where its sums leave the array, in as many passes as the GLB demands.

    Splits output rows, then filters; the depthwise half is done again for other filters.
    """
    height, width = output_size(ifmap.shape[1:], window)
    pixels = pointwise_blocks(height, width, machine, window.stride[0]).pixels

    def build(m: slice, rows: slice) -> Case:
        part, cut = _rows_of(ifmap, window, rows)
        sums = None if ipsum is None else ipsum[m, rows]
        return separable_case(part, cut, zero_point, depthwise, middle, pointwise[m], None,
                              machine=machine, ipsum=sums)

    # The SUPERs keep depthwise words for all tiles of a pass: one tile where they cannot.
    words = -(-len(ifmap) // 8) * pixels * (2 if machine.sets == 1 else 1)
    count = len(pointwise)
    most = count if words <= machine.word_buffer_words else most_filters(machine, pixels)
    parts = []
    for first in range(0, count, most):
        filters = slice(first, min(count, first + most))
        parts += _split(build, filters, slice(0, height), (8, 1))
    return parts


def tile_of(filters: int, pixels: int, machine: MachineConfig) -> int:
    """Filters of a tile: as many as the psum buffers hold, evenly spread, in blocks of 8; or all of them."""
    tiles = -(-filters // most_filters(machine, pixels))
    return single_tile(machine, filters) if tiles == 1 else -(-filters // (tiles * 8)) * 8


def block_places(machine: MachineConfig, p: SeparablePass, descriptor: Descriptor,
                  shape: tuple[int, int, int]) -> np.ndarray:
    """(m, y, x) of every sum of a pass with pixel blocks; words of a depthwise pass count as their
    first channel."""
    blocks, beats = p.blocks, drain_beats(descriptor)
    tiles = p.filters.tiles if p.filters else 1
    down, along, tile, inner, _, block, pixel, slot, col = np.indices(
        (blocks.down, blocks.along, tiles, blocks.inner, *beats.loops, machine.cols))
    y = down * blocks.outer_rows + col // blocks.cols
    x = along * blocks.outer_width + col % blocks.cols * blocks.pixels + pixel
    if blocks.below:
        y = y + inner * blocks.rows
    else:
        x = x + inner * blocks.width
    per_block = 8 if p.filters is None else beats.loops[3]
    m = (tile * beats.loops[1] + block) * per_block + (slot * 4 if p.filters is None else slot)
    used = (col < blocks.rows * blocks.cols) & (m < shape[0]) & (y < shape[1]) & (x < shape[2])
    places = np.where(used[..., None], np.stack([m, y, x], axis=-1), -1)
    return places.reshape(-1, np.prod(beats.loops), machine.cols, 3)[:, beats.place]
