# SPDX-License-Identifier: Apache-2.0
"""Perfetto trace files. A nanosecond of the trace is a cycle of the accelerator."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from pathlib import Path as FilePath
from types import ModuleType
from typing import BinaryIO

from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.files import check_file, whole_file
from eyrie.compiler.frontend.extra import require
from eyrie.model.errors import InputError
from eyrie.runtime import progress
from eyrie.runtime.trace.tracks import Packet, Path, Recording, Samples, Slice, Track, tracks

_SEQUENCE = 1  # of all packets of the file
_CLEARED, _NEEDED = 1, 2  # SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE


def check_trace(path: FilePath | str, network: CompiledNetwork) -> None:
    """Check, before a run, that its trace can be written.

    Raise InputError, with one line, if the file cannot be written or the network has no program of the accelerator;
    CompileError if the package perfetto is not installed.
    """
    check_file(path)
    _builder()
    if not network.programs:
        raise InputError("the host computes all operators of the network: a trace has the events of the accelerator")


def write_trace(path: FilePath | str, recordings: Sequence[Recording]) -> None:
    """Write recorded runs as a trace, one after the other.

    Raise InputError if the file cannot be written, CompileError if the package perfetto is not installed.
    """
    with progress.task("writing the trace") as task, whole_file(path) as file:
        writer, offset = _Writer(file), 0
        for number, recording in enumerate(recordings):
            parts = (f"program {number}",) if len(recordings) > 1 else ()
            for track in tracks(recording):
                task.say("/".join(track.path))
                writer.write(track, parts, offset)
            offset += recording.events.cycles


def _builder() -> ModuleType:
    return require("perfetto.trace_builder.proto_builder", "trace")


def lanes(slices: Iterable[Slice]) -> list[list[Slice]]:
    """Return slices as lists in which they do not overlap."""
    found, free = list[list[Slice]](), list[tuple[float, int]]()  # free: the ends of the lists, and their numbers
    for each in sorted(slices, key=lambda each: each.begin):
        if free and free[0][0] <= each.begin:
            _, number = heappop(free)
        else:
            number = len(found)
            found.append([])
        found[number].append(each)
        heappush(free, (each.end, number))
    return found


class _Writer:
    """Writes packets. Names are written once: slices refer to them by number."""

    def __init__(self, file: BinaryIO) -> None:
        self._builder = _builder().StreamingTraceProtoBuilder(file)
        self._event = require("perfetto.protos.perfetto.trace.perfetto_trace_pb2", "trace").TrackEvent
        self._groups: dict[Path, int] = {}
        self._names: dict[str, int] = {}
        self._ids = 0
        packet = self._packet()
        packet.sequence_flags = _CLEARED
        self._builder.write_packet(packet)

    def write(self, track: Track, parts: Path, offset: int) -> None:
        """Write a track, unless it is empty. parts: groups outside its path; offset: cycles before the run"""
        path = parts + track.path
        if isinstance(track, Samples):
            if track.cycles.size:
                self._samples(self._track(path, counter=True), track, offset)
        else:
            for lane in lanes(track.slices):
                self._slices(self._track(path), lane, offset)

    def _packet(self, cycle: float | None = None) -> Packet:
        packet = self._builder.create_packet()
        packet.trusted_packet_sequence_id, packet.sequence_flags = _SEQUENCE, _NEEDED
        if cycle is not None:
            packet.timestamp = int(cycle)
        return packet

    def _track(self, path: Path, counter: bool = False) -> int:
        """Describe a track and, before it, the groups that it is in. Return its ID."""
        parent = 0
        for n in range(1, len(path)):
            if path[:n] not in self._groups:
                self._groups[path[:n]] = self._described(path[n - 1], parent)
            parent = self._groups[path[:n]]
        return self._described(path[-1], parent, counter)

    def _described(self, name: str, parent: int, counter: bool = False) -> int:
        """Describe a track or a group. Tracks of a group are shown in the order of their IDs."""
        self._ids += 1
        packet = self._packet()
        descriptor = packet.track_descriptor
        descriptor.uuid, descriptor.name = self._ids, name
        descriptor.sibling_order_rank = self._ids
        descriptor.child_ordering = descriptor.EXPLICIT
        if parent:
            descriptor.parent_uuid = parent
        if counter:
            descriptor.counter.SetInParent()
        self._builder.write_packet(packet)
        return self._ids

    def _slices(self, track: int, slices: Iterable[Slice], offset: int) -> None:
        for each in slices:
            packet = self._packet(each.begin + offset)
            event = packet.track_event
            event.type, event.track_uuid, event.name_iid = self._event.TYPE_SLICE_BEGIN, track, self._name(packet, each)
            for name, number in each.numbers.items():
                event.debug_annotations.add(name=name, int_value=number)
            self._builder.write_packet(packet)
            packet = self._packet(each.end + offset)
            packet.track_event.type, packet.track_event.track_uuid = self._event.TYPE_SLICE_END, track
            self._builder.write_packet(packet)

    def _name(self, packet: Packet, slice_: Slice) -> int:
        """Return the number of a slice's name; the first packet that has it defines it."""
        if slice_.name not in self._names:
            self._names[slice_.name] = len(self._names) + 1
            packet.interned_data.event_names.add(iid=self._names[slice_.name], name=slice_.name)
        return self._names[slice_.name]

    def _samples(self, track: int, samples: Samples, offset: int) -> None:
        for cycle, value in zip(samples.cycles.tolist(), samples.values.tolist()):
            packet = self._packet(cycle + offset)
            event = packet.track_event
            event.type, event.track_uuid, event.counter_value = self._event.TYPE_COUNTER, track, value
            self._builder.write_packet(packet)
