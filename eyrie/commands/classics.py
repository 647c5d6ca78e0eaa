# SPDX-License-Identifier: Apache-2.0
"""Write LeNet-5, AlexNet, VGG and other classic networks with random weights as .tflite files.

    eyrie classics FOLDER [--networks A,B]

The networks and their sources: eyrie/measure/networks/classics.py.
"""

from __future__ import annotations

import argparse

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_folder, write_all
from eyrie.measure.networks.classics import CLASSICS
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=file_name, help="folder to write to")
    parser.add_argument("--networks", default="", metavar="A,B", help=f"of {', '.join(CLASSICS)} (all)")


def run(options: argparse.Namespace) -> int:
    names = [name.strip() for name in options.networks.split(",") if name.strip()] or list(CLASSICS)
    for name in names:
        if name not in CLASSICS:
            raise InputError(unknown("network", name, CLASSICS))
    check_folder(options.folder)
    for name in names:
        write_all(options.folder, {f"{name}.tflite": CLASSICS[name]()})
    print(f"{len(names)} networks in {options.folder}")
    return 0
