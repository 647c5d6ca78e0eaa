# SPDX-License-Identifier: Apache-2.0
"""Compile and run 26 MobileNets, and 12 networks from architecture search: a benchmark of the accelerator's speed.

    eyrie family [--networks A,B] [--rtl 0|1] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

They have random weights (eyrie/measure/networks). Each one is compiled for the default configuration in a process of
its own. It runs on the functional simulator and on the RTL (unless --rtl 0) with one random input, and tflite-micro
must have the same outputs. When the budget is used up, no further network begins. A network that was right is run again
only if a file that it depends on has changed. The command prints a table and leaves the networks, their logs and
summary.json in build/family (docs/reference/summary.md). The exit code is 1 if a network is wrong, rejected or failed,
or if a threshold is missed (eyrie/measure/thresholds.py).
"""

import argparse
import math
import time
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import whole_number
from eyrie.measure import thresholds
from eyrie.measure.campaigns import engine
from eyrie.measure.trials import NOT_OK, ON_RTL, Trial, head, row, summarised, with_ratios
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.measure.networks.mobilenets import Mobilenet
    from eyrie.measure.networks.searched import Searched

COLUMNS = (
    ("cycles", 11, "cycles", "{:,}"),
    ("predicted", 11, "predicted_cycles", "{:,}"),
    ("error", 7, "prediction_error", "{:+.2%}"),
    ("roofline", 11, "roofline_cycles", "{:,}"),
    ("cycles/", 7, "cycles_over_roofline", "{:.3f}"),
    ("DRAM/", 6, "dram_over_compulsory", "{:.3f}"),
    ("compiled", 9, "compile_cpu_s", "{:.1f} s"),
    ("memory", 9, "compile_peak_mib", "{:,.0f} MiB"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--networks", default="", metavar="A,B", help="by name, as in mobilenet_v1_0.25_96 (all)")
    parser.add_argument("--rtl", type=whole_number(0, 1), default=1, help="0: on the functional simulator only (1)")
    engine.add_arguments(parser)


def chosen(text: str) -> "list[Mobilenet | Searched]":
    """Return the networks that a list of names, separated by commas, selects; all for an empty list. Raise
    InputError."""
    from eyrie.measure.networks.searched import NETWORKS

    by_name = {network.name: network for network in NETWORKS}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in by_name:
            raise InputError(unknown("network", name, by_name))
    return [network for name, network in by_name.items() if not names or name in names]


def run(options: argparse.Namespace) -> int:
    from eyrie.measure.networks.mobilenets import FAMILY
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    networks, began = chosen(options.networks), time.monotonic()
    width = max(len(network.name) for network in networks)
    print(head("network", width, COLUMNS))
    with replacing(BUILD / "family") as folder:
        tasks = []
        for network in networks:
            file, contents = f"{network.name}.tflite", network.model()
            (folder / file).write_bytes(contents)
            trial = Trial(network.name, (file, contents), rtl_macs=ON_RTL if options.rtl else 0, failing=NOT_OK)
            tasks.append(trial.task(f"eyrie family --networks {network.name} --rtl {options.rtl}"))
        found = engine.Campaign.of("family", options).run(
            tasks, folder, lambda entry: print(row(with_ratios(entry), width, COLUMNS), flush=True)
        )
        entries = [with_ratios(entry) for entry in found if entry]
        left = [task.name for task, entry in zip(tasks, found) if not entry]
        summary = summarised("family", entries, time.monotonic() - began) | {"left": left}
        summary |= metrics(entries, {network.name for network in FAMILY})
        results = thresholds.judged(summary, unknown_metrics(summary), thresholds.FAMILY_BARS)
        missed = [bar for bar, value in results if value is None or not bar.met(value)]
        if missed or any(entry["status"] != "ok" for entry in entries):
            summary["status"] = "fail"
        write_summary(folder / "summary.json", summary | {"bars": thresholds.entries(results)})
    for bar, value in results:
        print(bar.line(value))
    if left:
        print(engine.left_line(left))
    print(f"{summary['status']}: {len(entries)} of {len(tasks)} networks")
    return 0 if summary["status"] == "pass" else 1


def metrics(entries: list[dict], mobilenets: set[str]) -> dict:
    """Return the metrics of all right networks together, None where no network is right; the mean only if all
    MobileNets are right."""
    right = [entry for entry in entries if entry["status"] == "ok"]
    ratios = [entry["cycles_over_roofline"] for entry in right if entry["file"] in mobilenets]
    others = [entry["cycles_over_roofline"] for entry in right if entry["file"] not in mobilenets]
    errors = [abs(entry["prediction_error"]) for entry in right if entry["prediction_error"] is not None]
    mean = math.exp(sum(map(math.log, ratios)) / len(mobilenets)) if len(ratios) == len(mobilenets) else None
    return {
        "geometric_mean": mean and round(mean, 4),
        "most_over_roofline": max(ratios, default=None),
        "searched_over_roofline": max(others, default=None),
        "worst_prediction_error": max(errors, default=None),
    }


def unknown_metrics(summary: dict) -> set[str]:
    """The bars' keys that have no value: of what did not run."""
    return {bar.key for bar in thresholds.FAMILY_BARS if summary[bar.key] is None}
