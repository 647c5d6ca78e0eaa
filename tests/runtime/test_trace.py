# SPDX-License-Identifier: Apache-2.0
"""Traces of the RTL: read back into a database, their sums equal the performance counters."""

import sqlite3
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import eyrie
from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.folder import network_of, save
from eyrie.compiler.network import compile_network
from eyrie.model.encoding import Counter
from eyrie.runtime.trace.tracks import SAMPLED, STATES
from tests.commands.small_nets import separable

TABLES = """
    create table track (id integer primary key, name text, parent integer);
    create table slice (id integer primary key, track integer, ts integer, dur integer, name text);
    create table arg (slice integer, name text, value integer);
    create table counter (track integer, ts integer, dur integer, value integer);
    create view path as with recursive of (id, path, parent) as (
        select id, name, parent from track
        union all select of.id, track.name || '/' || of.path, track.parent from of join track on of.parent = track.id)
        select id, path from of where parent = 0;
"""


def database(file: Path) -> sqlite3.Connection:
    """Return a trace as tables, as Perfetto's trace processor has them."""
    trace, names, tables = Trace(), dict[int, str](), sqlite3.connect(":memory:")
    trace.ParseFromString(file.read_bytes())
    tables.executescript(TABLES)
    opened, samples = dict[int, int](), defaultdict(list)
    for packet in trace.packet:
        names |= {name.iid: name.name for name in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            found = packet.track_descriptor
            tables.execute("insert into track values (?, ?, ?)", (found.uuid, found.name, found.parent_uuid))
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened, "slices of a track overlap"
            row = event.track_uuid, packet.timestamp, names[event.name_iid]
            made = tables.execute("insert into slice (track, ts, name) values (?, ?, ?)", row).lastrowid
            rows = [(made, each.name, each.int_value) for each in event.debug_annotations]
            tables.executemany("insert into arg values (?, ?, ?)", rows)
            opened[event.track_uuid] = made
        elif event.type == TrackEvent.TYPE_SLICE_END:
            row = packet.timestamp, opened.pop(event.track_uuid)
            tables.execute("update slice set dur = ? - ts where id = ?", row)
        elif event.type == TrackEvent.TYPE_COUNTER:
            samples[event.track_uuid].append((packet.timestamp, event.counter_value))
    assert not opened and len(trace.packet) > 1000
    for track, rows in samples.items():
        assert rows[-1][1] == 0, "a number is not 0 after the run"
        for (at, value), (end, _) in pairwise(rows):
            assert end > at
            tables.execute("insert into counter values (?, ?, ?, ?)", (track, at, end - at, value))
    return tables


@pytest.fixture(scope="module")
def traced(seed: int, tmp_path_factory: pytest.TempPathFactory) -> tuple[sqlite3.Connection, dict, Prediction]:
    """The tables of a small network's trace, its counters, and its prediction."""
    folder, rng = tmp_path_factory.mktemp("traced"), np.random.default_rng(seed)
    (folder / "net.tflite").write_bytes(separable(rng))
    save(network_of(compile_network(folder / "net.tflite")), folder / "net")
    session = eyrie.load(folder / "net", seed=seed)
    value = rng.integers(-128, 128, (2, 8, 8, 3)).astype(np.int8)
    untraced, counters = session(value), session._measured[0].runs[0]["counters"]
    outputs = session.trace(folder / "trace", value)
    [run] = session._measured
    assert run.runs[0]["counters"] == counters, "the recorder changes the run"
    assert untraced.keys() == outputs.keys() and all((outputs[name] == untraced[name]).all() for name in outputs)
    return database(folder / "trace"), counters, run.prediction


SLICES = "select coalesce(sum(dur), 0) from slice join path on track = path.id where path = '{}'"
COUNT = "select count(*) from slice join path on track = path.id where path in ({})"
BYTES = (
    "select coalesce(sum(value), 0) from arg join slice on slice = slice.id join path on track = path.id "
    "where arg.name = 'bytes' and path = '{}'"
)
SAMPLES = "select coalesce(sum(value * dur), 0) from counter join path on track = path.id where path = 'counters/{}'"
COLUMNS = (
    "select coalesce(sum(value * dur), 0) from arg join slice on slice = slice.id join path on track = path.id "
    "where path like 'array/set %/column %' and arg.name = '{}'"
)
QUERIES = {
    Counter.CYCLES: [SLICES.format("run")],
    Counter.PASSES: [COUNT.format("'passes/measured'"), COUNT.format("'passes/planned'")],
    Counter.TRANSFERS: [
        COUNT.format("'loads/measured', 'stores/measured'"),
        COUNT.format("'loads/planned', 'stores/planned'"),
    ],
    Counter.DRAM_READ_BYTES: [BYTES.format("DRAM/reads")],
    Counter.DRAM_WRITE_BYTES: [BYTES.format("DRAM/writes")],
    Counter.COMMAND_BYTES: [BYTES.format("DRAM/reads") + " and slice.name = 'commands'"],
    Counter.PE_WAIT_IFMAP: [COLUMNS.format("PE_WAIT_IFMAP")],
    Counter.PE_WAIT_WORDS: [COLUMNS.format("PE_WAIT_WORDS")],
    Counter.PE_WAIT_FILTER: [COLUMNS.format("PE_WAIT_FILTER")],
    Counter.PE_WAIT_PSUM: [COLUMNS.format("PE_WAIT_PSUM")],
    Counter.PE_IDLE: [COLUMNS.format("PE_IDLE")],
}


@pytest.mark.parametrize("counter", Counter, ids=lambda counter: counter.name)
def test_sums_equal_the_counters(counter: Counter, traced: tuple) -> None:
    tables, counters, _ = traced
    queries = list(QUERIES.get(counter, []))
    queries += [SLICES.format(f"units/{counter.name}")] * (counter in STATES)
    queries += [SAMPLES.format(counter.name)] * (counter in SAMPLED)
    assert queries
    for query in queries:
        assert tables.execute(query).fetchone() == (counters[counter.name],), query


def test_planned_tracks_are_the_prediction(traced: tuple) -> None:
    tables, _, prediction = traced
    for name, wanted in (
        ("passes/planned", [(each.offered, each.done) for each in prediction.passes]),
        ("passes/planned work of the array", [(each.begun, each.worked) for each in prediction.passes]),
        ("loads/planned", [(each.started, each.done) for each in prediction.transfers if each.load]),
        ("stores/planned", [(each.started, each.done) for each in prediction.transfers if not each.load]),
    ):
        query = "select ts, ts + dur from slice join path on track = path.id where path = ? order by ts, dur"
        assert tables.execute(query, [name]).fetchall() == sorted(wanted), name


def test_measured_passes_are_close_to_the_plan(traced: tuple) -> None:
    """Both have the same first and last cycles by definition; the cost model is within a few percent."""
    tables, counters, _ = traced
    query = "select max(abs(value)) from arg where name = 'late'"
    assert tables.execute(query).fetchone()[0] < 0.1 * counters["CYCLES"]
