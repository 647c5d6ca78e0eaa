# SPDX-License-Identifier: Apache-2.0
"""A model compiled, run and compared in a process of its own (zoo_model.py), and the tables of such trials."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from eyrie.measure.campaigns.task import Result, Task

INPUTS = 5
ON_RTL = 1 << 62  # rtl_macs of a trial that always runs on the RTL
MINUTES = 60
GRACE_S = 20  # to clean up in
PROGRAM = (sys.executable, "-m", "eyrie.measure.zoo_model")
BAD = ("wrong", "failed", "unchecked")
NOT_OK = (*BAD, "rejected")  # of models that have to run
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
    model     the file's name and contents
    config    accelerator parameters that differ from the default configuration's
    rtl_macs  MACs up to which it runs on the RTL too
    inputs    number of random inputs by the seed; or `input` has them, a file of NumPy (runtime.inputs.read_inputs)
    minutes   after which the process is ended
    as_c      whether it runs as portable C too
    failing   statuses that are failures
    """

    name: str
    model: tuple[str, bytes]
    config: dict[str, int] = field(default_factory=dict)
    rtl_macs: int = 0
    inputs: int = 1
    seed: int = 1
    input: bytes | None = None
    minutes: float = MINUTES
    as_c: bool = False
    failing: tuple[str, ...] = BAD

    def task(self, again: str) -> Task:
        """Return the trial as a task; `again` is a command line that does it alone."""
        return Task(self.name, tried, vars(self), again)


def tried(
    folder: Path,
    name: str,
    model: tuple[str, bytes],
    config: dict[str, int],
    rtl_macs: int,
    inputs: int,
    seed: int,
    input: bytes | None,
    minutes: float,
    as_c: bool,
    failing: tuple[str, ...],
) -> Result:
    """Run a trial in a process of its own, and return its entry, even if the process fails. Arguments: Trial."""
    command = [*PROGRAM, f"--inputs={inputs}", f"--seed={seed}", f"--rtl-macs={rtl_macs}", *(["--c"] if as_c else [])]
    (folder / "config.json").write_text(json.dumps(config))
    command.append(f"--config={folder / 'config.json'}")
    if input is not None:
        (folder / "input.npy").write_bytes(input)
        command.append(f"--input={folder / 'input.npy'}")
    (folder / "model").mkdir()
    path = folder / "model" / model[0]
    path.write_bytes(model[1])
    reason = _run([*command, "--", str(path), str(folder)], folder / "log.txt", minutes)
    entry = Entry(name, status="failed", reason=reason).as_dict()
    if not reason:
        entry = json.loads((folder / "result.json").read_text()) | {"file": name}
    files = {"log.txt": (folder / "log.txt").read_bytes()}
    return Result(entry, files, entry["reason"] or entry["status"] if entry["status"] in failing else None)


def _run(command: list[str], log: Path, minutes: float) -> str:
    """Run the command; return the reason of a failure, or an empty text."""
    from eyrie.runtime.folders import ROOT
    from eyrie.runtime.simulator.processes import process

    with (
        log.open("wb") as file,
        process(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT) as child,
    ):
        try:
            code = child.wait(60 * minutes)
        except subprocess.TimeoutExpired:
            return f"ended after {minutes:g} minutes"
        finally:
            if child.poll() is None:  # a signal lets it end its own processes
                child.terminate()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE_S)
    return f"its process ended with {ending(code)}, its log says why" if code else ""


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


def summarised(test: str, entries: list[dict], seconds: float) -> dict:
    """Return the entries of summary.json that all campaigns have. A campaign without entries fails."""
    status = "fail" if not entries or any(entry["status"] in BAD for entry in entries) else "pass"
    return {
        "test": test,
        "status": status,
        "seconds": round(seconds, 2),
        "cycles": sum(entry["cycles"] or 0 for entry in entries if entry["on_rtl"]),
        "comparisons": sum(entry["outputs"] for entry in entries),
        "mismatches": sum(entry["differences"] for entry in entries),
        "models": entries,
    }
