# SPDX-License-Identifier: Apache-2.0
"""Traces of the RTL: read back into a database, their sums equal the performance counters."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie.compiler.folder import network_of, save
from eyrie.compiler.network import compile_network
from eyrie.model.encoding import Counter
from eyrie.runtime.back_end import AcceleratorRun
from eyrie.runtime.trace.file import write_trace
from eyrie.runtime.trace.picture import picture, window
from eyrie.runtime.trace.reader import read_trace
from eyrie.runtime.trace.tracks import SAMPLED, STATES, Slices, Track
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


@pytest.mark.parametrize("counter", Counter, ids=lambda counter: counter.name)
def test_sums_equal_the_counters(counter: Counter, traced: tuple, tables: sqlite3.Connection) -> None:
    queries = list(QUERIES.get(counter, []))
    queries += [SLICES.format(f"units/{counter.name}")] * (counter in STATES)
    queries += [SAMPLES.format(counter.name)] * (counter in SAMPLED)
    assert queries
    for query in queries:
        assert tables.execute(query).fetchone() == (traced[0].runs[0]["counters"][counter.name],), query


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
    write_trace(tmp_path / "trace", [run, run])
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
