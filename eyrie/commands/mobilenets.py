# SPDX-License-Identifier: Apache-2.0
"""Write 26 MobileNets, and 12 networks from architecture search, with random weights as .tflite files.

    eyrie mobilenets FOLDER

The networks and their sources: mobilenets.py and searched.py in eyrie/measure/networks.
"""

import argparse

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_folder, write_all
from eyrie.measure.networks.searched import NETWORKS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=file_name, help="folder to write to")


def run(options: argparse.Namespace) -> int:
    check_folder(options.folder)
    for network in NETWORKS:
        write_all(options.folder, {f"{network.name}.tflite": network.model()})
    print(f"{len(NETWORKS)} networks in {options.folder}")
    return 0
