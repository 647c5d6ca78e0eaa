# SPDX-License-Identifier: Apache-2.0
"""Simulation runs, each in a process and a folder of its own.

A run writes log.txt and summary.json into build/sim/<test>/. The folder is replaced as a whole when the run has ended,
so that runs of one test at the same time do not disturb each other.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from eyrie.runtime import progress
from eyrie.runtime.folders import BUILD, ROOT, replacing
from eyrie.runtime.simulator import summary, verilator
from eyrie.runtime.simulator.moments import named_cycle
from eyrie.runtime.simulator.processes import process
from eyrie.runtime.simulator.simulation_test import SimulationTest
from eyrie.runtime.simulator.sources import closure, sizes_of
from eyrie.runtime.simulator.verilate import build_model

EVENTS = "events"  # the file of a run with events
_RECORDER = "event_recorder"  # the module that writes it
SEED_LIMIT = 2**31 - 1  # Verilator's largest


def simulate(
    bench: SimulationTest,
    seed: int,
    waves: bool = False,
    target: Path | None = None,
    on_line: Callable[[str, progress.Task], None] | None = None,
    events: bool = False,
) -> dict[str, object]:
    """Build the testbench's model if needed, run its test, and return the summary that the test stored.

    `target` is the folder that gets log.txt and summary.json (build/sim/<test>), in place of those of an earlier run.
    The other arguments are as in `simulate_in`.
    """
    with replacing(target or BUILD / "sim" / bench.name) as folder:
        return simulate_in(folder, bench, seed, waves, on_line, events=events)


def simulate_in(
    folder: Path,
    bench: SimulationTest,
    seed: int,
    waves: bool = False,
    on_line: Callable[[str, progress.Task], None] | None = None,
    variables: Mapping[str, str] | None = None,
    events: bool = False,
) -> dict[str, object]:
    """Run the test of a testbench in an existing folder of the caller.

    With `waves` the run writes `waveform()`, with `events` the file EVENTS (runtime/trace), if the testbench
    `records_events`. `on_line` gets each line of the log as it comes, and the task that the user sees. `variables` are
    added to the environment of the test. The status is "fail" if the test failed, ended early, or made no comparison;
    "reason" then says why. Raise BuildError and SourceError.
    """
    sizes = {} if bench.config is None else sizes_of(bench.top, bench.config)
    model = build_model(bench.top, {**sizes, **bench.parameters}, bench.sources, waves, assertions=bench.assertions)
    # To Verilator, seed 0 is the request to choose one.
    command = [str(model), f"+verilator+seed+{seed + 1}", "+verilator+rand+reset+2"]
    if waves:
        command += ["--trace", "--trace-file", waveform()]
    if events:
        command.append(f"+events={EVENTS}")
    environment = _environment(bench, seed, folder) | dict(variables or {})
    start = time.monotonic()
    with progress.task(f"simulating {bench.name}") as task:
        _run(command, environment, folder, lambda line: on_line and on_line(line, task))
    seconds = time.monotonic() - start
    reason = _failure(folder)
    entries = {"test": bench.name, "status": "fail" if reason else "pass", "seed": seed}
    if bench.expect_fail is not None:
        # The message is the only comparison.
        found = bool(reason) and bench.expect_fail in (folder / "log.txt").read_text()
        reason = None if found else f"did not fail with {bench.expect_fail!r}"
        entries["status"] = "pass" if found else "fail"
        summary.write_summary(folder / "summary.json", {"cycles": 0, "comparisons": 1, "mismatches": int(not found)})
    if reason:
        entries["reason"] = reason
    return summary.complete(folder / "summary.json", **entries, seconds=round(seconds, 2))


def waveform() -> str:
    """Return the name of the waveform of a run. A VCD file is many times as large as an FST file."""
    return "dump.fst" if verilator.writes_fst() else "dump.vcd"


def records_events(bench: SimulationTest) -> bool:
    """Return whether the top of a testbench has the recorder of events, which sees a whole accelerator."""
    return any(path.stem == _RECORDER for path in closure(bench.top))


def failure_lines(bench: SimulationTest, result: Mapping[str, object], config: Path | None = None) -> str:
    """Return why a run failed, and the command that repeats it exactly and shows its waveform where it failed.

    result: of `simulate`; config: the file of the configuration, unless it is the testbench's own
    """
    cycle = named_cycle(str(result["reason"]))
    words = [f"TEST={bench.name}", f"SEED={result['seed']}"]
    words += [f"CONFIG={shlex.quote(str(config))}"] if config else []
    words += [] if cycle is None else [f"AT={cycle}"]
    return f"{result['reason']}\nlook: make wave {' '.join(words)}"


def _environment(bench: SimulationTest, seed: int, folder: Path) -> dict[str, str]:
    """Return the variables that cocotb's start-up inside the model reads (cocotb's manual, "Building custom flows")."""
    import find_libpython  # of the development packages
    from cocotb_tools import config

    return os.environ | {
        "GPI_USERS": f"{find_libpython.find_libpython()};{config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": str(ROOT),
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_TOPLEVEL": bench.top,
        "COCOTB_TEST_MODULES": bench.module,
        "COCOTB_TEST_FILTER": rf"\.{bench.testcase}$",
        "COCOTB_RANDOM_SEED": str(bench.seed(seed)),
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",  # Verilator schedules writes as the standard asks
        "COCOTB_ANSI_OUTPUT": "0",
        "GPI_LOG_LEVEL": "WARNING",
        summary.VARIABLE: str(folder / "summary.json"),
        "EYRIE_ARGUMENTS": json.dumps(dict(bench.arguments)),
        "EYRIE_CONFIG": json.dumps(bench.config and bench.config.as_dict()),
        "EYRIE_CYCLES": str(bench.cycles),
    }


def _run(command: list[str], environment: dict[str, str], folder: Path, on_line: Callable[[str], None]) -> None:
    """Run the model in `folder` with its output in log.txt."""
    with (
        (folder / "log.txt").open("w") as log,
        process(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as model,
    ):
        assert model.stdout is not None
        for line in model.stdout:
            log.write(line)
            log.flush()
            on_line(line)
        model.wait()


def _failure(folder: Path) -> str | None:
    """Return why the finished run in `folder` did not pass, in one line, or None if it passed."""
    for line in (folder / "log.txt").read_text().splitlines():
        if "%Error" in line:  # an assertion of the design
            return line
    if not (folder / "results.xml").exists():
        return "the simulation ended before the test did"
    results = ElementTree.parse(folder / "results.xml")
    for failure in [*results.iter("failure"), *results.iter("error")]:
        message = failure.get("message", "").strip()
        return message.splitlines()[0] if message else "the test failed"
    if len(list(results.iter("testcase"))) != 1:
        return "the module has no test of that name, or several"
    if not (folder / "summary.json").exists():
        return "the test wrote no summary"
    counts = json.loads((folder / "summary.json").read_text())
    if counts["mismatches"]:
        return f"{counts['mismatches']} mismatches"
    return None if counts["comparisons"] else "the test made no comparison"
