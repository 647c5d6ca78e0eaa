# SPDX-License-Identifier: Apache-2.0
"""Write 26 MobileNets with random weights as .tflite files.

    eyrie mobilenets FOLDER

The networks and their sources: eyrie/measure/networks/mobilenets.py.
"""

import argparse

from eyrie.compiler.command_line import file_name
from eyrie.measure.networks.mobilenets import FAMILY, model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=file_name, help="folder to write to")


def run(options: argparse.Namespace) -> int:
    options.folder.mkdir(parents=True, exist_ok=True)
    for network in FAMILY:
        (options.folder / f"{network.name}.tflite").write_bytes(model(network))
    print(f"{len(FAMILY)} networks in {options.folder}")
    return 0
