# SPDX-License-Identifier: Apache-2.0
"""Draw the schedule of a model: loop nests, and passes and GLB over time as the cost model predicts them.

    eyrie schedule MODEL [-o FILE.html] [--schedule FILE] [--config FILE] [--objective O] [--batch N]

Without -o the page is build/schedule/MODEL.html. There is no simulation.
"""

import argparse
import os

from eyrie.compiler import command
from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_file, whole_file
from eyrie.compiler.frontend.file import read_model
from eyrie.runtime import progress
from eyrie.runtime.folders import BUILD


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="int8 .tflite or .onnx model")
    parser.add_argument(
        "-o", "--output", type=file_name, metavar="FILE.html", help="page to write (build/schedule/MODEL.html)"
    )
    command.add_request(parser)


def run(options: argparse.Namespace) -> None:
    read_model(options.model)
    request = command.request_of(options)
    target = options.output
    if target is None:
        target = BUILD / "schedule" / f"{options.model.stem}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
    check_file(target)
    from eyrie.compiler.parts import check_accelerated, compile_request
    from eyrie.runtime.report.about import command_line
    from eyrie.runtime.report.schedule import page

    with progress.task(f"compiling {options.model.name}") as task:
        compiled = compile_request(request, task.say)
        check_accelerated(compiled, options.model)
        task.say("page")
        text = page(options.model.name, command_line(), [part.stages for part in compiled.parts if part.stages])
    with whole_file(target) as file:
        file.write(text.encode())
    if not options.quiet:
        print(os.path.relpath(target))
