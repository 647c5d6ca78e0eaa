# SPDX-License-Identifier: Apache-2.0
"""Compile and run every model of a folder, and compare each with the reference.

    eyrie zoo MODELS [--rtl-macs N] [--c] [--config FILE] [--inputs N] [--minutes N] [--seed N]

Each .tflite and .onnx file in MODELS and its subfolders runs in a process of its own with random inputs: on the
functional simulator, on the RTL if it has at most --rtl-macs MACs, and with --c as portable C, built with warnings as
errors and with sanitizers. A failure of one model does not stop the others. The command prints a table and leaves
summary.json (docs/reference/summary.md) and the log of each model in build/zoo. The exit code is 1 if a model is wrong,
failed or unchecked.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

from eyrie.compiler.command_line import file_name, minutes, whole_number
from eyrie.compiler.frontend.file import SUFFIXES
from eyrie.measure.trials import INPUTS, MINUTES, Trial, head, row, summarised, tried
from eyrie.model.errors import InputError

RTL_MACS = 1_000_000
COLUMNS = (
    ("MACs", 13, "macs", "{:,}"),
    ("cycles", 12, "cycles", "{:,}"),
    ("roofline", 12, "roofline_cycles", "{:,}"),
    ("DRAM bytes", 12, "dram_bytes", "{:,}"),
    ("compulsory", 12, "compulsory_dram_bytes", "{:,}"),
    ("host", 7, "host_share", "{:.1%}"),
    ("compiled", 9, "compile_s", "{:.1f} s"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="MODELS", type=file_name, help="folder of .tflite and .onnx models")
    parser.add_argument(
        "--rtl-macs",
        type=whole_number(0),
        default=RTL_MACS,
        metavar="N",
        help=f"MACs up to which a model runs on the RTL too ({RTL_MACS:,})",
    )
    parser.add_argument("--c", action="store_true", help="run each also as portable C, as eyrie c writes it")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")
    parser.add_argument(
        "--inputs", type=whole_number(1), default=INPUTS, metavar="N", help=f"random inputs for each model ({INPUTS})"
    )
    parser.add_argument(
        "--minutes",
        type=minutes,
        default=MINUTES,
        metavar="N",
        help=f"minutes after which the process of a model is ended ({MINUTES})",
    )
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1, help="seed of the inputs (1)")


def run(options: argparse.Namespace) -> int:
    from eyrie.model.config import AcceleratorConfig
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    models = models_of(options.directory)
    if options.config:
        AcceleratorConfig.load(options.config)
    began, width = time.monotonic(), max(len(name_of(path, options.directory)) for path in models)
    print(head("model", width, COLUMNS))
    with replacing(BUILD / "zoo") as folder:
        entries = []
        for number, path in enumerate(models):
            trial = Trial(
                name_of(path, options.directory),
                path,
                options.config,
                options.rtl_macs,
                options.inputs,
                options.seed,
                minutes=options.minutes,
                as_c=options.c,
            )
            entries.append(tried(trial, folder / f"{number}-{path.stem}"))
            print(row(entries[-1], width, COLUMNS), flush=True)
        summary = summarised("zoo", entries, time.monotonic() - began) | {"seed": options.seed}
        write_summary(folder / "summary.json", summary)
    counts = Counter(entry["status"] for entry in entries)
    print(f"{len(entries)} models: {', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}")
    return 0 if summary["status"] == "pass" else 1


def models_of(directory: Path) -> list[Path]:
    """The models in a folder and below it, by name. Raises InputError, in one line."""
    kinds = " or ".join(SUFFIXES)
    if not directory.is_dir():
        raise InputError(f"{directory}: no folder: give one with {kinds} models")
    found = sorted(path for path in directory.rglob("*") if path.suffix.lower() in SUFFIXES and not path.is_dir())
    if not found:
        raise InputError(f"{directory}: has no {kinds} file: give a folder with models")
    return found


def name_of(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory))
