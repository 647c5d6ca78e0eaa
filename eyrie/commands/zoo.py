# SPDX-License-Identifier: Apache-2.0
"""Compile and run models, and compare each with the reference.

    eyrie zoo MODELS [--rtl-macs N] [--c] [--config FILE] [--inputs N] [--minutes N] [--seed N]
                     [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

MODELS is a .tflite or .onnx file, or a folder with such files, also in its subfolders. Each model runs in a process of
its own with random inputs: on the functional simulator, on the RTL if it has at most --rtl-macs MACs, and with --c as
portable C, built with warnings as errors and with sanitizers. No interpreter has PosenetDecoderOp: the golden function
computes it from the values of the reference. A failure of one model does not stop the others. When the budget is used
up, no further model begins. A model that was right is run again only if a file that it depends on has changed. The
command prints a table and leaves summary.json (docs/reference/summary.md) and the log of each model that ran in
build/zoo. The exit code is 1 if a model is wrong, failed or unchecked.
"""

import argparse
import shlex
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from eyrie.compiler.command_line import file_name, minutes, whole_number
from eyrie.compiler.frontend.file import SUFFIXES, read_model
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.options import MOST_SEED
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task
from eyrie.measure.trials import INPUTS, MINUTES, Entry, Trial, head, row, summarised
from eyrie.model.errors import InputError
from eyrie.model.messages import number_of

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
    parser.add_argument(
        "directory", metavar="MODELS", type=file_name, help="a .tflite or .onnx model, or a folder of models"
    )
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
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=1, help="seed of the inputs (1)")
    engine.add_arguments(parser, 24 * 60)


def run(options: argparse.Namespace) -> int:
    from eyrie.model.config import AcceleratorConfig
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    models = models_of(options.directory)
    config = AcceleratorConfig.load(options.config).as_dict() if options.config else {}
    began, width = time.monotonic(), max(len(name_of(path, options.directory)) for path in models)
    print(head("model", width, COLUMNS))
    with replacing(BUILD / "zoo") as folder:
        tasks = []
        for path in models:
            name = name_of(path, options.directory)
            try:
                contents = path.read_bytes()
                with suppress(ModelImportError):  # the task says the reason
                    contents = read_model(path)
            except OSError as error:
                reason = f"cannot be read ({error.strerror})"
                tasks.append(Task(name, unreadable, {"name": name, "reason": reason}, _again(options, path)))
                continue
            trial = Trial(
                name,
                (path.name, contents),
                config,
                options.rtl_macs,
                options.inputs,
                options.seed,
                minutes=options.minutes,
                as_c=options.c,
            )
            tasks.append(trial.task(_again(options, path)))
        found = engine.Campaign.of("zoo", options).run(
            tasks, folder, lambda entry: print(row(entry, width, COLUMNS), flush=True)
        )
        entries = [entry for entry in found if entry]
        left = [task.name for task, entry in zip(tasks, found) if not entry]
        summary = summarised("zoo", entries, time.monotonic() - began) | {"seed": options.seed, "left": left}
        write_summary(folder / "summary.json", summary)
    if left:
        print(engine.left_line(left))
    counts = sorted(Counter(entry["status"] for entry in entries).items())
    print(f"{number_of(len(entries), 'model')}: {', '.join(f'{count} {status}' for status, count in counts)}")
    return 0 if summary["status"] == "pass" else 1


def unreadable(folder: Path, name: str, reason: str) -> Result:
    """Return the entry of a file that cannot be read."""
    return Result(Entry(name, "rejected", reason).as_dict())


def _again(options: argparse.Namespace, path: Path) -> str:
    """Return the command line that tries one of the models."""
    words = ["eyrie", "zoo", str(path), f"--rtl-macs={options.rtl_macs}", f"--inputs={options.inputs}"]
    words += [f"--seed={options.seed}", f"--minutes={options.minutes:g}", *(["--c"] if options.c else [])]
    return shlex.join([*words, *([f"--config={options.config}"] if options.config else [])])


def models_of(directory: Path) -> list[Path]:
    """Return the models in a folder and below it, by name, or the file itself. Raise InputError, in one line."""
    kinds = " or ".join(SUFFIXES)
    if directory.is_file():
        if directory.suffix.lower() not in SUFFIXES:
            raise InputError(f"{directory}: no {kinds} file: give a model or a folder of models")
        return [directory]
    if not directory.is_dir():
        raise InputError(f"{directory}: no file or folder: give a {kinds} model, or a folder of them")
    found = sorted(path for path in directory.rglob("*") if path.suffix.lower() in SUFFIXES and not path.is_dir())
    if not found:
        raise InputError(f"{directory}: has no {kinds} file: give a folder with models")
    return found


def name_of(path: Path, directory: Path) -> str:
    return path.name if path == directory else str(path.relative_to(directory))
