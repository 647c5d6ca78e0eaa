# SPDX-License-Identifier: Apache-2.0
"""Run all tests with new seeds, also the tests that `make test` leaves out, within a budget of minutes.

    eyrie regress [--seeds N] [--seed N] [--scale F] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

Each seed is one run of the whole suite in an order of its own, in parts that run side by side. When the budget is used
up, no further test begins. The folder build/regress gets summary.json and the log of each part.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

from eyrie.compiler.command_line import whole_number
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task

PARTS = 8  # of a run of the suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    engine.add_seed_arguments(parser, "runs")
    parser.add_argument(
        "--scale", type=whole_number(1), default=1, metavar="F", help="random cases, as a multiple of the usual (1)"
    )
    engine.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime.folders import BUILD, checkout, replacing
    from eyrie.runtime.simulator.summary import write_summary

    checkout("the tests")
    start, campaign = time.time(), engine.Campaign.of("regress", options)
    seeds = engine.seeds(options)
    tasks = [
        Task(
            f"seed {seed}, part {part} of {PARTS}",
            tests,
            {"seed": seed, "part": part, "scale": options.scale, "end": campaign.end},
            f"EYRIE_SEED={seed} EYRIE_SCALE={options.scale} EYRIE_PART={part}/{PARTS} EYRIE_DEADLINE=inf "
            ".venv/bin/python -m pytest -m ''",
        )
        for seed in seeds
        for part in range(PARTS)
    ]
    with replacing(BUILD / "regress") as folder:
        found = campaign.run(tasks, folder, tell)
        skipped = [task.name for task, entry in zip(tasks, found) if not entry]
        runs = [summed(seed, [entry for entry in found if entry and entry["seed"] == seed]) for seed in seeds]
        totals = {key: sum(run[key] for run in runs) for key in ("passed", "failed", "left")}
        status = "fail" if totals["failed"] or not totals["passed"] else "pass"
        summary = {
            "test": "regress",
            "status": status,
            "seconds": round(time.time() - start, 2),
            **totals,
            "skipped": skipped,
            "runs": runs,
        }
        write_summary(folder / "summary.json", summary)
    counts = f"{totals['passed']} passed, {totals['failed']} failed, {totals['left']} left by the budget"
    if skipped:
        print(f"the budget is used up, not begun: {'; '.join(skipped)}")
    print(f"{status}  regress: {counts}: {BUILD / 'regress'}")
    return 0 if status == "pass" else 1


def tell(entry: dict) -> None:
    for line in entry["failures"]:
        print(line, flush=True)


def summed(seed: int, parts: list[dict]) -> dict[str, int]:
    """Return the counts of the tests with a seed."""
    return {"seed": seed} | {key: sum(part[key] for part in parts) for key in ("passed", "failed", "left")}


def tests(folder: Path, seed: int, part: int, scale: int, end: float) -> Result:
    """Run a part of the suite with a seed; the entry has the number of tests by their result."""
    from eyrie.runtime.folders import checkout
    from eyrie.runtime.simulator.processes import process

    results, log = folder / "results.xml", folder / "log.txt"
    command = [sys.executable, "-m", "pytest", "-m", "", "-q", f"--junitxml={results}"]
    variables = {
        "EYRIE_SEED": str(seed),
        "EYRIE_SCALE": str(scale),
        "EYRIE_DEADLINE": str(end),
        "EYRIE_PART": f"{part}/{PARTS}",
    }
    with (
        log.open("w") as file,
        process(command, checkout("the tests"), os.environ | variables, stdout=file, stderr=file) as child,
    ):
        code = child.wait()
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    left = 0
    if results.exists():
        suite = ElementTree.parse(results).getroot().find("testsuite")
        if suite is not None:
            counts = {key: int(suite.get(key, "0")) for key in counts}
            left = sum("budget" in (skip.get("message") or "") for skip in suite.iter("skipped"))
    failed = (counts["failures"] + counts["errors"]) or int(code != 0)
    lines = log.read_text().splitlines() if failed else []
    entry = {
        "seed": seed,
        "passed": counts["tests"] - counts["failures"] - counts["errors"] - counts["skipped"],
        "failed": failed,
        "left": left,
        "failures": [line for line in lines if line.startswith(("FAILED", "ERROR", "EYRIE_SEED"))],
    }
    return Result(entry, {"log.txt": log.read_bytes()}, f"{failed} tests failed" if failed else None)
