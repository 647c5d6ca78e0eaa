# SPDX-License-Identifier: Apache-2.0
"""A model compiled, run and compared in a process of its own (zoo_model.py), and the tables of such trials."""

import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

INPUTS = 5
ON_RTL = 1 << 62  # rtl_macs of a trial that always runs on the RTL
MINUTES = 60
GRACE_S = 20  # to clean up in
POLL_S = 0.5
BAD = ("wrong", "failed", "unchecked")
# Columns of a table: title, width, key, and format of the values; None gives an empty cell.
Columns = tuple[tuple[str, int, str, str], ...]


@dataclass
class Entry:
    """A model's result, by the keys of summary.json (docs/reference/summary.md); None: not known."""

    file: str
    status: str = "failed"
    reason: str = ""
    outputs: int = 0
    differences: int = 0
    reference: str | None = None
    on_rtl: bool = False
    macs: int | None = None
    multipliers: int | None = None
    cycles: int | None = None
    predicted_cycles: int | None = None
    roofline_cycles: int | None = None
    dram_bytes: int | None = None
    compulsory_dram_bytes: int | None = None
    host_share: float | None = None
    compile_s: float | None = None
    compile_cpu_s: float | None = None
    compile_peak_bytes: int | None = None
    c_arena_bytes: int | None = None
    energy_uJ: float | None = None

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Trial:
    """A trial of a model.

    name      in tables
    config    JSON file with accelerator parameters; None: the default configuration
    rtl_macs  MACs up to which it runs on the RTL too
    inputs    number of random inputs by the seed; or the file `input` has them (runtime.inputs.read_inputs)
    minutes   after which the process is ended
    as_c      whether it runs as portable C too
    """

    name: str
    model: Path
    config: Path | None = None
    rtl_macs: int = 0
    inputs: int = 1
    seed: int = 1
    input: Path | None = None
    minutes: float = MINUTES
    as_c: bool = False


def command(trial: Trial, folder: Path) -> list[str]:
    """Return the command line that tries a model and leaves result.json in the folder."""
    words = [
        sys.executable,
        "-m",
        "eyrie.measure.zoo_model",
        f"--inputs={trial.inputs}",
        f"--seed={trial.seed}",
        f"--rtl-macs={trial.rtl_macs}",
        *(["--c"] if trial.as_c else []),
    ]
    for option, path in (("config", trial.config), ("input", trial.input)):
        if path:
            words.append(f"--{option}={path.absolute()}")
    return [*words, "--", str(trial.model.absolute()), str(folder)]


def tried(trial: Trial, folder: Path, stop: threading.Event | None = None) -> dict:
    """Return the entry of a trial, even if its process fails.

    The folder is created and gets the log. `stop` ends the process early.
    """
    from eyrie.runtime import progress
    from eyrie.runtime.folders import ROOT
    from eyrie.runtime.simulator.processes import process

    folder.mkdir()
    reason = ""
    with (
        progress.task(f"running {trial.name}"),
        (folder / "log.txt").open("wb") as log,
        process(
            command(trial, folder), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        ) as child,
    ):
        try:
            if not _ended(child, 60 * trial.minutes, stop or threading.Event()):
                reason = f"ended after {trial.minutes:g} minutes"
        finally:
            if child.poll() is None:  # a signal lets it end its own processes
                child.terminate()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE_S)
    if not reason:
        try:
            return json.loads((folder / "result.json").read_text()) | {"file": trial.name}
        except (OSError, ValueError):
            reason = f"its process ended with {ending(child.returncode)}, its log says why"
    return Entry(trial.name, status="failed", reason=reason).as_dict()


def _ended(child: subprocess.Popen, seconds: float, stop: threading.Event) -> bool:
    """Wait for the process; return whether it ended in time."""
    end = time.monotonic() + seconds
    while not stop.is_set() and (left := end - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            child.wait(min(POLL_S, left))
            return True
    return False


def ending(code: int) -> str:
    """Return the text about the end of a process, by its return code in subprocess."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def head(title: str, width: int, columns: Columns) -> str:
    """Return the first line of a table; `width` is the width of the names."""
    return f"{title:{width}}  status    on    " + " ".join(f"{name:>{wide}}" for name, wide, *_ in columns)


def row(entry: dict, width: int, columns: Columns) -> str:
    """Return a line of a table."""
    from eyrie.model.messages import one_line

    cells = " ".join(
        f"{'' if entry[key] is None else form.format(entry[key]):>{wide}}" for _, wide, key, form in columns
    )
    on = "" if entry["outputs"] == 0 else "RTL" if entry["on_rtl"] else "model"
    return one_line(f"{entry['file']:{width}}  {entry['status']:9} {on:5} {cells}  {entry['reason']}".rstrip())


def summarised(test: str, entries: list[dict], seconds: float) -> dict:
    """Return the entries of summary.json that all campaigns have."""
    status = "fail" if any(entry["status"] in BAD for entry in entries) else "pass"
    return {
        "test": test,
        "status": status,
        "seconds": round(seconds, 2),
        "cycles": sum(entry["cycles"] or 0 for entry in entries if entry["on_rtl"]),
        "comparisons": sum(entry["outputs"] for entry in entries),
        "mismatches": sum(entry["differences"] for entry in entries),
        "models": entries,
    }
