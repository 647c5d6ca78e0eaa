# SPDX-License-Identifier: Apache-2.0
"""Passes that are alike: a pass that has run before, after the same pass, takes the same time again.

Row tiles of a layer differ in their addresses only. The timeline follows the first such tile, word by word, and repeats
its times for the others. Tiles that begin during a store are followed by themselves. The timeline leaves out that other
addresses meet transfers and other streams in other GLB banks.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache

from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.shorten import Shortened
from eyrie.compiler.cost.timing.units import Units
from eyrie.compiler.ir.program import Command, Config
from eyrie.model import encoding as enc
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Axis, Stream

EARLY, LATE = -64, 256  # cycles from the end of the PEs' last pass to the start of a pass; beyond, all are alike
DRAIN_STEP = 16  # cycles within which the drains of last passes are alike

# Fields of the descriptor that hold values, by the words that have them: no time depends on them.
_VALUES = {
    enc.ARRAY_SHAPE_INDEX: (
        enc.ARRAY_SHAPE,
        ("ifmap_offset", "word_offset", "filter_zero_point", "depthwise_zero_point"),
    ),
    enc.DEPTHWISE_INDEX: (enc.DEPTHWISE, ("zero_point", "act_min", "act_max")),
    enc.PPU_INDEX: (enc.PPU, ("zero_point", "act_min", "act_max", "pool_reciprocal", "pool_shift")),
    enc.PPU_FIRST_INDEX: (enc.PPU_FIRST, ("multiplier", "right_shift", "zero_point")),
    enc.PPU_SECOND_INDEX: (enc.PPU_SECOND, ("multiplier", "right_shift", "zero_point")),
    enc.PPU_RESULT_INDEX: (enc.PPU_RESULT, ("multiplier", "shift", "zero_point", "act_min", "act_max")),
    **{
        enc.STREAMS_INDEX + stream * enc.STREAM_WORDS + enc.STREAM_OPTIONS_OFFSET: (enc.STREAM_OPTIONS, ("pad",))
        for stream in Stream
    },
}
_VALUE_BITS = [0] * enc.CONFIG_WORDS
for _index, (_word, _names) in _VALUES.items():
    _VALUE_BITS[_index] = _word.mask(*_names)

Times = int | None | tuple | list | deque


def without_values(command: Command) -> Command:
    """Return a command with zero for all values on which no time depends."""
    if not isinstance(command, Config):
        return command
    bits = _VALUE_BITS[command.index : command.index + len(command.words)]
    return Config(command.index, tuple(word & ~values for word, values in zip(command.words, bits)))


def structure(descriptor: Descriptor) -> tuple:
    """Return all of a descriptor that the time of its pass depends on: no addresses, and of rows only the ones that
    are outside of their feature map."""
    return _structure(tuple(descriptor.words))


@lru_cache(4096)
def _structure(of: tuple[int, ...]) -> tuple:
    words = list[Hashable](word & ~values for word, values in zip(of, _VALUE_BITS))
    descriptor = Descriptor(of)
    for index in descriptor.ignored:
        words[index] = 0
    for stream in filter(descriptor.uses, Stream):
        base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
        program = descriptor.stream(stream)
        reaches = [(level.count - 1) * level.step for level in program.levels if level.axis == Axis.ROW]
        first, rows = program.range["y"], program.range["rows"]
        above = min(first + sum(min(reach, 0) for reach in reaches), 0)
        below = max(first + sum(max(reach, 0) for reach in reaches) - rows + 1, 0)
        inside = enc.STREAM_RANGE.pack(**{**program.range, "y": 0, "rows": 0})
        words[base + enc.STREAM_ADDRESS_OFFSET] = 0
        words[base + enc.STREAM_RANGE_OFFSET] = (inside, above, below)
    return tuple(words)


def moved(times: Times, by: int) -> Times:
    """Return times, so many cycles later."""
    if times is None:
        return None
    if isinstance(times, int):
        return times + by
    if isinstance(times, deque):
        return deque((moved(each, by) for each in times), times.maxlen)
    if isinstance(times, list) and times and isinstance(times[0], int):
        return [each + by for each in times]
    return type(times)(moved(each, by) for each in times)


@dataclass(frozen=True)
class PassTimes:
    """First cycles: offered, of the pass's epoch; begun, in which PEs can multiply; worked, behind the last
    multiplication; done, in which the pass counts. Of a vector pass: the PPU takes words; behind the last
    word of the first operand. sets, columns: of PEs that take part."""

    offered: int
    begun: int
    worked: int
    done: int
    sets: int
    columns: int


@dataclass(frozen=True)
class State:
    """The times of a pass, and the times of the units of the pass side after it.

    start: the cycle that all are relative to; idle: first cycle in which the CONFIG words of the next pass are taken
    chunks: when each is needed first (True) and when it is free (False), from the start on, in the order of time, if
    the pass did not wait for any; waited: cycles that it did
    """

    start: int
    own: PassTimes
    idle: int
    chunks: tuple[tuple[int, bool], ...]
    waited: int
    units: list[list[Times]]

    @classmethod
    def of(
        cls, units: Units, shape: PassShape, start: int, own: PassTimes, idle: int, short: Shortened | None
    ) -> "State":
        """Return the state after a pass, or after the whole pass if a shortened one has run."""
        stretched = short.stretched(units.drain.marks, units.begins) if short else None
        events = units.filters.chunk_events(shape, units.begins, stretched)
        more = stretched.more if stretched else 0
        own = replace(own, worked=own.worked + more, done=own.done + more)
        chunks = tuple((at - start, is_used) for at, is_used in events)
        waited = sum(cycles for _, cycles in units.filters.stream.gated)
        units.rest()
        times = [[moved(getattr(each, name), more) for name in each.TIMES] for each in units.timed]
        return cls(start, own, idle, chunks, waited, times)

    def times(self, offered: int, start: int, waits: int) -> tuple[PassTimes, int]:
        """Return the times, and `idle`, of a pass that starts in a cycle and waits so many cycles for its chunks."""
        by, own = start - self.start, self.own
        more = by + waits - self.waited
        return PassTimes(
            offered, own.begun + by, own.worked + more, own.done + more, own.sets, own.columns
        ), self.idle + by

    def put(self, units: Units, start: int) -> None:
        """Set the times of the units, as after this pass if it starts in a cycle and waits for no chunk."""
        by = start - self.start - self.waited
        for each, values in zip(units.timed, self.units):
            for name, value in zip(each.TIMES, values):
                setattr(each, name, moved(value, by))
