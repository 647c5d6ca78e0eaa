# SPDX-License-Identifier: Apache-2.0
"""A campaign: trials within a time budget with stored results. A campaign that ran out of time continues when it runs
again.

A right result is stored in build/results under a digest of everything that it depends on. It is reused as long as the
digest is the same.
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

# The files that a result depends on, besides the trial itself.
SOURCES = (
    "rtl/**/*.sv*",
    "runtime/**/*.sv",
    "runtime/**/*.c",
    "runtime/**/*.cpp",
    "runtime/**/*.h",
    "runtime/**/*.py",
    "model/**/*.py",
    "measure/trials.py",
    "measure/zoo_model.py",
)
KEPT = ("ok", "rejected")  # a failure may have had other causes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that all campaigns have."""
    parser.add_argument("--rtl", type=whole_number(0, 1), default=1, help="0: on the functional simulator only (1)")
    parser.add_argument(
        "--budget", type=minutes, default=60, metavar="MINUTES", help="time after which no trial begins (60)"
    )
    parser.add_argument("--jobs", type=whole_number(1), default=2, metavar="N", help="trials at a time (2)")


def sources_digest() -> bytes:
    """Return the digest of all files that results depend on."""
    from eyrie.runtime.digests import COMPILER, digest_of

    return digest_of(*SOURCES, *COMPILER)


def key(trial: Trial, sources: bytes) -> str:
    """Return the digest of everything that a trial's result depends on; `sources` is the result of sources_digest."""
    parts = [sources, sys.version.encode(), repr((trial.rtl_macs, trial.inputs, trial.seed)).encode()]
    for path in (trial.model, trial.config, trial.input):
        parts.append(hashlib.sha256(path.read_bytes()).digest() if path else b"-")
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@dataclass(frozen=True)
class Campaign:
    """A campaign.

    folder: gets a folder with the log of each trial that runs; end: time.monotonic() after which no trial begins; jobs:
    trials at a time.
    """

    folder: Path
    end: float
    jobs: int

    def run(self, trials: list[Trial], tell: Callable[[dict], None]) -> list[dict | None]:
        """Return the entries of the trials in order, None for trials that do not run within the budget.

        `tell` is called with each entry as soon as it is known. Stored results are used whatever the budget is.
        """
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
                stop.set()  # after an interrupt, running trials end at once

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
        if entry["status"] in KEPT and sources_digest() == sources:  # the files did not change meanwhile
            kept.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(kept) as file:
                file.write(json.dumps(entry, indent=1).encode() + b"\n")
        return entry


def with_ratios(entry: dict) -> dict:
    """Return an entry with the ratios that it is compared by; a ratio is None if one of its values is not known."""
    return entry | {
        "cycles_over_roofline": _ratio(entry["cycles"], entry["roofline_cycles"], 4),
        "dram_over_compulsory": _ratio(entry["dram_bytes"], entry["compulsory_dram_bytes"], 4),
        "prediction_error": round(entry["predicted_cycles"] / entry["cycles"] - 1, 5) if entry["on_rtl"] else None,
        "compile_peak_mib": _ratio(entry["compile_peak_bytes"], 1 << 20, 1),
    }


def _ratio(value: int | None, of: int | None, digits: int) -> float | None:
    return round(value / of, digits) if value is not None and of else None


def left_line(left: list[str]) -> str:
    """Return the line that reports a used-up budget."""
    return f"the budget is used up, {len(left)} left: {', '.join(left)}; run it again to continue"
