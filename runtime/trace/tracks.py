# SPDX-License-Identifier: Apache-2.0
"""The tracks of a trace: slices with a name, and samples of a number. Times are cycles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.ir.image import Image
from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import Counter, Opcode, Stream
from eyrie.runtime.back_end import AcceleratorRun
from eyrie.runtime.trace.events import Events, Source

# Counters that a cycle increases by 0 or 1: their tracks have slices.
STATES = (
    *(Counter.ARRAY_BUSY, Counter.ARRAY_STALL, Counter.DRAIN_BUSY, Counter.DRAIN_STALL, Counter.IFMAP_STALL),
    *(Counter.IFMAP_WAIT, Counter.FILTER_STALL, Counter.FILTER_WAIT, Counter.DMA_BUSY, Counter.DMA_WAIT),
    Counter.PASS_WAIT,
)
# The other counters have samples, except those that count slices.
SAMPLED = tuple(each for each in Counter if each not in (*STATES, Counter.CYCLES, Counter.PASSES, Counter.TRANSFERS))
PE_STATES = ("busy", "PE_WAIT_IFMAP", "PE_WAIT_WORDS", "PE_WAIT_FILTER", "PE_WAIT_PSUM", "PE_IDLE")  # pe_wait_e
Packet = Any  # of perfetto, whose messages are made at run time
_STATE_BITS = 4  # WaitWidth of event_recorder.sv
_LOW = 7  # bits below a DRAM address
_OPCODES = {int(opcode): opcode.name for opcode in Opcode}

Path = tuple[str, ...]


class Slice(NamedTuple):
    """An interval in cycles; `end` is the cycle after its last. Slices of waveforms have fractions of cycles."""

    begin: float
    end: float
    name: str
    numbers: Mapping[str, int] = {}


@dataclass(frozen=True)
class Slices:
    """A track of slices, which may overlap. path: names of the groups that it is in, and its own"""

    path: Path
    slices: list[Slice]


@dataclass(frozen=True)
class Samples:
    """A track of a number, which has each of the values from the cycle on."""

    path: Path
    cycles: np.ndarray
    values: np.ndarray


Track = Slices | Samples


@dataclass(frozen=True)
class Recording:
    """The events of a run of an accelerator, with its program and the prediction for it if they are known."""

    events: Events
    config: AcceleratorConfig
    image: Image | None = None
    prediction: Prediction | None = None

    @classmethod
    def of(cls, run: AcceleratorRun) -> "Recording":
        assert run.events is not None
        return cls(run.events, run.image.config, run.image, run.prediction)


def tracks(recording: Recording) -> Iterator[Track]:
    """Yield the tracks of a run."""
    events, image, prediction = recording.events, recording.image, recording.prediction
    yield Slices(("run",), [Slice(0, events.cycles, "run")])
    yield Slices(("commands",), _commands(events))
    yield Slices(("passes", "measured"), _passes(events, image, prediction))
    if image and prediction:
        yield from _planned_passes(image, prediction)
    for number, name in enumerate(("loads", "stores")):
        yield Slices((name, "measured"), _transfers(events, bool(number)))
        if prediction:
            yield Slices((name, "planned"), _planned_transfers(prediction, not number))
    yield Slices(("DRAM", "reads"), _reads(events))
    yield Slices(("DRAM", "writes"), _writes(events))
    for counter in STATES:
        yield Slices(("units", counter.name), _slices(events, counter, counter.name))
    for stream in Stream:
        yield Slices(("streams", stream.name.lower()), _stream(events, stream))
    yield from _columns(events, recording.config)
    for counter in SAMPLED:
        yield Samples(("counters", counter.name), *events.of(counter))


def _slices(events: Events, source: int, name: str) -> list[Slice]:
    begins, ends, _ = events.intervals(source)
    return [Slice(begin, end, name) for begin, end in zip(begins.tolist(), ends.tolist())]


def _commands(events: Events) -> list[Slice]:
    """Return the commands in the decoder, from the cycle in which it has the first word."""
    return [
        Slice(begin, end, _OPCODES.get(value & _LOW, "invalid"), {"address": value & ~_LOW})
        for begin, end, value in zip(*(each.tolist() for each in events.intervals(Source.COMMAND)))
    ]


def _named(image: Image) -> list[str]:
    """Return the layer of each pass."""
    of_pass = image.step_of_pass
    return [image.steps[of_pass[number]].name for number in sorted(of_pass)]


def _ends(events: Events, source: Source, count: int) -> np.ndarray:
    """Return the cycles after `count` events: the end of the run for the last ones, if it was cut off before them."""
    ends = events.of(source)[0] + 1
    return np.append(ends, np.full(count - len(ends), events.cycles))


def _passes(events: Events, image: Image | None, prediction: Prediction | None) -> list[Slice]:
    """Return the passes, from the first cycle in which units can accept them to the one in which they are counted."""
    begins = events.of(Source.PASS_BEGINS)[0] + 1
    ends, names = _ends(events, Source.PASS_ENDS, len(begins)), _named(image) if image else ["pass"] * len(begins)
    found = list[Slice]()
    for number, (begin, end, name) in enumerate(zip(begins.tolist(), ends.tolist(), names, strict=True)):
        numbers = {"pass": number}
        if prediction:
            numbers["planned_begin"] = prediction.passes[number].offered
            numbers["planned_end"] = prediction.passes[number].done
            numbers["late"] = end - prediction.passes[number].done
        found.append(Slice(begin, end, name, numbers))
    return found


def _planned_passes(image: Image, prediction: Prediction) -> Iterator[Track]:
    times = list(enumerate(zip(prediction.passes, _named(image), strict=True)))
    whole = [Slice(each.offered, each.done, name, {"pass": number}) for number, (each, name) in times]
    work = [Slice(each.begun, each.worked, name, {"pass": number}) for number, (each, name) in times]
    yield Slices(("passes", "planned"), whole)
    yield Slices(("passes", "planned work of the array"), work)


def _transfers(events: Events, store: bool) -> list[Slice]:
    """Return LOADs or STOREs, from their start to the cycle in which they are counted. They end in order."""
    begins, values = events.of(Source.TRANSFER_BEGINS)
    ends = _ends(events, Source.TRANSFER_ENDS, len(begins))
    return [
        Slice(begin, end, "STORE" if store else "LOAD", {"transfer": number, "address": value & ~_LOW})
        for number, (begin, end, value) in enumerate(zip(begins.tolist(), ends.tolist(), values.tolist(), strict=True))
        if value & _LOW == store
    ]


def _planned_transfers(prediction: Prediction, load: bool) -> list[Slice]:
    return [
        Slice(each.started, each.done, "LOAD" if load else "STORE", {"transfer": number})
        for number, each in enumerate(prediction.transfers)
        if each.load == load
    ]


def _reads(events: Events) -> list[Slice]:
    """Return the read bursts, from the first beat to the last. They come in the order of their issue."""
    return _bursts(events, Source.READ_ISSUE, Counter.DRAM_READ_BYTES, ("commands", "LOAD"))


def _writes(events: Events) -> list[Slice]:
    return _bursts(events, Source.WRITE_ISSUE, Counter.DRAM_WRITE_BYTES, ("STORE",))


def _bursts(events: Events, issue: Source, counter: Counter, names: tuple[str, ...]) -> list[Slice]:
    """Return the bursts of a direction; names: by the low bits of the issue."""
    begins = events.of(issue + 1)[0]
    ends = _ends(events, Source(issue + 2), len(begins))
    issued, values = (each[: len(begins)] for each in events.of(issue))  # the last ones of a run that was cut off
    moved = events.total(counter, begins, ends)
    rows = zip(*(each.tolist() for each in (begins, ends, issued, values, moved)), strict=True)
    return [
        Slice(begin, end, names[value & _LOW], {"bytes": count, "address": value & ~_LOW, "issued": cycle})
        for begin, end, cycle, value, count in rows
    ]


def _stream(events: Events, stream: Stream) -> list[Slice]:
    """Return the intervals in which a stream has words of a pass left to move."""
    cycles, values = events.of(Source.STREAMS)
    busy = values >> stream & 1
    changes = np.flatnonzero(np.diff(busy, prepend=0))  # a rise, a fall, a rise, ...
    edges = cycles[changes].tolist()
    return [Slice(begin, end, stream.name.lower()) for begin, end in zip(edges[::2], edges[1::2], strict=True)]


def _columns(events: Events, config: AcceleratorConfig) -> Iterator[Slices]:
    """Yield the states of the PEs of each column of a set."""
    for number in range(config.sets * config.cols):
        begins, ends, values = (each.tolist() for each in events.intervals(Source.COLUMNS + number))
        path = "array", f"set {number // config.cols}", f"column {number % config.cols}"
        yield Slices(path, [Slice(begin, end, *_pes(value)) for begin, end, value in zip(begins, ends, values)])


@cache
def _pes(value: int) -> tuple[str, dict[str, int]]:
    """Return the name of a state of a column, and the number of its PEs by state."""
    counts = {name: value >> _STATE_BITS * n & (1 << _STATE_BITS) - 1 for n, name in enumerate(PE_STATES)}
    counts = {name: count for name, count in counts.items() if count}
    return ", ".join(f"{count} {name}" for name, count in counts.items()), counts
