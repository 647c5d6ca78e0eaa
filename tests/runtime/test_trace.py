# SPDX-License-Identifier: Apache-2.0
"""Traces of the RTL: read back into a database, their sums equal the performance counters."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie.command_line import main
from eyrie.compiler.folder import network_of, save
from eyrie.compiler.network import compile_network
from eyrie.model.config import DEFAULT
from eyrie.model.encoding import Counter
from eyrie.model.errors import InputError
from eyrie.runtime import folders
from eyrie.runtime.back_end import AcceleratorRun
from eyrie.runtime.bundled import SMALL_CONFIG
from eyrie.runtime.simulator import simulate
from eyrie.runtime.trace.events import Events, Source
from eyrie.runtime.trace.file import write_trace
from eyrie.runtime.trace.picture import picture, window
from eyrie.runtime.trace.reader import read_trace
from eyrie.runtime.trace.tracks import SAMPLED, STATES, Recording, Slices, Track, tracks
from tests.commands.small_nets import separable
from tests.compiler.streaming_nets import FRAME, streaming

TABLES = """
    create table slice (id integer primary key, path text, ts integer, dur integer, name text);
    create table arg (slice integer, name text, value integer);
    create table counter (path text, ts integer, dur integer, value integer);
"""


def database(tracks: list[Track]) -> sqlite3.Connection:
    """Return a trace as tables, as Perfetto's trace processor has them."""
    tables = sqlite3.connect(":memory:")
    tables.executescript(TABLES)
    for track in tracks:
        path = "/".join(track.path)
        if isinstance(track, Slices):
            for each in track.slices:
                assert each.begin < each.end
                row = path, each.begin, each.end - each.begin, each.name
                made = tables.execute("insert into slice (path, ts, dur, name) values (?, ?, ?, ?)", row).lastrowid
                tables.executemany("insert into arg values (?, ?, ?)", [(made, *item) for item in each.numbers.items()])
        else:
            assert track.values[-1] == 0, "a number is not 0 after the run"
            rows = zip(track.cycles.tolist(), np.diff(track.cycles).tolist(), track.values.tolist())
            tables.executemany("insert into counter values (?, ?, ?, ?)", [(path, *row) for row in rows])
    return tables


@pytest.fixture(scope="module")
def traced(seed: int, tmp_path_factory: pytest.TempPathFactory) -> tuple[AcceleratorRun, list[Track]]:
    """A run of a small network, and the tracks that are read back from its trace."""
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
    return run, read_trace(folder / "trace")


@pytest.fixture(scope="module")
def tables(traced: tuple[AcceleratorRun, list[Track]]) -> sqlite3.Connection:
    return database(traced[1])


