# SPDX-License-Identifier: Apache-2.0
"""Run all tests with fresh seeds, also the tests that `make test` leaves out, within a budget of minutes.

    eyrie regress [--seeds N] [--budget MINUTES] [--jobs N] [--scale F]

Each seed is one run of the whole suite in an order of its own. When the budget is used up, no further test begins. The
folder build/regress gets summary.json and the log of each seed.
"""

import argparse
import os
import secrets
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

from eyrie.compiler.command_line import minutes, whole_number

SEED_LIMIT = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seeds", type=whole_number(1), default=1, metavar="N", help="runs, each with a fresh seed (1)"
    )
    parser.add_argument(
        "--budget", type=minutes, default=60, metavar="MINUTES", help="minutes after which no test begins (60)"
    )
    parser.add_argument("--jobs", type=whole_number(1), default=2, metavar="N", help="tests at a time (2)")
    parser.add_argument(
        "--scale", type=whole_number(1), default=1, metavar="F", help="random cases, as a multiple of the usual (1)"
    )


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.folders import BUILD, checkout, replacing
    from eyrie.runtime.simulator.summary import write_summary

    root, start = checkout("the tests"), time.time()
    end = start + 60 * options.budget
    runs: list[dict[str, int]] = []
    with replacing(BUILD / "regress") as folder:
        for _ in range(options.seeds):
            if runs and time.time() > end:
                break
            runs.append(_run(root, folder, secrets.randbelow(SEED_LIMIT), end, options))
        totals = {key: sum(run[key] for run in runs) for key in ("passed", "failed", "left")}
        status = "fail" if totals["failed"] or not totals["passed"] else "pass"
        summary = {
            "test": "regress",
            "status": status,
            "seconds": round(time.time() - start, 2),
            **totals,
            "runs": runs,
        }
        write_summary(folder / "summary.json", summary)
    counts = f"{totals['passed']} passed, {totals['failed']} failed, {totals['left']} left by the budget"
    print(f"{status}  regress: {counts}: {BUILD / 'regress'}")
    return 0 if status == "pass" else 1


def _run(root: Path, folder: Path, seed: int, end: float, options: argparse.Namespace) -> dict[str, int]:
    """Run the suite with a seed; return what became of its tests."""
    from eyrie.runtime.simulator.processes import process

    results, log = folder / f"{seed}.xml", folder / f"{seed}.txt"
    command = [sys.executable, "-m", "pytest", "-m", "", "-q", f"--junitxml={results}", "-n", str(options.jobs)]
    variables = {"EYRIE_SEED": str(seed), "EYRIE_SCALE": str(options.scale), "EYRIE_DEADLINE": str(end)}
    print(f"seed {seed}", flush=True)
    with log.open("w") as file, process(command, root, os.environ | variables, stdout=file, stderr=file) as tests:
        code = tests.wait()
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    left = 0
    if results.exists():
        suite = ElementTree.parse(results).getroot().find("testsuite")
        if suite is not None:
            counts = {key: int(suite.get(key, "0")) for key in counts}
            left = sum("budget" in (skip.get("message") or "") for skip in suite.iter("skipped"))
    failed = counts["failures"] + counts["errors"]
    if failed or not results.exists():
        failures = [line for line in log.read_text().splitlines() if line.startswith(("FAILED", "ERROR", "EYRIE_SEED"))]
        print(*failures, sep="\n", flush=True)
    passed = counts["tests"] - failed - counts["skipped"]
    return {"seed": seed, "passed": passed, "failed": failed or int(code != 0), "left": left}
