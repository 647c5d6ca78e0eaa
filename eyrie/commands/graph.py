# SPDX-License-Identifier: Apache-2.0
"""Draw the graph of a model: as it is in the file, and as accelerator and CPU run it.

    eyrie graph MODEL [-o FILE.svg] [--config FILE]

Without -o the picture is build/graph/MODEL.svg. docs/howto/graph.md explains it.
"""

import argparse
import os

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_file, whole_file
from eyrie.compiler.frontend.file import read_model
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime import progress
from eyrie.runtime.folders import BUILD


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="int8 .tflite or .onnx model")
    parser.add_argument(
        "-o", "--output", type=file_name, metavar="FILE.svg", help="file to write (build/graph/MODEL.svg)"
    )
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")


def run(options: argparse.Namespace) -> None:
    read_model(options.model)
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    target = options.output
    if target is None:
        target = BUILD / "graph" / f"{options.model.stem}.svg"
        target.parent.mkdir(parents=True, exist_ok=True)
    check_file(target)
    from eyrie.runtime.diagrams.networks import picture

    with progress.task(f"compiling {options.model.name}") as task:
        svg = picture(options.model, config, task.say)
    with whole_file(target) as file:
        file.write(svg.encode())
    if not options.quiet:
        print(os.path.relpath(target))
