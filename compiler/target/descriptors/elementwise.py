# SPDX-License-Identifier: Apache-2.0
"""Pass descriptors of vector passes: an operation on the words of maps, without the array
(docs/hardware/ppu.md)."""

from dataclasses import replace

from eyrie.compiler.ir.elementwise import Loop
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.compiler.target.descriptors.streams import linear_stream, ring_of, rows_level
from eyrie.compiler.target.limits import legal, window_pairs
from eyrie.model import encoding as enc
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor, Level, StreamDescriptor
from eyrie.model.encoding import ArrayMode, Axis, Destination, DrainMode, Stream


def set_operation(descriptor: Descriptor, operation: WordOperation) -> None:
    """The words of an operation, of a vector pass or on the words of another one."""
    descriptor.set(enc.PPU_FIRST_INDEX, enc.PPU_FIRST, **operation.first)
    descriptor.set(enc.PPU_SECOND_INDEX, enc.PPU_SECOND, operation=operation.kind, **operation.second)
    descriptor.set(enc.PPU_RESULT_INDEX, enc.PPU_RESULT, **operation.result)


def with_operation(
    config: AcceleratorConfig, descriptor: Descriptor, operation: WordOperation, beside: StreamDescriptor
) -> Descriptor:
    """A pass with an operation on the words that leave; beside: the stream that would write the map of words of the
    second operand.

    Raises InputError where the operation does not go with the pass.
    """
    set_operation(descriptor, operation)
    descriptor.set_stream(Stream.RESIDUAL, replace(beside, options={}))
    return legal(config, descriptor)


def elementwise_descriptor(
    config: AcceleratorConfig,
    operation: WordOperation,
    ifmap: StreamDescriptor,
    ofmap: StreamDescriptor,
    residual: StreamDescriptor | None = None,
    windows: StreamDescriptor | None = None,
) -> Descriptor:
    """ifmap: words of the first operand; residual: words of the second operand, or the table of TABLE; windows: a word
    for each window of a SUM.

    Raises InputError where the operation does not go with its fields or streams.
    """
    descriptor = Descriptor()
    descriptor.set(enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE, mode=ArrayMode.ELEMENTWISE)
    descriptor.set(enc.DRAIN_INDEX, enc.DRAIN, mode=DrainMode.NONE, to_ppu=1)
    set_operation(descriptor, operation)
    streams = {Stream.IFMAP: ifmap, Stream.OFMAP: ofmap, Stream.RESIDUAL: residual, Stream.PARAMETERS: windows}
    for stream, program in streams.items():
        if program is not None:
            descriptor.set_stream(stream, program)
    return legal(config, descriptor)


def words_in(
    source: FeatureMap,
    window: Window,
    pixels: tuple[Loop, ...],
    words: tuple[Loop, ...] = (),
    outside: int = 0,
    first: int = 0,
) -> StreamDescriptor:
    """Words A of a window, in pairs if possible, for all of its places along pixels, images and words, from output row
    `first` on; words: empty for all of a pixel; outside: the value of what the map does not have."""
    pairs = window_pairs(window, (*pixels, *words), source.pitch)
    columns, rows = in_turn(Window(stride=window.dilation), *window.kernel)
    columns = Loop(pairs, Axis.COLUMN, 2) if pairs else columns
    y, x = first * window.stride[0] - window.pads[0], -window.pads[2]
    return StreamDescriptor(
        {"row_address": source.row_address(y), "offset": x % (1 << enc.GLB_ADDRESS_BITS), **ring_of(source)},
        {"y": y, "x": x, "rows": source.rows, "cols": source.cols},
        {
            "pad": outside,
            "destination": Destination.PPU,
            "single": int(not pairs),
            "odd_words": int(pairs > 0) & window.kernel[1] % 2,
        },
        (
            *(_level(source, loop) for loop in (columns, rows, *pixels)),
            Level(source.images, source.image_step),
            *(_level(source, loop) for loop in words or (Loop(source.groups, Axis.NONE, 1),)),
        ),
    )


def with_window(operation: WordOperation, ifmap: StreamDescriptor) -> WordOperation:
    """An operation on windows with the transfers of one, which are the two innermost loops of `words_in`, in place of
    its words."""
    if not operation.first.get("window"):
        return operation
    columns, rows, *_ = ifmap.levels
    return replace(operation, first={**operation.first, "window": columns.count * rows.count})


def in_turn(window: Window, rows: int, cols: int) -> tuple[Loop, Loop]:
    """So many places of a window along columns and rows."""
    return Loop(cols, Axis.COLUMN, window.stride[1]), Loop(rows, Axis.ROW, window.stride[0])


def _level(feature_map: FeatureMap, loop: Loop) -> Level:
    if loop.axis == Axis.ROW:
        return rows_level(feature_map, loop.count, loop.step)
    if loop.axis == Axis.NONE:
        return Level(loop.count, loop.step * feature_map.group_step)
    return Level(loop.count, loop.step, Axis.COLUMN, loop.step)


def words_out(feature_map: FeatureMap, first: int, last: int, last_channels: int = 8) -> StreamDescriptor:
    """The words of rows first to last - 1 along columns, rows, images and groups; last_channels: of the last group,
    that are written."""
    return replace(
        words_beside(feature_map, feature_map, first, last), options={"last_strobe": (1 << last_channels) - 1}
    )


def words_beside(feature_map: FeatureMap, made: FeatureMap, first: int, last: int) -> StreamDescriptor:
    """Words B of a map for rows first to last - 1 of the one that is made, in the order of `words_out`: of a single row
    or column again for each of those."""
    down, across = feature_map.rows == made.rows, feature_map.cols == made.cols
    y = first if down else 0
    columns = Level(made.cols, 1, Axis.COLUMN, 1) if across else Level(made.cols)
    return StreamDescriptor(
        {"row_address": feature_map.row_address(y), **ring_of(feature_map)},
        {"y": y, "rows": feature_map.rows, "cols": feature_map.cols},
        {},
        (
            columns,
            rows_level(feature_map, last - first, 1) if down else Level(last - first),
            Level(made.images, feature_map.image_step if feature_map.images == made.images else 0),
            Level(made.groups, feature_map.group_step),
        ),
    )


def constants_by_channel(address: int | None, ofmap: StreamDescriptor, made: FeatureMap, part: int) -> StreamDescriptor:
    """Constants of the channels of a map that a pass makes, a word for each group, in the order of its words; part: of
    the channels."""
    assert address is not None
    levels = (
        Level(level.count, 0 if level.axis != Axis.NONE else level.stride // made.group_step % made.groups)
        for level in ofmap.levels  # one from image to image has no part of a group, or all groups
    )
    return linear_stream(address + part * made.groups, *levels)


def constants_beside(
    address: int, shape: tuple[int, int, int], made: FeatureMap, first: int, last: int
) -> StreamDescriptor:
    """Words that are no map's, [rows, columns, groups], in the order of `words_out`: of a single row, column or group
    again for each of those."""
    rows, cols, groups = shape

    def level(count: int, size: int, stride: int) -> Level:
        return Level(count, stride if size > 1 else 0)

    start = first * cols * groups if rows > 1 else 0
    return linear_stream(
        address + start,
        level(made.cols, cols, groups),
        level(last - first, rows, cols * groups),
        Level(made.images),
        level(made.groups, groups, 1),
    )
