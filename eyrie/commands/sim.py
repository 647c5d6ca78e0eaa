# SPDX-License-Identifier: Apache-2.0
"""Run simulation tests by name.

    eyrie sim TEST ... [--seed N] [--config FILE] [--trace]

A run leaves log.txt and summary.json in build/sim/TEST. With --trace, a test of the whole accelerator also leaves
trace.pftrace there: the events of its first run, for ui.perfetto.dev and eyrie trace (docs/howto/trace.md).
"""

import argparse
import random
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.options import MOST_SEED
from eyrie.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from eyrie.runtime.simulator.simulation_test import SimulationTest

_TRACE = "trace.pftrace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tests", nargs="+", metavar="TEST", help="test name (eyrie list)")
    add_run_arguments(parser)
    parser.add_argument("--trace", action="store_true", help=f"write build/sim/TEST/{_TRACE}")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), help="seed (random, and printed)")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.simulator.simulate import records_events

    wanted = [found(name, options.config) for name in options.tests]
    for bench in wanted if options.trace else []:
        if not records_events(bench):
            raise InputError(
                f"{bench.name}: its top module {bench.top} is not the whole accelerator, so that there is no trace: "
                "choose another test, such as net1, or leave --trace out"
            )
    passed = True
    for bench in wanted:
        result = simulated(bench, options, events=options.trace)
        passed &= result["status"] == "pass"
        if options.trace:
            print(f"trace: {_write_trace(bench)}")
    return 0 if passed else 1


def found(name: str, config: "Path | None") -> "SimulationTest":
    """Return a test by name, on a configuration file if one is given."""
    from eyrie.testing.catalogue import find

    if config is None:
        return find(name)
    from eyrie.model.config import AcceleratorConfig

    return find(name).on(AcceleratorConfig.load(config))


def simulated(
    bench: "SimulationTest",
    options: argparse.Namespace,
    target: "Path | None" = None,
    waves: bool = False,
    events: bool = False,
) -> dict:
    """Run a test and print its result; return its summary. The other arguments are as in `simulate`."""
    from eyrie.runtime import progress
    from eyrie.runtime.simulator.simulate import SEED_LIMIT, failure_lines, simulate

    seed = random.randrange(SEED_LIMIT) if options.seed is None else options.seed
    if not options.quiet:
        print(f"{bench.name}: seed {seed}", flush=True)
        progress.show(moving=False)  # the log is printed beside it
    show = None if options.quiet else lambda line, task: print(line, end="", flush=True)
    result: dict = simulate(bench, seed, waves, target, show, events)
    speed = result["cycles"] / max(result["seconds"], 0.01) / 1000
    print(
        f"{result['status']}  {bench.name:12} seed {result['seed']}, {result['cycles']} cycles, "
        f"{result['comparisons']} comparisons, {result['mismatches']} mismatches, "
        f"{result['seconds']:.1f} s, {speed:.0f} kcycles/s"
    )
    if result["status"] != "pass":
        print(failure_lines(bench, result, options.config))
    return result


def _write_trace(bench: "SimulationTest") -> "Path":
    """Write the events that a run has left as a trace; return its file."""
    from eyrie.runtime.folders import BUILD
    from eyrie.runtime.simulator.simulate import EVENTS
    from eyrie.runtime.trace.events import Events
    from eyrie.runtime.trace.file import write_trace
    from eyrie.runtime.trace.tracks import Recording

    folder = BUILD / "sim" / bench.name
    assert bench.config is not None  # the whole accelerator has one
    write_trace(folder / _TRACE, [Recording(Events.read(folder / EVENTS), bench.config)])
    (folder / EVENTS).unlink()
    return folder / _TRACE
