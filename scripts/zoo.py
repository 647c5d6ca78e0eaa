# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs every model of a folder, and compares each with the reference.

    eyrie zoo MODELS [--rtl-macs N] [--config FILE] [--inputs N] [--minutes N] [--seed N]

Every .tflite file in the folder MODELS and below it, each in a process of its own, on the command-level model and, up
to so many multiplications, on the RTL, with drawn inputs. Goes on whatever happens to one. Prints a table and leaves
build/zoo: summary.json (docs/summary.md), and the log of each model. The exit code is 1 if one is wrong, failed or
unchecked.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from compiler.command_line import file_name, minutes, whole_number
from scripts.eyrie import main

RTL_MACS = 1_000_000
INPUTS = 5
MINUTES = 60
GRACE_S = 20  # to clean up in
BAD = ("wrong", "failed", "unchecked")
# Of the table: title, key, and how its values are written; None is left empty.
COLUMNS = (
    ("MACs", 13, "macs", "{:,}"), ("cycles", 12, "cycles", "{:,}"), ("roofline", 12, "roofline_cycles", "{:,}"),
    ("DRAM bytes", 12, "dram_bytes", "{:,}"), ("compulsory", 12, "compulsory_dram_bytes", "{:,}"),
    ("host", 7, "host_share", "{:.1%}"), ("compiled", 9, "compile_s", "{:.1f} s"),
)


@dataclass
class Entry:
    """A model's result, by the keys of summary.json (docs/summary.md); None: not known."""

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
    roofline_cycles: int | None = None
    dram_bytes: int | None = None
    compulsory_dram_bytes: int | None = None
    host_share: float | None = None
    compile_s: float | None = None

    def as_dict(self) -> dict:
        return asdict(self)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="MODELS", type=file_name)
    parser.add_argument("--rtl-macs", type=whole_number(0), default=RTL_MACS, metavar="N",
                        help=f"multiplications up to which a model runs on the RTL too ({RTL_MACS:,})")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON with machine parameters")
    parser.add_argument("--inputs", type=whole_number(1), default=INPUTS, metavar="N",
                        help=f"inputs drawn for each model ({INPUTS})")
    parser.add_argument("--minutes", type=minutes, default=MINUTES, metavar="N",
                        help=f"after which a model's process is ended ({MINUTES})")
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1, help="of the inputs (1)")


def run(options: argparse.Namespace) -> int:
    from model.config import MachineConfig
    from runtime.folders import BUILD, replacing
    from runtime.simulator.summary import write_summary

    models = models_of(options.directory)
    if options.config:
        MachineConfig.load(options.config)
    began, width = time.monotonic(), max(len(name_of(path, options.directory)) for path in models)
    print(f"{'model':{width}}  status    on    " + " ".join(f"{title:>{wide}}" for title, wide, *_ in COLUMNS))
    with replacing(BUILD / "zoo") as folder:
        entries = []
        for number, path in enumerate(models):
            entries.append(tried(path, folder / f"{number}-{path.stem}", options))
            print(row(entries[-1], width), flush=True)
        summary = summarised(entries, options.seed, time.monotonic() - began)
        write_summary(folder / "summary.json", summary)
    counts = Counter(entry["status"] for entry in entries)
    print(f"{len(entries)} models: {', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}")
    return 0 if summary["status"] == "pass" else 1


def models_of(directory: Path) -> list[Path]:
    """The models in a folder and below it, by name. Raises ValueError, in one line."""
    if not directory.is_dir():
        raise ValueError(f"{directory}: no folder: give one with .tflite models")
    found = sorted(path for path in directory.rglob("*") if path.suffix.lower() == ".tflite" and not path.is_dir())
    if not found:
        raise ValueError(f"{directory}: has no .tflite file: give a folder with models")
    return found


def name_of(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory))


def command(path: Path, folder: Path, options: argparse.Namespace) -> list[str]:
    """What tries one model and leaves result.json in the folder."""
    words = [sys.executable, "-m", "scripts.zoo_model", f"--inputs={options.inputs}", f"--seed={options.seed}",
             f"--rtl-macs={options.rtl_macs}"]
    if options.config:
        words.append(f"--config={options.config.absolute()}")
    return [*words, "--", str(path.absolute()), str(folder)]


def tried(path: Path, folder: Path, options: argparse.Namespace) -> dict:
    """The entry of a model, whatever its process does."""
    from runtime import progress
    from runtime.folders import ROOT
    from runtime.simulator.processes import process

    folder.mkdir()
    name, reason = name_of(path, options.directory), ""
    with (progress.task(f"running {path.name}"), (folder / "log.txt").open("wb") as log,
          process(command(path, folder, options), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                  stderr=subprocess.STDOUT) as child):
        try:
            child.wait(60 * options.minutes)
        except subprocess.TimeoutExpired:
            reason = f"ended after {options.minutes:g} minutes"
        finally:
            if child.poll() is None:  # by itself it ends what it has started
                child.terminate()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE_S)
    if not reason:
        try:
            return json.loads((folder / "result.json").read_text()) | {"file": name}
        except (OSError, ValueError):
            reason = f"its process ended with {ending(child.returncode)}, its log says why"
    return Entry(name, status="failed", reason=reason).as_dict()


def ending(code: int) -> str:
    """Of a process, by what subprocess returns."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def row(entry: dict, width: int) -> str:
    """A line of the table."""
    from model.messages import one_line

    cells = " ".join(f"{'' if entry[key] is None else form.format(entry[key]):>{wide}}"
                     for _, wide, key, form in COLUMNS)
    on = "" if entry["outputs"] == 0 else "RTL" if entry["on_rtl"] else "model"
    return one_line(f"{entry['file']:{width}}  {entry['status']:9} {on:5} {cells}  {entry['reason']}".rstrip())


def summarised(entries: list[dict], seed: int, seconds: float) -> dict:
    """The entries of summary.json."""
    status = "fail" if any(entry["status"] in BAD for entry in entries) else "pass"
    return {"test": "zoo", "status": status, "seed": seed, "seconds": round(seconds, 2),
            "cycles": sum(entry["cycles"] or 0 for entry in entries if entry["on_rtl"]),
            "comparisons": sum(entry["outputs"] for entry in entries),
            "mismatches": sum(entry["differences"] for entry in entries), "models": entries}


if __name__ == "__main__":
    sys.exit(main(["zoo", *sys.argv[1:]]))
