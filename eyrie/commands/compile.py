# SPDX-License-Identifier: Apache-2.0
"""Compile an int8 .tflite or .onnx model.

    eyrie compile MODEL -o DIR [--dump STAGE] [--config FILE] [--objective O] [--search-iterations N] [--batch N]

DIR gets image.bin, layout.json, program.txt, network.h (docs/howto/driver.md), layers.csv and summary.json. The command
prints a table of the layers with their predicted cost. With --dump it prints the result of a stage instead, and you may
leave out -o.
"""

import argparse
from pathlib import Path

from eyrie.compiler import command
from eyrie.runtime import progress

add_arguments = command.add_arguments


def run(options: argparse.Namespace) -> None:
    with progress.task(f"compiling {Path(options.model).name}") as task:
        command.run(options, on_stage=task.say)
