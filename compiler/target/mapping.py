# SPDX-License-Identifier: Apache-2.0
"""How a group's rows are laid on the array: every legal mapping, and what it costs."""

from dataclasses import dataclass

from compiler.ir.feature_map import word_groups
from compiler.ir.layer import Convolution, Depthwise, Elementwise, Group, Pointwise, Separable
from compiler.target.blocks import Blocks
from compiler.target.limits import dealt_filters, most_pixels
from model.config import DEPTHWISE_TAPS, SET_ROWS, WORD_CHANNELS, MachineConfig

CONVOLUTION_FILTERS = 4  # p
CONFLICTS = 8  # of so many ifmap beats one more is lost, to bank conflicts and columns that wait for others


@dataclass(frozen=True)
class Mapping:
    """One job of a group: `blocks` (its first_row is the job's to fill in), `tile` filters at a time.

    cycles: estimate for a job when nothing but the array holds it up.
    """

    blocks: Blocks
    tile: int
    tiles: int
    cycles: int

    def __str__(self) -> str:
        b = self.blocks
        return (f"{b.rows} rows x {b.cols} blocks x {b.pixels} pixels, inner {b.inner}, outer {b.outer},"
                f" {self.tiles} tiles of {self.tile}")


def mappings(machine: MachineConfig, group: Group, rows: int) -> list[Mapping]:
    """All legal mappings of `rows` output rows of a group, cheapest first; none of a convolution of several
    images at once."""
    if isinstance(group, Elementwise):
        return [_elementwise(group, rows)]
    convolution = isinstance(group, Convolution)
    if convolution and group.images or not runs_on(machine, group):
        return []
    found = (_convolutions if convolution else _separables)(machine, group, rows)
    return sorted(found, key=lambda m: (m.cycles, m.tiles, m.blocks.inner, -m.blocks.rows, -m.blocks.pixels))


def _elementwise(group: Elementwise, rows: int) -> Mapping:
    """The words of the rows in turn, two cycles each."""
    _, width, channels = group.output.shape
    words = rows * width * word_groups(channels)
    return Mapping(Blocks(1, 1, width, down=rows), 0, 1, 2 * words)


def runs_on(machine: MachineConfig, group: Group) -> bool:
    """Whether a machine of so many sets runs a group at all: of a convolution of all channels, and of
    depthwise work by itself, two sets make a GLB word."""
    return machine.sets == 2 or isinstance(group, (Pointwise, Separable))


