# SPDX-License-Identifier: Apache-2.0
"""Compiles an int8 .tflite or .onnx model.

    eyrie compile MODEL -o DIR [--dump STAGE] [--config FILE] [--objective O] [--search-iterations N] [--batch N]

DIR gets image.bin, layout.json, program.txt, network.h (docs/howto/driver.md), layers.csv and summary.json; the table
of the layers says what each will take. With --dump a stage is printed instead; -o may then be left out.
"""

import argparse
from pathlib import Path

from eyrie.compiler import command
from eyrie.runtime import progress

add_arguments = command.add_arguments


def run(options: argparse.Namespace) -> None:
    with progress.task(f"compiling {Path(options.model).name}") as task:
        command.run(options, on_stage=task.say)
