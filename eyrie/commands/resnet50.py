# SPDX-License-Identifier: Apache-2.0
"""Write ResNet-50 with random weights as a .tflite file.

    eyrie resnet50 FILE [--size N]

The network and its source: eyrie/measure/networks/resnet50.py.
"""

from __future__ import annotations

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, write_all
from eyrie.measure.networks.resnet50 import SIZE, model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=file_name, help=".tflite file to write")
    parser.add_argument(
        "--size",
        type=whole_number(32, 512),
        default=SIZE,
        metavar="N",
        help=f"rows and columns of the picture ({SIZE})",
    )


def run(options: argparse.Namespace) -> int:
    check_file(options.file)
    write_all(options.file.parent, {options.file.name: model(options.size)})
    print(options.file)
    return 0
