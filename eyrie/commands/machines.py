# SPDX-License-Identifier: Apache-2.0
"""Generate random configurations: legal ones must pass the tests, illegal ones must be rejected.

    eyrie machines [--seed N] [--count N] [--budget MINUTES] [--jobs N] [--pes N]

The configurations cover the table of legal sizes and go beyond its edges. AcceleratorConfig and Verilator's elaboration
of the whole accelerator must agree whether a configuration is legal. On a legal one the testbench pass6 runs all kinds
of passes and compares them with the model. When the budget is used up, no further configuration begins. The folder
build/machines gets summary.json (docs/reference/summary.md) and the log of each legal configuration.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from eyrie.compiler.command_line import minutes, whole_number
from eyrie.model.errors import InputError

BENCH = "pass6"
MOST_PES = 240


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1, help="seed of the configurations (1)")
    parser.add_argument("--count", type=whole_number(1), default=40, metavar="N", help="number of configurations (40)")
    parser.add_argument(
        "--budget", type=minutes, default=60, metavar="MINUTES", help="minutes after which no configuration begins (60)"
    )
    parser.add_argument("--jobs", type=whole_number(1), default=2, metavar="N", help="configurations at a time (2)")
    parser.add_argument(
        "--pes",
        type=whole_number(6),
        default=MOST_PES,
        metavar="N",
        help="largest number of PEs of a legal configuration (240)",
    )


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.folders import BUILD, checkout, replacing
    from eyrie.runtime.simulator.summary import write_summary
    from eyrie.testing.configurations import random_configs

    checkout("the testbenches")
    end = time.monotonic() + 60 * options.budget
    drawn = random_configs(options.seed, options.count, options.pes)
    with replacing(BUILD / "machines") as folder, ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(partial(trial, folder, options.seed, end), range(len(drawn)), drawn))
        summary = summarised(results, options.seed)
        write_summary(folder / "summary.json", summary)
    print(conclusion(summary))
    return 0 if summary["status"] == "pass" else 1


def conclusion(summary: dict) -> str:
    """Return the line that ends the campaign."""
    return (
        f"{summary['status']}: {summary['legal']} of {summary['configs']} configurations are legal, on "
        f"{summary['works']} of these all passes are right; {summary['rejected']} rejected, "
        f"{len(summary['skipped'])} skipped"
    )


def trial(folder: Path, seed: int, end: float, number: int, sizes: dict[str, int]) -> dict:
    """Return the verdict of both sides on a configuration, and of the testbench on a legal one; print a line."""
    found: dict = {"number": number, "config": sizes}
    if time.monotonic() > end:
        found["verdict"] = "skipped"
    else:
        found |= judged(folder, seed, number, sizes)
    said = " ".join(f"{name}={value}" for name, value in sizes.items())
    print(f"{number:3} {found['verdict']:8} {said}{': ' * ('reason' in found)}{found.get('reason', '')}", flush=True)
    return found


def judged(folder: Path, seed: int, number: int, sizes: dict[str, int]) -> dict:
    """verdict: "works", "rejected", or "wrong", with the reason."""
    from eyrie.model.config import AcceleratorConfig
    from eyrie.runtime.simulator.simulate import simulate_in
    from eyrie.testing.catalogue import find
    from eyrie.testing.configurations import disagreement, model_rejection

    if wrong := disagreement(sizes, "eyrie"):
        return {"verdict": "wrong", "reason": wrong}
    if reason := model_rejection(sizes):
        return {"verdict": "rejected", "reason": reason}
    own = folder / str(number)
    own.mkdir()
    try:
        result = simulate_in(own, find(BENCH).on(AcceleratorConfig(**sizes)), seed)
    except InputError as error:  # of a build
        return {"verdict": "wrong", "reason": str(error)}
    counts = {name: result[name] for name in ("cycles", "comparisons", "mismatches", "seconds")}
    if result["status"] != "pass":
        return {"verdict": "wrong", "reason": result["reason"], **counts}
    return {"verdict": "works", **counts}


def summarised(results: list[dict], seed: int) -> dict:
    """The entries of summary.json."""
    numbers = {
        verdict: [found["number"] for found in results if found["verdict"] == verdict]
        for verdict in ("works", "rejected", "wrong", "skipped")
    }
    ran = [found for found in results if found["verdict"] == "works"]
    status = "pass" if ran and not numbers["wrong"] else "fail"
    return {
        "test": "machines",
        "status": status,
        "seed": seed,
        "configs": len(results),
        "legal": len([found for found in results if found["verdict"] == "works" or "comparisons" in found]),
        "works": len(ran),
        "rejected": len(numbers["rejected"]),
        "wrong": numbers["wrong"],
        "skipped": numbers["skipped"],
        "cycles": sum(found["cycles"] for found in ran),
        "comparisons": sum(found["comparisons"] for found in ran),
        "values": {name: sorted({found["config"][name] for found in ran}) for name in results[0]["config"]},
        "results": results,
    }