def _pairs(words: int, x: int) -> int:
    """Pairs of adjacent words, beginning at even columns, that cover `words` words from column x on."""
    return -(-(words + x % 2) // 2)


def _arrangements(machine: MachineConfig, rows: int, width: int, most_pixels: int, stride: int):
    """(rows, cols, pixels) of the blocks in flight: rows divide the job's, the columns do not overshoot
    the map by a whole block, and blocks begin at even columns where there are several."""
    for down in range(1, min(rows, machine.cols) + 1):
        if rows % down:
            continue
        for pixels in range(1, most_pixels + 1):
            for cols in range(1, min(machine.cols // down, -(-width // pixels)) + 1):
                if cols * pixels >= width and cols == 1 or pixels * stride % 2 == 0:
                    yield down, cols, pixels


def _blocks(machine: MachineConfig, group: Group, rows: int, most_pixels: int):
    """All blocks that a separable or pointwise group of `rows` output rows can have."""
    width = group.map_shape[1]
    if group.images:  # rows of several images side by side, a row in one block
        for images in range(1, min(group.images, machine.cols) + 1):
            for down in range(1, min(rows, machine.cols // images) + 1):
                if group.images % images == 0 and rows % down == 0 and width <= most_pixels:
                    yield Blocks(down, 1, width, rows // down, 1, group.images // images, images=images)
        return
    for down, cols, pixels in _arrangements(machine, rows, width, most_pixels, group.window.stride):
        along = -(-width // (cols * pixels))
        for inner in {1, along}:
            yield Blocks(down, cols, pixels, rows // down, along // inner, inner)


def _separables(machine: MachineConfig, group: Group, rows: int) -> list[Mapping]:
    groups = word_groups(group.source.shape[2])
    most = most_pixels(machine, None if isinstance(group, Pointwise) else group.window.stride)
    averaged, keeps_words = group.averaged, isinstance(group, Separable)
    found = []
    for blocks in _blocks(machine, group, rows, most):
        if averaged and (blocks.rows, blocks.width) != (rows, group.map_shape[1]):
            continue  # an average is over all pixels in flight
        if averaged and blocks.images > 1 and rows & rows - 1:
            continue  # over a power of two of columns each
        if blocks.inner > 1 and blocks.down > 1:
            continue
        for tile in _tiles(machine, group, blocks.pixels):
            tiles = word_groups(len(group.filters)) * 8 // tile if tile else 1
            words = groups * blocks.pixels * blocks.inner * (2 if machine.sets == 1 else 1)
            if keeps_words and tiles > 1 and words > machine.word_buffer_words:
                continue
            found.append(Mapping(blocks, tile, tiles, _separable_cycles(machine, group, blocks, tile, tiles)))
    return found


def _tiles(machine: MachineConfig, group: Group, pixels: int) -> list[int]:
    """Tile sizes: multiples of 8 that divide the filters evenly and whose sums the PEs hold; 0 without filters."""
    if isinstance(group, Depthwise):
        return [0]
    total = word_groups(len(group.filters)) * 8
    return [tile for tile in range(8, total + 1, 8)
            if total % tile == 0 and max(dealt_filters(machine, tile)) * pixels <= machine.psum_words]


def _separable_cycles(machine: MachineConfig, group: Group, blocks: Blocks, tile: int, tiles: int) -> int:
    slow = WORD_CHANNELS // machine.multipliers
    halves = 2 if machine.sets == 1 else 1
    stride, left = group.window.stride, group.window.pads[2]
    pointwise = max(dealt_filters(machine, tile)) * blocks.pixels * slow
    drained = blocks.columns * blocks.pixels if isinstance(group, Depthwise) else 0  # depthwise words, at once
    arrival = tile // machine.filter_lanes
    if isinstance(group, Pointwise):
        beats = blocks.columns * _pairs(blocks.pixels, left)
        first = later = max(pointwise, beats, arrival)
    else:
        depthwise = DEPTHWISE_TAPS * blocks.pixels * slow
        span = (blocks.rows - 1) * stride + SET_ROWS
        beats = span * blocks.columns // blocks.rows * _pairs((blocks.pixels - 1) * stride + DEPTHWISE_TAPS, left)
        beats += beats // CONFLICTS
        first, later = max(pointwise + depthwise, beats, arrival, drained), max(pointwise, arrival)
    groups = word_groups(group.source.shape[2]) * halves
    return blocks.outer * blocks.inner * groups * (first + (tiles - 1) * later)


def _convolutions(machine: MachineConfig, group: Group, rows: int) -> list[Mapping]:
    width, stride = group.map_shape[1], group.window.stride
    p, channels = CONVOLUTION_FILTERS, group.source.shape[2]
    taps, slow = group.window.kernel[1], WORD_CHANNELS // machine.multipliers
    tile = p * machine.sets
    tiles = -(-len(group.filters) // tile)
    groups = -(-channels // WORD_CHANNELS)
    found = []
    for down, cols, pixels in _arrangements(machine, rows, width, min(machine.psum_words // p, width + 1), stride):
        along = -(-width // (cols * pixels))
        blocks = Blocks(down, cols, pixels, rows // down, along)
        span = (down - 1) * stride + group.window.kernel[0]
        beats = span * cols * _pairs((pixels - 1) * stride + taps, group.window.pads[2])
        work = max(p * taps * pixels * slow, beats)
        found.append(Mapping(blocks, tile, tiles, blocks.outer * tiles * groups * work))
    return found