SLICES = "select coalesce(sum(dur), 0) from slice where path = '{}'"
COUNT = "select count(*) from slice where path in ({})"
BYTES = (
    "select coalesce(sum(value), 0) from arg join slice on slice = slice.id where arg.name = 'bytes' and path = '{}'"
)
SAMPLES = "select coalesce(sum(value * dur), 0) from counter where path = 'counters/{}'"
COLUMNS = (
    "select coalesce(sum(value * dur), 0) from arg join slice on slice = slice.id "
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


def compare(tables: sqlite3.Connection, counter: Counter, value: int, planned: bool = True) -> None:
    """Compare the sums of a trace, which may have planned tracks, with a counter of the run."""
    queries = [query for query in QUERIES.get(counter, []) if planned or "planned" not in query]
    queries += [SLICES.format(f"units/{counter.name}")] * (counter in STATES)
    queries += [SAMPLES.format(counter.name)] * (counter in SAMPLED)
    assert queries
    for query in queries:
        assert tables.execute(query).fetchone() == (value,), query


@pytest.mark.parametrize("counter", Counter, ids=lambda counter: counter.name)
def test_sums_equal_the_counters(counter: Counter, traced: tuple, tables: sqlite3.Connection) -> None:
    compare(tables, counter, traced[0].runs[0]["counters"][counter.name])


def test_the_trace_of_a_testbench_has_its_counters(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "BUILD", tmp_path)
    monkeypatch.setattr(simulate, "BUILD", tmp_path)
    words = ["sim", "net7", "--config", str(SMALL_CONFIG), "--seed", str(seed), "--trace", "--quiet"]
    assert main(words) == 0
    counters = json.loads((tmp_path / "sim" / "net7" / "summary.json").read_text())["first_counters"]
    tables = database(read_trace(tmp_path / "sim" / "net7" / "trace.pftrace"))
    for counter in Counter:
        compare(tables, counter, counters[counter.name], planned=False)
    assert not (tmp_path / "sim" / "net7" / simulate.EVENTS).exists()


def test_a_run_that_is_cut_off_ends_there(tmp_path: Path) -> None:
    """The first run is reset after cycle 8 with a pass, a LOAD and a burst on the way; a second run follows."""
    records = [
        *((0, Counter.IFMAP_WAIT, 1), (0, Source.RUN, 1), (1, Source.COMMAND, 64 | 4), (2, Source.TRANSFER_BEGINS, 64)),
        *(
            (3, Source.READ_ISSUE, 1),
            (4, Source.READ_BEGINS, 0),
            (4, Source.READ_ISSUE, 257),
            (5, Source.PASS_BEGINS, 0),
        ),
        *((8, Source.COMMAND, 0), (0, Counter.IFMAP_WAIT, 1), (0, Source.RUN, 1), (6, Source.RUN, 0)),
    ]
    np.array(records, np.uint32).tofile(tmp_path / "events")
    found = {track.path: track for track in tracks(Recording(Events.read(tmp_path / "events"), DEFAULT))}
    for path, begin in (
        *((("run",), 0), (("units", "IFMAP_WAIT"), 0), (("loads", "measured"), 2), (("DRAM", "reads"), 4)),
        (("passes", "measured"), 6),
    ):
        assert [(each.begin, each.end) for each in found[path].slices] == [(begin, 9)], path
    assert [(each.begin, each.end, each.name) for each in found["commands",].slices] == [(1, 8, "LOAD")]


def test_a_simulation_without_a_run_has_no_trace(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(b"")
    with pytest.raises(InputError, match="the accelerator starts no run"):
        Events.read(tmp_path / "events")


def test_planned_tracks_are_the_prediction(traced: tuple, tables: sqlite3.Connection) -> None:
    prediction = traced[0].prediction
    for path, wanted in (
        ("passes/planned", [(each.offered, each.done) for each in prediction.passes]),
        ("passes/planned work of the array", [(each.begun, each.worked) for each in prediction.passes]),
        ("loads/planned", [(each.started, each.done) for each in prediction.transfers if each.load]),
        ("stores/planned", [(each.started, each.done) for each in prediction.transfers if not each.load]),
    ):
        query = "select ts, ts + dur from slice where path = ? order by ts, dur"
        assert tables.execute(query, [path]).fetchall() == sorted(wanted), path


def test_measured_passes_are_close_to_the_plan(traced: tuple, tables: sqlite3.Connection) -> None:
    [late] = tables.execute("select max(abs(value)) from arg where name = 'late'").fetchone()
    assert late < 0.1 * traced[0].runs[0]["counters"]["CYCLES"]


def test_programs_follow_each_other(traced: tuple, tmp_path: Path) -> None:
    run, tracks = traced
    write_trace(tmp_path / "trace", [Recording.of(run)] * 2)
    found, cycles = read_trace(tmp_path / "trace"), run.events.cycles
    for n, track in enumerate(tracks):
        first, second = found[n], found[n + len(tracks)]
        assert (first.path, second.path) == (("program 0", *track.path), ("program 1", *track.path))
        if isinstance(track, Slices):
            assert first.slices == track.slices
            moved = [each._replace(begin=each.begin + cycles, end=each.end + cycles) for each in track.slices]
            assert second.slices == moved
        else:
            assert (second.cycles == track.cycles + cycles).all() and (second.values == track.values).all()


def test_picture_of_a_window_has_its_rows(traced: tuple) -> None:
    _, tracks = traced
    begin, end = window(tracks, 400, 300)
    assert (begin, end) == (250, 550) and window(tracks, None, 400)[0] == 0
    svg = picture("trace", tracks, begin, end)
    for track in tracks:
        if isinstance(track, Slices):
            inside = any(each.begin < end and each.end > begin for each in track.slices)
            assert (f">{' '.join(track.path)}<" in svg) == inside, track.path


def test_a_network_with_a_state(seed: int, tmp_path: Path) -> None:
    """The trace is of the first of several images, which run one after the other."""
    rng = np.random.default_rng(seed)
    (tmp_path / "net.tflite").write_bytes(streaming(rng))
    frames = rng.integers(-128, 128, (2, *FRAME[1:])).astype(np.int8)
    session = eyrie.load(tmp_path / "net.tflite", seed=seed)
    [made] = session.trace(tmp_path / "trace", frames).values()
    [expected] = eyrie.load(tmp_path / "net.tflite", back_end="golden")(frames).values()
    assert (made == expected).all()
    first, second = (run["counters"]["CYCLES"] for run in session._measured[0].runs)
    ends = [each.end for track in read_trace(tmp_path / "trace") if isinstance(track, Slices) for each in track.slices]
    assert second and max(ends) <= first + 1
