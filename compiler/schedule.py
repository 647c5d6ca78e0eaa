"""From layer groups to a program: which tensors stay in the GLB, how each group is cut into passes, where
everything lies, and the order of transfers and passes.

A group runs in one of four ways:
  WHOLE     input and output in the GLB, one pass
  IN_PLACE  the output takes the rows of the input as they die, in one ring; a pass per stripe of rows
  TO_DRAM   input in the GLB; output stripes go to DRAM
  FROM_DRAM input stripes come from DRAM; output in the GLB
"""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from compiler import layout
from compiler.cases import pointwise_blocks
from compiler.descriptors import (
    Blocks,
    Convolution,
    Filters,
    Output,
    Pass,
    convolution_descriptor,
    pass_descriptor,
)
from compiler.groups import Group
from compiler.layout import FeatureMap
from compiler.placement import DoesNotFit, Region, Timeline, rows_region
from compiler.program import Command, End
from model.config import GLB_WORD_BYTES, SET_ROWS, MachineConfig
from model.encoding import DEPTHWISE_GROUP_WORDS, TABLE_WORDS, PoolMode

IN_PLACE_ROWS = 3  # rows of slack of a ring that holds input and output: a stripe of 2 and a halo row
STRIPE_ROWS = 2  # output rows of a stripe, where the input comes from DRAM or dies row by row
OUT_STRIPE_ROWS = 4
CONVOLUTION_FILTERS = 4  # p


class Way(Enum):
    WHOLE = "whole"
    IN_PLACE = "in place"
    TO_DRAM = "to DRAM"
    FROM_DRAM = "from DRAM"


