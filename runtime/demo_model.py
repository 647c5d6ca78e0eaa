# SPDX-License-Identifier: Apache-2.0
"""The demo with a model of the user: `eyrie demo --model`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.failure import CompileError
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.parts import compile_parts
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.reading import read_file
from eyrie.runtime import progress
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.diagrams.networks import graph_svg
from eyrie.runtime.folders import BUILD, replacing
from eyrie.runtime.metrics import layer_table
from eyrie.runtime.preprocessing import photo_input
from eyrie.runtime.report.about import About
from eyrie.runtime.results import report_line, reported
from eyrie.runtime.soc.library import soc_library

SEED = 1
BEST = 5


def run(options: argparse.Namespace, classes: Sequence[str] | None = None, failure: CompileError | None = None) -> int:
    """Run the demo; return the exit status.

    `classes` has the class names of the network if no file of labels is given. `failure` is the reason why the network
    does not compile as a whole, if it is known.
    """
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    with progress.step(1, 3), progress.task(f"compiling {options.model.name}") as task:
        compiled = compile_parts(options.model, config, on_stage=task.say, failure=failure)
    values, notes = photo_input(options.image, compiled.graph)
    labels = read_labels(options.labels, compiled.graph.outputs[0].size) if options.labels else classes
    for note in notes:
        print(f"{options.image.name}: {note}")
    print(f"\n{compiled.partition}\n")
    with replacing(BUILD / "demo") as folder:
        golden = golden_outputs(compiled.graph, [values])
        about = About(
            f"{options.model.stem} on {options.image.name}",
            options.model.name,
            graph=graph_svg(compiled.graph),
        )
        with progress.step(2, 3):
            soc_library(config)
        with progress.step(3, 3):
            done, summary, pages = reported(folder, "demo", about, compiled.network, [values], Rtl(SEED), golden)
    for tensor, output in zip(compiled.graph.results, done.outputs):
        print(answer(tensor, output[0], labels))
    for part in summary.get("parts", [summary]):
        print(f"\n{layer_table(part)}")
    print(f"\ncycles {summary['cycles']:,}, {100 * done.network.host_share:.3f} % of all operations on the host")
    for page in pages:
        print(report_line(BUILD / "demo" / page))
    print("match" if summary["match"] else "MISMATCH between chip and golden model")
    return 0 if summary["match"] else 1


def read_labels(path: Path, count: int) -> list[str]:
    """Return the labels, one line for each class. Raise InputError, with one line, if their number is not `count`."""
    try:
        labels = read_file(path, "give a text file with a class a line").decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: no text in UTF-8: give a text file with a class a line") from error
    if len(labels) != count:
        raise InputError(f"{path}: has {len(labels)} lines, the network has {count} classes: give one a line")
    return labels


def answer(tensor: Tensor, values: np.ndarray, labels: Sequence[str] | None) -> str:
    """Return a line with the largest values of an output and their indices or labels."""
    real = values.reshape(-1).astype(float)
    if isinstance(tensor, Quantized):
        zero_point = tensor.zero_point + (128 if values.dtype == np.uint8 else 0)
        real = (real - zero_point) * tensor.quantization.scale
    if labels is None or len(labels) != real.size:
        labels = [f"#{place}" for place in range(real.size)]
    best = np.argsort(-real, kind="stable")[:BEST]
    return f"{tensor.name}: " + "  ".join(f"{labels[place]} {real[place]:.4g}" for place in best)
