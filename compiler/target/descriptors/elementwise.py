# SPDX-License-Identifier: Apache-2.0
"""Pass descriptors of elementwise passes: an operation on the words of maps, without the array (docs/ppu.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.ir.feature_map import FeatureMap
from compiler.target.descriptors.kernel import Kernel
from compiler.target.descriptors.streams import ring_of, rows_level
from compiler.target.limits import legal
from model import encoding as enc
from model.config import MachineConfig
from model.descriptor import Descriptor, Level, StreamDescriptor
from model.encoding import ArrayMode, Axis, Destination, DrainMode, Operation, Stream

POINT = Kernel((1, 1))
AS_IS = {"multiplier": 1 << 30, "shift": 1}  # a factor of 1
INT8 = {"act_min": -128, "act_max": 127}


@dataclass(frozen=True)
class WordOperation:
    """An operation and the fields of its words: encoding.PPU_FIRST, PPU_SECOND, PPU_RESULT."""

    kind: Operation
    first: Mapping[str, int] = field(default_factory=dict)
    second: Mapping[str, int] = field(default_factory=dict)
    result: Mapping[str, int] = field(default_factory=dict)


def average_factor(count: int) -> dict[str, int]:
    """Multiplier and shift of a SUM that is an average of so many values, exact up to 2,896."""
    return dict(AS_IS) if count == 1 else {"multiplier": (1 << 31) // count + 1, "shift": 0}


def set_operation(descriptor: Descriptor, operation: WordOperation) -> None:
    """The words of an operation, of an elementwise pass or on the words of another one."""
    descriptor.set(enc.PPU_FIRST_INDEX, enc.PPU_FIRST, **operation.first)
    descriptor.set(enc.PPU_SECOND_INDEX, enc.PPU_SECOND, **operation.second)
    descriptor.set(enc.PPU_RESULT_INDEX, enc.PPU_RESULT, operation=operation.kind, **operation.result)


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


def words_in(feature_map: FeatureMap, window: Kernel = POINT, pad: int = 0) -> StreamDescriptor:
    """Words A of a map: those of a window, for all of its places along columns, rows, images and groups; what is
    outside is `pad`."""
    rows, cols = window.output_size(feature_map.rows, feature_map.cols)
    (taps_down, taps_across), (down, across) = window.taps, window.stride
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
    return StreamDescriptor(
        {"row_address": feature_map.row_address(0), **ring_of(feature_map)},
        {"rows": feature_map.rows, "cols": feature_map.cols},
        {"last_strobe": (1 << last_channels) - 1},
        (Level(feature_map.cols, 1, Axis.COLUMN, 1), rows_level(feature_map, feature_map.rows, 1),
         Level(feature_map.images, feature_map.image_step), Level(feature_map.groups, feature_map.group_step)),
    )
