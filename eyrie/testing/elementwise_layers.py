# SPDX-License-Identifier: Apache-2.0
"""Random vector passes on maps: elementwise operations, and pools of any window."""

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.ir.word_operation import AS_IS, INT8, WordOperation, average_factor
from eyrie.compiler.single_layer.layer_run import Allocator, Case
from eyrie.compiler.target.descriptors.elementwise import (
    elementwise_descriptor,
    in_turn,
    with_window,
    words_in,
    words_out,
)
from eyrie.compiler.target.descriptors.streams import linear_stream
from eyrie.model import encoding as enc
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.descriptor import Level, StreamDescriptor
from eyrie.model.encoding import Operation, Stream
from eyrie.model.operators.pooling import average_pool2d, max_pool2d
from eyrie.testing import ppu_operations as operations
from eyrie.testing.layers import Layer, int8

POOLS = ("average", "maximum")
MOST_ADDED = 6000  # words of the first operand of a pass that are drawn


def draw(rng: np.random.Generator, config: AcceleratorConfig, scale: float) -> tuple[Layer, str]:
    """Return a random operation on the words of a map, or a pooling, with a description; `scale` scales its size."""
    name = str(rng.choice([*operations.ALL, *POOLS, *POOLS]))
    rows, cols, channels = (int(rng.integers(1, max(2, int(most * scale)))) for most in (24, 24, 60))
    if name in POOLS:
        return _pool(rng, name, (rows, cols, channels), config)
    values = int8(rng, rows, cols, 8 * word_groups(channels))
    return operated(rng, name, values, config)


def operated(
    rng: np.random.Generator, name: str, values: np.ndarray, config: AcceleratorConfig = DEFAULT, window: int = 0
) -> tuple[Layer, str]:
    """Return an operation of operations.ALL on the words of a map, int8 [H, W, C], along columns, rows and groups."""
    rows, cols, channels = values.shape
    memory = Allocator(config.glb_words)
    groups = channels // 8
    a = values.reshape(rows, cols, groups, 8).transpose(2, 0, 1, 3).reshape(-1, 8)
    drawn = operations.draw_operation(rng, name, a, window)
    source = _placed(memory, FeatureMap(rows, cols, groups, 0, rows), values)
    # Windows of any number of words can end anywhere in the map, so that their results form a row.
    count = len(drawn.words)
    shape: tuple[int, int, int] = (rows, cols, groups) if count == len(a) else (1, count, 1)
    target = _placed(memory, FeatureMap(*shape, 0, shape[0]))
    streams = {Stream.RESIDUAL: drawn.residual, Stream.PARAMETERS: drawn.table}
    placed = {
        stream: linear_stream(memory.place(np.array(words, np.uint64)), Level(len(words), 1))
        for stream, words in streams.items()
        if words
    }
    fields = {
        port: word.unpack(drawn.ports[port])
        for port, word in (("first", enc.PPU_FIRST), ("second", enc.PPU_SECOND), ("result", enc.PPU_RESULT))
    }
    kind = Operation(fields["second"].pop("operation"))
    ifmap = words_in(source, Window(), in_turn(Window(), rows, cols))
    case = _case(
        memory,
        WordOperation(kind, fields["first"], fields["second"], fields["result"]),
        ifmap,
        target,
        placed.get(Stream.RESIDUAL),
        placed.get(Stream.PARAMETERS),
        config=config,
    )
    words = drawn.words.reshape(shape[2], shape[0], shape[1], 8).transpose(1, 2, 0, 3)
    ofmap = words.reshape(shape[0], shape[1], -1)
    layer = Layer([(case, slice(0, ofmap.shape[2]), slice(0, shape[0]))], None, ofmap)
    return layer, f"{name} H={rows} W={cols} C={channels}"


def _pool(
    rng: np.random.Generator, name: str, shape: tuple[int, int, int], config: AcceleratorConfig
) -> tuple[Layer, str]:
    """Return a pooling with any window, stride and padding, in which each window has a pixel of the map."""
    rows, cols, channels = shape
    taps = (int(rng.integers(1, rows + 1)), int(rng.integers(1, cols + 1)))
    down, across = (int(v) for v in rng.integers(1, 4, 2))
    stride = down, across
    top, bottom, left, right = (int(rng.integers(0, (taps[side // 2] + 1) // 2)) for side in range(4))
    pads = top, bottom, left, right
    window = Window(taps, stride, pads)
    size = output_size((rows, cols), window)
    groups = word_groups(channels)
    while size[0] * size[1] * taps[0] * taps[1] * groups > MOST_ADDED and channels > 1:
        channels = max(1, channels // 2)
        groups = word_groups(channels)
    values = int8(rng, rows, cols, channels)
    memory = Allocator(config.glb_words)
    source = _placed(memory, FeatureMap(rows, cols, groups, 0, rows), values)
    target = _placed(memory, FeatureMap(*size, groups, 0, size[0]))
    first, pixels = {"window": taps[0] * taps[1]}, in_turn(window, *size)
    if name == "average":
        inside = np.lib.stride_tricks.sliding_window_view(
            np.pad(np.ones((rows, cols), int), (pads[:2], pads[2:])), taps
        )[:: stride[0], :: stride[1]]
        counts = inside.sum(axis=(2, 3)).ravel()
        words = np.array([enc.WINDOW.pack(**average_factor(int(count))) for count in counts], np.uint64)
        windows = linear_stream(memory.place(words), Level(len(words), 1), Level(groups))
        operation = WordOperation(Operation.SUM, first, {}, INT8)
        stream, expected = words_in(source, window, pixels), average_pool2d(values, taps, stride, pads)
    else:
        windows, operation = None, WordOperation(Operation.MAXIMUM, first, {}, {**AS_IS, **INT8})
        stream, expected = words_in(source, window, pixels, outside=-128), max_pool2d(values, taps, stride, pads)
    case = _case(memory, with_window(operation, stream), stream, target, None, windows, channels, config)
    about = f"{name} pool {window} H={rows} W={cols} C={channels}"
    return Layer([(case, slice(0, channels), slice(0, size[0]))], None, expected), about


def _placed(memory: Allocator, empty: FeatureMap, values: np.ndarray | None = None) -> FeatureMap:
    """Return a map in the memory, with zeros if it has no values."""
    words = np.zeros(empty.words, np.uint64) if values is None else empty.pack(values)
    return FeatureMap(empty.rows, empty.cols, empty.groups, memory.place(words), empty.rows)


def _case(
    memory: Allocator,
    operation: WordOperation,
    ifmap: StreamDescriptor,
    target: FeatureMap,
    residual: StreamDescriptor | None,
    windows: StreamDescriptor | None,
    channels: int = 8,
    config: AcceleratorConfig = DEFAULT,
) -> Case:
    last = (channels - 1) % 8 + 1
    ofmap = words_out(target, 0, target.rows, last)
    descriptor = elementwise_descriptor(config, operation, ifmap, ofmap, residual, windows)
    nothing = np.full((0, 0, config.cols, 3), -1)  # no sums leave
    return Case(memory.words, descriptor, nothing, (0, 0, 0), target)
