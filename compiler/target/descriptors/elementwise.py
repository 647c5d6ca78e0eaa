# SPDX-License-Identifier: Apache-2.0
"""Pass descriptors of elementwise passes: an operation on the words of maps, without the array (docs/ppu.md)."""

from dataclasses import replace

from compiler.ir.feature_map import FeatureMap
from compiler.ir.layer import AS_IS, Window, WordOperation, output_size
from compiler.target.descriptors.streams import ring_of, rows_level
from compiler.target.limits import legal
from model import encoding as enc
from model.config import MachineConfig
from model.descriptor import Descriptor, Level, StreamDescriptor
from model.encoding import ArrayMode, Axis, Destination, DrainMode, Stream


def average_factor(count: int) -> dict[str, int]:
    """Multiplier and shift of a SUM that is an average of so many values, exact up to 2,896."""
    return dict(AS_IS) if count == 1 else {"multiplier": (1 << 31) // count + 1, "shift": 0}


def set_operation(descriptor: Descriptor, operation: WordOperation) -> None:
    """The words of an operation, of an elementwise pass or on the words of another one."""
    descriptor.set(enc.PPU_FIRST_INDEX, enc.PPU_FIRST, **operation.first)
    descriptor.set(enc.PPU_SECOND_INDEX, enc.PPU_SECOND, **operation.second)
    descriptor.set(enc.PPU_RESULT_INDEX, enc.PPU_RESULT, operation=operation.kind, **operation.result)


def with_operation(machine: MachineConfig, descriptor: Descriptor, operation: WordOperation,
                   beside: StreamDescriptor) -> Descriptor:
    """A pass with an operation on the words that leave; beside: the stream that would write the map of words B.

    Raises ValueError where the operation does not go with the pass.
    """
    set_operation(descriptor, operation)
    descriptor.set_stream(Stream.RESIDUAL, replace(beside, options={}))
    return legal(machine, descriptor)


def elementwise_descriptor(machine: MachineConfig, operation: WordOperation, ifmap: StreamDescriptor,
                           ofmap: StreamDescriptor, residual: StreamDescriptor | None = None,
                           windows: StreamDescriptor | None = None) -> Descriptor:
    """ifmap: words A; residual: words B, or the table of TABLE; windows: a word for each window of a SUM.

    Raises ValueError where the operation does not go with its fields or streams.
    """
    descriptor = Descriptor()
    descriptor.set(enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE, mode=ArrayMode.ELEMENTWISE)
    descriptor.set(enc.DRAIN_INDEX, enc.DRAIN, mode=DrainMode.NONE, to_ppu=1)
    set_operation(descriptor, operation)
    streams = {Stream.IFMAP: ifmap, Stream.OFMAP: ofmap, Stream.RESIDUAL: residual, Stream.TABLE: windows}
    for stream, program in streams.items():
        if program is not None:
            descriptor.set_stream(stream, program)
    return legal(machine, descriptor)


def words_in(feature_map: FeatureMap, window: Window = Window(), pad: int = 0) -> StreamDescriptor:
    """Words A of a map: those of a window, for all of its places along columns, rows, images and groups; what is
    outside is `pad`."""
    rows, cols = output_size((feature_map.rows, feature_map.cols), window)
    (taps_down, taps_across), (down, across) = window.kernel, window.stride
    y, x = -window.pads[0], -window.pads[2]

    def columns(count: int, step: int) -> Level:
        return Level(count, step, Axis.COLUMN, step)

    return StreamDescriptor(
        {"row_address": feature_map.row_address(y), "offset": x % (1 << enc.GLB_ADDRESS_BITS), **ring_of(feature_map)},
        {"y": y, "x": x, "rows": feature_map.rows, "cols": feature_map.cols},
        {"pad": pad, "destination": Destination.PPU},
        (columns(taps_across, window.dilation[1]), rows_level(feature_map, taps_down, window.dilation[0]),
         columns(cols, across), rows_level(feature_map, rows, down), Level(feature_map.images, feature_map.image_step),
         Level(feature_map.groups, feature_map.group_step)),
    )


def words_out(feature_map: FeatureMap, last_channels: int = 8) -> StreamDescriptor:
    """The words of a map along columns, rows, images and groups; last_channels: of the last group, that are
    written."""
    return rows_out(feature_map, 0, feature_map.rows, last_channels)


def rows_out(feature_map: FeatureMap, first: int, last: int, last_channels: int = 8) -> StreamDescriptor:
    """As `words_out`, of rows first to last - 1."""
    return replace(rows_beside(feature_map, first, last), options={"last_strobe": (1 << last_channels) - 1})


def rows_in(feature_map: FeatureMap, first: int, last: int) -> StreamDescriptor:
    """Words A of rows first to last - 1 of a map, in the order of `rows_out`."""
    return replace(rows_beside(feature_map, first, last), options={"destination": Destination.PPU})


def rows_beside(feature_map: FeatureMap, first: int, last: int) -> StreamDescriptor:
    """Words B of rows first to last - 1 of a map, in the order of `rows_out`."""
    return StreamDescriptor(
        {"row_address": feature_map.row_address(first), **ring_of(feature_map)},
        {"y": first, "rows": feature_map.rows, "cols": feature_map.cols}, {},
        (Level(feature_map.cols, 1, Axis.COLUMN, 1), rows_level(feature_map, last - first, 1),
         Level(feature_map.images, feature_map.image_step), Level(feature_map.groups, feature_map.group_step)),
    )