class DramLayout:
    """Constants and tensors in DRAM, one behind the other, at multiples of 64 bytes."""

    def __init__(self) -> None:
        self.end, self.parts, self.areas = 0, [], {}

    def constant(self, name: str, words: np.ndarray) -> int:
        address = self.area(name, words.size)
        self.parts.append((address, words.ravel()))
        return address

    def area(self, name: str, words: int) -> int:
        address = self.end
        self.areas[name] = (address, words * GLB_WORD_BYTES)
        self.end += -(-words * GLB_WORD_BYTES // 64) * 64
        return address


@dataclass(frozen=True)
class Step:
    """What passes belong to: those of a group are `first` to `last`, counted from 0. made: its output in
    the GLB (a ring of the last stripes where the output goes to DRAM)."""

    group: Group
    way: Way
    blocks: Blocks
    tile: int
    tiles: int
    first: int
    last: int
    made: FeatureMap

    def __str__(self) -> str:
        b = self.blocks
        return (f"{self.group.name:10} {self.way.value:9} passes {self.first}-{self.last}"
                f"  {b.rows} rows x {b.cols} blocks x {b.pixels} pixels, inner {b.inner}, outer {b.outer},"
                f" {self.tiles} tiles of {self.tile}")


@dataclass
class Schedule:
    """A whole network: commands, DRAM contents, where input and output lie."""

    commands: list[Command]
    dram: DramLayout
    steps: list[Step]
    input_map: FeatureMap
    input_address: int
    output_map: FeatureMap
    output_address: int


def word_groups(channels: int) -> int:
    return -(-channels // 8)


def schedule(groups: list[Group], machine: MachineConfig) -> Schedule:
    """Raises DoesNotFit or ValueError, naming the group."""
    return _Scheduler(groups, machine).run()


@dataclass
class _Scheduler:
    groups: list[Group]
    machine: MachineConfig
    timeline: Timeline = field(init=False)
    dram: DramLayout = field(default_factory=DramLayout)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.machine)

    def run(self) -> Schedule:
        first = self.groups[0].source
        height, width, channels = first.shape
        image = FeatureMap(height, width, word_groups(channels), 0, height)
        input_address = self.dram.area("input", image.words)
        self.timeline.load(input_address, image.address, image.words)
        source: FeatureMap | int = image
        ways = self.ways()
        for n, group in enumerate(self.groups):
            following = ways[n + 1] if n + 1 < len(ways) else None
            try:
                source = self.group(group, ways[n], source, following)
            except ValueError as error:
                raise type(error)(f"group {group.name}: {error}") from error
        output_address = self.dram.area("output", source.words)
        self.timeline.store(output_address, source.address, source.words)
        commands = [*self.timeline.commands, End()]
        return Schedule(commands, self.dram, self.steps, image, input_address, source, output_address)

    # ---- Which way ----

    def ways(self) -> list[Way]:
        """The way of each group, in order; what one leaves in DRAM the next has to fetch."""
        found: list[Way] = []
        for group in self.groups:
            taken, made = (self._map_words(shape) for shape in (group.source.shape, self._output_shape(group)))
            fixed = self._fixed_words(group)
            if found and found[-1] is Way.TO_DRAM:
                found.append(Way.FROM_DRAM)
            elif taken + made + fixed <= self.machine.glb_words:
                found.append(Way.WHOLE)
            elif self._can_be_in_place(group, taken, fixed):
                found.append(Way.IN_PLACE)
            else:
                found.append(Way.TO_DRAM)
        return found

    @staticmethod
    def _map_words(shape: tuple[int, int, int]) -> int:
        rows, cols, channels = shape
        return FeatureMap(rows, cols, word_groups(channels), 0, rows).words

    @staticmethod
    def _output_shape(group: Group) -> tuple[int, int, int]:
        return group.output.shape

    def _fixed_words(self, group: Group) -> int:
        """Depthwise words, tables, and the least of filters: two small tiles, or all for stripes."""
        words = word_groups(len(group.table.bias)) * TABLE_WORDS
        if group.depthwise is not None:
            words += word_groups(group.depthwise.shape[-1]) * DEPTHWISE_GROUP_WORDS
        filters = group.filters
        return words + min(filters.size // 8, 2 * 32 * word_groups(filters.shape[1]))

    def _can_be_in_place(self, group: Group, taken: int, fixed: int) -> bool:
        same = group.source.shape == group.output.shape and group.window.stride == 1
        ring = taken // group.source.shape[0] * (group.source.shape[0] + IN_PLACE_ROWS)
        return same and ring + fixed <= self.machine.glb_words

    # ---- One group ----

    def group(self, group: Group, way: Way, source: FeatureMap | int, following: Way | None) -> FeatureMap | int:
        """Emits a group; returns its output: a map in the GLB, or its DRAM address."""
        rows, cols, channels = group.output.shape
        live = self._live(source)
        made = FeatureMap(rows, cols, word_groups(channels), 0, rows)
        if way is Way.IN_PLACE:
            live[source.address : source.address + source.words] = True
            made = FeatureMap(rows, cols, made.groups, source.address, source.ring_rows, source.shift + rows)
        elif way is Way.TO_DRAM:
            ring = FeatureMap(rows, cols, made.groups, 0, 2 * OUT_STRIPE_ROWS)
            made = self._place(ring, live, "output stripes")
        else:
            slack = IN_PLACE_ROWS if following is Way.IN_PLACE else 0
            made = self._place(FeatureMap(rows, cols, made.groups, 0, rows + slack), live, "output")
        fixed = self._load_fixed(group, live)
        if way is Way.WHOLE:
            return self._whole(group, source, made, live, fixed)
        return self._striped(group, way, source, made, live, fixed)

    def _live(self, source: FeatureMap | int) -> np.ndarray:
        live = np.zeros(self.machine.glb_words, bool)
        if isinstance(source, FeatureMap):
            for start, words in rows_region(source, 0, source.rows):
                live[start : start + words] = True
        return live

    def _place(self, draft: FeatureMap, live: np.ndarray, what: str) -> FeatureMap:
        address = self._reserve(draft.words, live, what)
        return FeatureMap(draft.rows, draft.cols, draft.groups, address, draft.ring_rows, draft.shift)

    def _reserve(self, words: int, live: np.ndarray, what: str) -> int:
        address = self.timeline.find(words, live, what)
        live[address : address + words] = True
        return address

    def _load_constant(self, name: str, words: np.ndarray, live: np.ndarray, what: str) -> int:
        """Puts constants into DRAM and loads them; returns their GLB address."""
        address = self._reserve(words.size, live, what)
        self.timeline.load(self.dram.constant(name, words), address, words.size)
        return address

    def _load_fixed(self, group: Group, live: np.ndarray) -> dict[str, tuple[int, int]]:
        """Loads depthwise words; returns {name: (address, words)}."""
        if group.depthwise is None:
            return {}
        channels = word_groups(group.depthwise.shape[-1])
        words = layout.pack_depthwise(group.depthwise, group.middle.pack(channels))
        name = f"{group.name}.depthwise"
        return {"depthwise": (self._load_constant(name, words, live, "depthwise filters"), words.size)}

    def _tables(self, group: Group, blocks: int, live: np.ndarray, fixed: dict) -> int:
        words = group.table.pack(blocks)
        address = self._load_constant(f"{group.name}.table", words, live, "requantisation tables")
        fixed["table"] = (address, words.size)
        return address

    # ---- Whole maps ----

    def _whole(self, group: Group, source: FeatureMap, made: FeatureMap, live: np.ndarray, fixed: dict) -> FeatureMap:
        if group.is_convolution:
            self._convolution(group, source, made, live, fixed)
            return made
        height, width = group.map_shape
        blocks = pointwise_blocks(height, width, self.machine, group.window.stride)
        channels, groups = len(group.filters), source.groups
        most = SET_ROWS * (self.machine.psum_words // blocks.pixels) // 8 * 8
        tile = best_tile(channels, blocks.pixels, most)
        free = self._free_words(live) - word_groups(channels) * TABLE_WORDS - 2
        if self._inner_fits(blocks, groups) and tile * groups * -(-channels // tile) > free:
            # Filters pass through a ring a tile at a time, each used by all pixels before the next.
            blocks = Blocks(blocks.rows, blocks.cols, blocks.pixels, blocks.down, 1, blocks.along)
            if blocks.inner > 1:
                tile = best_tile(channels, blocks.pixels, min(most, free // (2 * groups) // 8 * 8))
        tiles = -(-channels // tile)
        packed = layout.pack_pointwise(group.filters, tile)
        table_address = self._tables(group, tiles * tile // 8, live, fixed)
        last = (channels - 1) % 8 + 1
        address, ring, chunk_groups, slots, size = self._filter_space(packed, blocks, groups, live)
        filters = Filters(tile, tiles, address, table_address, ring, chunk_groups, last)
        descriptor = self._descriptor(group, source, made, blocks, filters, fixed)
        base = self.dram.constant(f"{group.name}.filters", packed)
        resident = list(fixed.values())
        first = self.timeline.passes
        if ring is None:
            self.timeline.load(base, address, packed.size)
            self._emit(descriptor, source, made, group, blocks, resident + [(address, packed.size)], [])
        else:
            self._emit_ring(descriptor, source, made, group, blocks, resident, (address, size, slots), base, packed.size)
        self.steps.append(Step(group, Way.WHOLE, blocks, tile, tiles, first, self.timeline.passes - 1, made))
        return made

    @staticmethod
    def _free_words(live: np.ndarray) -> int:
        """The largest free piece."""
        edges = np.flatnonzero(np.diff(np.concatenate([[1], live.astype(np.int8), [1]])))
        return int(np.diff(edges)[::2].max()) if len(edges) else 0

    def _inner_fits(self, blocks: Blocks, groups: int) -> bool:
        return blocks.down == 1 and blocks.along * groups * blocks.pixels <= self.machine.word_buffer_words

    def _filter_space(self, packed: np.ndarray, blocks: Blocks, groups: int, live: np.ndarray):
        """(address, ring or None, chunk_groups, slots, words of a chunk)."""
        free = self._free_words(live)
        if packed.size <= free:
            return self._reserve(packed.size, live, "filters"), None, None, 0, 0
        if blocks.outer > 1:
            raise DoesNotFit(f"filters: need {packed.size * 8} bytes of GLB, {free * 8} are free")
        tile = packed.shape[2]
        chunk_groups = 0
        if blocks.inner == 1:
            chunk_groups = max(c for c in range(1, groups + 1) if groups % c == 0 and (c == 1 or 4 * c * tile <= free))
        size = (chunk_groups or groups) * tile
        slots = free // size
        if slots < 2:
            raise DoesNotFit(f"filter ring: two chunks of {size * 8} bytes of GLB are needed, {free * 8} bytes are free")
        address = self._reserve(slots * size, live, "filter ring")
        return address, (address + slots * size, slots * size), chunk_groups, slots, size

    def _descriptor(self, group: Group, source: FeatureMap, made: FeatureMap, blocks: Blocks,
                    filters: Filters, fixed: dict):
        pool = PoolMode.AVERAGE if group.pool_count else PoolMode.NONE
        return pass_descriptor(self.machine, Pass(
            source, made, group.window, blocks, group.source.zero_point, group.table.output, filters,
            fixed["depthwise"][0] if "depthwise" in fixed else None,
            group.middle.output if group.middle else Output(), pool, max(group.pool_count, 1)))

    def _regions(self, source: FeatureMap, made: FeatureMap, group: Group, blocks: Blocks) -> tuple[Region, Region]:
        """GLB words of the ifmap rows that a pass reads and of the ofmap rows that it writes."""
        stride, top = group.window.stride, group.window.pads[0]
        first, count = blocks.first_row, blocks.rows * blocks.down
        kernel = group.window.kernel[0]
        read = rows_region(source, first * stride - top, (first + count - 1) * stride - top + kernel)
        written = rows_region(made, 0, 1) if group.pool_count else rows_region(made, first, first + count)
        return read, written

    def _emit(self, descriptor, source, made, group, blocks, resident: Region, ring: Region) -> None:
        read, written = self._regions(source, made, group, blocks)
        self.timeline.run(descriptor, read, resident, written, ring)

    def _emit_ring(self, descriptor, source, made, group, blocks, resident: Region,
                   ring: tuple[int, int, int], base: int, words: int) -> None:
        """A pass whose filters come in chunks: a first round of chunks, the pass, the others."""
        address, size, slots = ring
        count, before = words // size, self.timeline.chunks

        def load(n: int) -> None:
            freed = before + n - slots + 1 if n >= slots else 0
            self.timeline.load_chunk(base + n * size * GLB_WORD_BYTES, address + n % slots * size, size, freed)

        for n in range(min(slots, count)):
            load(n)
        self._emit(descriptor, source, made, group, blocks, resident, [(address, slots * size)])
        for n in range(slots, count):
            load(n)

    def _convolution(self, group: Group, source: FeatureMap, made: FeatureMap, live: np.ndarray, fixed: dict) -> None:
        p, sets = CONVOLUTION_FILTERS, self.machine.sets
        channels = group.filters.shape[1]
        halves = 1 if channels <= 4 else 2
        height, width = group.map_shape
        pixels = min(width, self.machine.psum_words // p)
        blocks = Blocks(min(height, self.machine.cols), 1, pixels, -(-height // self.machine.cols), -(-width // pixels))
        filters = group.filters.transpose(0, 3, 1, 2)
        packed = layout.pack_convolution(filters, 4, p, 1, 1, split=False)[:, : source.groups * halves]
        tiles = len(packed)
        table_address = self._tables(group, tiles, live, fixed)
        address = self._load_constant(f"{group.name}.filters", packed, live, "filters")
        count = len(filters)
        c = Convolution(source, group.window, blocks, group.source.zero_point, p, 4, 1, sets, tiles, address,
                        None, table_address, made, group.table.output, (count - 1) % 8 + 1, halves)
        first = self.timeline.passes
        self._emit(convolution_descriptor(self.machine, c), source, made, group, blocks,
                   [*fixed.values(), (address, packed.size)], [])
        self.steps.append(Step(group, Way.WHOLE, blocks, p * sets, tiles, first, first, made))

    # ---- Stripes ----

    def _striped(self, group: Group, way: Way, source: FeatureMap | int, made: FeatureMap,
                 live: np.ndarray, fixed: dict) -> FeatureMap | int:
        if group.is_convolution or group.pool_count:
            raise DoesNotFit("input and output do not fit the GLB together; stripes are for depthwise-separable groups")
        height, width = group.map_shape
        stripe = OUT_STRIPE_ROWS if way is Way.TO_DRAM else STRIPE_ROWS
        cols = self.machine.cols // stripe
        pixels = min(4, width + width % 2)
        channels = len(group.filters)
        tile = best_tile(channels, pixels, SET_ROWS * (self.machine.psum_words // pixels) // 8 * 8)
        tiles = -(-channels // tile)
        packed = layout.pack_pointwise(group.filters, tile)
        table_address = self._tables(group, tiles * tile // 8, live, fixed)
        address = self._load_constant(f"{group.name}.filters", packed, live, "filters")
        resident = [*fixed.values(), (address, packed.size)]
        filters = Filters(tile, tiles, address, table_address)
        dram_in = source if way is Way.FROM_DRAM else None
        if dram_in is not None:
            source = self._input_ring(group, live)
        dram_out = self.dram.area(f"{group.output.name}.spill", made.row_words * height) if way is Way.TO_DRAM else None
        first, loaded, blocks = self.timeline.passes, 0, None
        for row in range(0, height, stripe):
            blocks = Blocks(stripe, min(cols, -(-width // pixels)), pixels, 1,
                            -(-width // (min(cols, -(-width // pixels)) * pixels)), 1, row)
            if dram_in is not None:
                last = (row + stripe - 1) * group.window.stride - group.window.pads[0] + group.window.kernel[0]
                loaded = self._load_rows(source, dram_in, loaded, min(last, source.rows))
            descriptor = self._descriptor(group, source, made, blocks, filters, fixed)
            self._emit(descriptor, source, made, group, blocks, resident, [])
            if dram_out is not None:
                for y in range(row, min(row + stripe, height)):
                    self.timeline.store(dram_out + y * made.row_words * GLB_WORD_BYTES, made.row_address(y), made.row_words)
        self.steps.append(Step(group, way, blocks, tile, tiles, first, self.timeline.passes - 1, made))
        return made if dram_out is None else dram_out

    def _input_ring(self, group: Group, live: np.ndarray) -> FeatureMap:
        """As many rows as there is room for; at least those of one stripe."""
        rows, cols, channels = group.source.shape
        draft = FeatureMap(rows, cols, word_groups(channels), 0, rows)
        least = (STRIPE_ROWS - 1) * group.window.stride + group.window.kernel[0]
        fit = min(rows, self._free_words(live) // draft.row_words)
        if fit < least:
            raise DoesNotFit(f"input stripes: {least} rows of {draft.row_words * 8} bytes are needed, {fit} fit the GLB")
        ring = FeatureMap(rows, cols, draft.groups, 0, min(fit, least + STRIPE_ROWS * group.window.stride))
        return self._place(ring, live, "input stripes")

    def _load_rows(self, source: FeatureMap, dram: int, loaded: int, last: int) -> int:
        for y in range(loaded, last):
            self.timeline.load(dram + y * source.row_words * GLB_WORD_BYTES, source.row_address(y), source.row_words)
        return max(loaded, last)


def best_tile(filters: int, pixels: int, most: int) -> int:
    """Filters of a tile (a multiple of 8, at most `most`) with the fewest cycles per channel group.

    Tiles divide the filters, rounded up to 8, evenly. A tile's group takes its filters' arrival, one a
    cycle, or the multiplications of the row with the most filters, whichever is longer.
    """
    total = word_groups(filters) * 8
    sizes = [tile for tile in range(8, min(most, total) + 1, 8) if total % tile == 0]
    if not sizes:
        raise DoesNotFit(f"a tile of 8 filters does not fit, there is room for {most}")
    return min(sizes, key=lambda tile: (total // tile * max(tile, -(-tile // SET_ROWS) * pixels), -tile))
