# SPDX-License-Identifier: Apache-2.0
"""Run simulation tests by name.

    eyrie sim TEST ... [--seed N] [--config FILE] [--waves]

A run leaves log.txt, summary.json and, with --waves, dump.vcd in build/TEST.
"""

import argparse
import random
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name, whole_number

if TYPE_CHECKING:
    from eyrie.runtime.simulator.simulation_test import SimulationTest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tests", nargs="+", metavar="TEST", help="test name (eyrie list)")
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), help="seed (random, and printed)")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")
    parser.add_argument("--waves", action="store_true", help="write build/TEST/dump.vcd")


def run(options: argparse.Namespace) -> int:
    from eyrie.testing.catalogue import find

    wanted = [find(name) for name in options.tests]
    if options.config:
        from eyrie.model.config import AcceleratorConfig

        config = AcceleratorConfig.load(options.config)
        wanted = [bench.on(config) for bench in wanted]
    from eyrie.runtime import progress
    from eyrie.runtime.folders import BUILD
    from eyrie.runtime.simulator.simulate import SEED_LIMIT, WAVEFORM, simulate

    passed = True
    for bench in wanted:
        seed = random.randrange(SEED_LIMIT) if options.seed is None else options.seed
        if not options.quiet:
            print(f"{bench.name}: seed {seed}", flush=True)
            progress.show(moving=False)  # the log is printed beside it
        show = None if options.quiet else lambda line, task: print(line, end="", flush=True)
        result = simulate(bench, seed, options.waves, on_line=show)
        _report(bench, result, options.config)
        if options.waves:
            print(f"waveform: {BUILD / bench.name / WAVEFORM}")
        passed &= result["status"] == "pass"
    return 0 if passed else 1


def _report(bench: "SimulationTest", result: dict, config: Path | None) -> None:
    """One line for a run, and if it failed two more: why, and what repeats it."""
    from eyrie.runtime.simulator.simulate import rerun_line

    speed = result["cycles"] / max(result["seconds"], 0.01) / 1000
    print(
        f"{result['status']}  {bench.name:12} seed {result['seed']}, {result['cycles']} cycles, "
        f"{result['comparisons']} comparisons, {result['mismatches']} mismatches, "
        f"{result['seconds']:.1f} s, {speed:.0f} kcycles/s"
    )
    if result["status"] != "pass":
        print(f"{result['reason']}\nagain, with waves: {rerun_line(bench, result['seed'], config)}")
