# SPDX-License-Identifier: Apache-2.0
"""Trials within a budget, whose results are kept: a campaign that ran out of time goes on when it is run again.

A right result is kept in build/results, by a digest of all that it depends on, and is taken from there as long as none
of it has changed.
"""

import argparse
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.command_line import minutes, whole_number
from eyrie.measure.trials import Trial, tried

# What a result depends on beside the trial itself.
SOURCES = (
    "rtl/**/*.sv*",
    "runtime/**/*.sv",
    "runtime/**/*.c",
    "runtime/**/*.cpp",
    "runtime/**/*.h",
    "runtime/**/*.py",
    "testing/references.py",
    "measure/trials.py",
    "measure/zoo_model.py",
)
KEPT = ("ok", "rejected")  # a failure may have had other causes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What all campaigns take."""
    parser.add_argument("--rtl", type=whole_number(0, 1), default=1, help="0: on the functional simulator only (1)")
    parser.add_argument("--budget", type=minutes, default=60, metavar="MINUTES", help="after which none begins (60)")
    parser.add_argument("--jobs", type=whole_number(1), default=2, metavar="N", help="trials at a time (2)")


def sources_digest() -> bytes:
    """Of all files that decide on results."""
    from eyrie.runtime.digests import COMPILER, digest_of

    return digest_of(*SOURCES, *COMPILER)


def key(trial: Trial, sources: bytes) -> str:
    """Of what decides on a trial's result; sources: sources_digest."""
    parts = [sources, sys.version.encode(), repr((trial.rtl_macs, trial.inputs, trial.seed)).encode()]
    for path in (trial.model, trial.config, trial.input):
        parts.append(hashlib.sha256(path.read_bytes()).digest() if path else b"-")
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@dataclass(frozen=True)
class Campaign:
    """folder: gets a folder with the log of each trial that runs; end: time.monotonic() after which none begins; jobs:
    trials at a time."""

    folder: Path
    end: float
    jobs: int

    def run(self, trials: list[Trial], tell: Callable[[dict], None]) -> list[dict | None]:
        """The entries in order, None for trials that the budget leaves; tell: is called with each as it is done.
        Kept results are taken whatever the budget is."""
        sources, stop, speaking = sources_digest(), threading.Event(), threading.Lock()

        def result(trial: Trial) -> dict | None:
            entry = self._result(trial, sources, stop)
            if entry and not stop.is_set():
                with speaking:
                    tell(entry)
            return entry

        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                return list(pool.map(result, trials))
            finally:
                stop.set()  # after an interrupt nobody waits for what is under way

    def _result(self, trial: Trial, sources: bytes, stop: threading.Event) -> dict | None:
        from eyrie.compiler.files import whole_file
        from eyrie.runtime.folders import BUILD, shortened

        kept = BUILD / "results" / f"{shortened(trial.model.stem)}-{key(trial, sources)}.json"
        try:
            return json.loads(kept.read_text()) | {"file": trial.name}
        except (OSError, ValueError):
            pass
        if stop.is_set() or time.monotonic() > self.end:
            return None
        entry = tried(trial, self.folder / f"{shortened(trial.name)}-{'rtl' if trial.rtl_macs else 'model'}", stop)
        if entry["status"] in KEPT and sources_digest() == sources:  # nobody has changed them meanwhile
            kept.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(kept) as file:
                file.write(json.dumps(entry, indent=1).encode() + b"\n")
        return entry


def with_ratios(entry: dict) -> dict:
    """An entry with what its figures are compared by; None where one is not known."""
    return entry | {
        "cycles_over_roofline": _ratio(entry["cycles"], entry["roofline_cycles"], 4),
        "dram_over_compulsory": _ratio(entry["dram_bytes"], entry["compulsory_dram_bytes"], 4),
        "prediction_error": round(entry["predicted_cycles"] / entry["cycles"] - 1, 5) if entry["on_rtl"] else None,
        "compile_peak_mib": _ratio(entry["compile_peak_bytes"], 1 << 20, 1),
    }


def _ratio(value: int | None, of: int | None, digits: int) -> float | None:
    return round(value / of, digits) if value is not None and of else None


def left_line(left: list[str]) -> str:
    """What is said where the budget was used up."""
    return f"the budget is used up, {len(left)} left: {', '.join(left)}; run it again, and it goes on"
