# SPDX-License-Identifier: Apache-2.0
"""Reads trace files back into tracks."""

from collections import defaultdict
from pathlib import Path as FilePath

import numpy as np

from eyrie.compiler.frontend.extra import require
from eyrie.model.errors import InputError
from eyrie.model.reading import read_file
from eyrie.runtime.trace.tracks import Packet, Path, Samples, Slice, Slices, Track

REMEDY = "give a file that eyrie run --trace wrote"


def read_trace(path: FilePath) -> list[Track]:
    """Return the tracks of a file that `write_trace` has written.

    Raise InputError, with one line, if it is another file; CompileError if the package perfetto is not installed.
    """
    messages = require("perfetto.protos.perfetto.trace.perfetto_trace_pb2", "trace")
    damaged = require("google.protobuf.message", "trace").DecodeError
    trace, reader = messages.Trace(), _Reader(messages.TrackEvent)
    data = read_file(path, REMEDY)
    try:
        trace.ParseFromString(data)
        for packet in trace.packet:
            reader.take(packet)
    except (damaged, LookupError) as error:
        raise InputError(f"{path}: not a trace of eyrie: {REMEDY}") from error
    if not reader.paths:
        raise InputError(f"{path}: has no tracks: {REMEDY}")
    return reader.tracks()


class _Reader:
    """Takes the packets in the order of the file."""

    def __init__(self, event: Packet) -> None:
        """event: the message of an event, which has the constants of its types"""
        self._event = event
        self.paths: dict[int, Path] = {}
        self._names: dict[int, str] = {}
        self._opened: dict[int, Slice] = {}
        self._slices: dict[Path, list[Slice]] = defaultdict(list)
        self._samples: dict[Path, list[tuple[int, int]]] = defaultdict(list)

    def take(self, packet: Packet) -> None:
        for name in packet.interned_data.event_names:
            self._names[name.iid] = name.name
        if packet.HasField("track_descriptor"):
            found = packet.track_descriptor
            parent = self.paths[found.parent_uuid] if found.parent_uuid else ()
            self.paths[found.uuid] = (*parent, found.name)
        event, at = packet.track_event, packet.timestamp
        if event.type == self._event.TYPE_SLICE_BEGIN:
            if event.track_uuid in self._opened:
                raise LookupError("slices overlap")
            numbers = {each.name: each.int_value for each in event.debug_annotations}
            self._opened[event.track_uuid] = Slice(at, at, self._names[event.name_iid], numbers)
        elif event.type == self._event.TYPE_SLICE_END:
            slice_ = self._opened.pop(event.track_uuid)
            self._slices[self.paths[event.track_uuid]].append(slice_._replace(end=at))
        elif event.type == self._event.TYPE_COUNTER:
            self._samples[self.paths[event.track_uuid]].append((at, event.counter_value))

    def tracks(self) -> list[Track]:
        """Return the tracks in the order of their descriptions."""
        found = list[Track]()
        for path in dict.fromkeys(self.paths.values()):
            if path in self._slices:
                found.append(Slices(path, sorted(self._slices[path], key=lambda each: each.begin)))
            elif path in self._samples:
                found.append(Samples(path, *np.array(self._samples[path]).T))
        return found
