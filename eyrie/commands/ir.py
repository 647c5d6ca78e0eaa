# SPDX-License-Identifier: Apache-2.0
"""Write the compiler's data of a network at a stage as text. You can read it, change it and compile it.

    eyrie ir MODEL STAGE -o FILE [--config FILE] [--objective OBJECTIVE] [--search-iterations N] [--batch N] [--greedy]

`eyrie compile FILE -o DIR` continues from the text. docs/reference/ir.md documents the stages and the format.
"""

import argparse

from eyrie.compiler.command import add_choices
from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import write_all
from eyrie.compiler.frontend.file import read_model
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.runtime import progress

STAGES = ("import", "passes", "groups", "segments")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="int8 .tflite or .onnx model")
    parser.add_argument("stage", choices=STAGES, metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("-o", "--output", type=file_name, metavar="FILE", required=True, help="text file to write")
    parser.add_argument(
        "--greedy",
        action="store_true",
        help="segments by the greedy choice: each fused operator by itself, in tiles as large as fit",
    )
    add_choices(parser)


def run(options: argparse.Namespace) -> None:
    if options.greedy and (options.stage != "segments" or options.batch > 1):
        raise InputError("--greedy is for stage segments of one image: leave it out")
    read_model(options.model)
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    from eyrie.compiler.ir_text import text_of
    from eyrie.compiler.network import compile_greedily, compile_until
    from eyrie.compiler.results import Request

    with progress.task(f"compiling {options.model.name}") as task, about(options.model):
        asked = options.model, config, options.objective, options.search_iterations
        work = (
            compile_greedily(*asked, options.stage, task.say)
            if options.greedy
            else compile_until(options.stage, Request(*asked, options.batch), task.say)
        )
        text = text_of(work, options.stage)
    write_all(options.output.parent, {options.output.name: text.encode()})
    if not options.quiet:
        print(options.output)
