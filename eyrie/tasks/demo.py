# SPDX-License-Identifier: Apache-2.0
"""The demo with a model of the user: `eyrie demo --model`."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.parts import compile_parts
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime import progress
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.diagrams.networks import graph_svg
from eyrie.runtime.folders import BUILD, replacing
from eyrie.runtime.metrics import layer_table
from eyrie.runtime.report.about import About
from eyrie.runtime.results import comparison, report_line, reported
from eyrie.runtime.soc.library import soc_library
from eyrie.session import load
from eyrie.tasks.given import Given, given_of
from eyrie.tasks.recognition import check_name

SEED = 1
FOLDER = BUILD / "demo"
DRAWING = "answer.png"


def run(options: argparse.Namespace, classes: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status.

    `classes` has the class names of the network if no file of labels is given.
    """
    check_name(options.task)
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    if options.back_end != "rtl":
        return _on_back_end(options, config, classes)
    with progress.step(1, 3), progress.task(f"compiling {options.model.name}") as task:
        compiled = compile_parts(options.model, config, on_stage=task.say)
    given = given_of(options, compiled.graph, classes)
    print("\n".join([*given.notes, "", str(compiled.partition), ""]))
    with replacing(FOLDER) as folder:
        golden = golden_outputs(compiled.graph, [given.values])
        about = About(
            f"{options.model.stem} on {(options.sound or options.image).name}",
            options.model.name,
            graph=graph_svg(compiled.graph),
            read=given.shown,
        )
        with progress.step(2, 3):
            soc_library(config)
        with progress.step(3, 3):
            done, summary, pages = reported(folder, "demo", about, compiled.network, [given.values], Rtl(SEED), golden)
        said = _answered(given, done.outputs, folder)
    print("\n".join(said))
    for part in summary.get("parts", [summary]):
        print(f"\n{layer_table(part)}")
    print(f"\ncycles {summary['cycles']:,}, {100 * done.network.host_share:.3f} % of all operations on the host")
    for page in pages:
        print(report_line(FOLDER / page))
    return _ended(summary["mismatches"], "chip")


def _on_back_end(options: argparse.Namespace, config: AcceleratorConfig, classes: Sequence[str] | None) -> int:
    """Run the demo on a back end without a report."""
    with progress.task(f"running {options.model.name} on {options.back_end}"):
        session = load(options.model, config, options.back_end, SEED)
        given = given_of(options, session.graph, classes)
        outputs = session.run([given.values])
        golden = None if options.back_end == "golden" else golden_outputs(session.graph, [given.values])
    with replacing(FOLDER) as folder:
        said = _answered(given, outputs, folder)
    print("\n".join([*given.notes, "", *said]))
    return 0 if golden is None else _ended(comparison(outputs, golden)[0]["mismatches"], f"back end {options.back_end}")


def _answered(given: Given, outputs: Sequence[np.ndarray], folder: Path) -> list[str]:
    """Return the answer in words; draw it into a picture in the folder."""
    first = [output[0] for output in outputs]
    said, drawing = given.lines(first), given.drawing(first)
    if drawing:
        (folder / DRAWING).write_bytes(drawing)
        said.append(f"picture: {os.path.relpath(FOLDER / DRAWING)}")
    return said


def _ended(mismatches: int, ran: str) -> int:
    """Print whether the outputs equal the golden model; return the exit status."""
    print(f"MISMATCH between {ran} and golden model" if mismatches else "match")
    return 1 if mismatches else 0
