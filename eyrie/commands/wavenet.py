# SPDX-License-Identifier: Apache-2.0
"""Write a WaveNet with random weights as a .tflite file.

    eyrie wavenet FILE [--stacks N] [--layers N] [--channels N] [--samples N]

The network and its source: eyrie/measure/networks/wavenet.py.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, write_all
from eyrie.measure.networks.wavenet import Wavenet, model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=file_name, help=".tflite file to write")
    for name, most, about in (
        ("stacks", 16, "of blocks"),
        ("layers", 11, "of a stack"),
        ("channels", 256, "of a block"),
        ("samples", 1 << 11, "of the sound"),
    ):
        value = getattr(Wavenet, name)
        parser.add_argument(
            f"--{name}", type=whole_number(1, most), default=value, metavar="N", help=f"{about} ({value})"
        )


def run(options: argparse.Namespace) -> int:
    check_file(options.file)
    network = Wavenet(options.stacks, options.layers, options.channels, options.samples)
    write_all(options.file.parent, {options.file.name: model(network)})
    print(options.file)
    return 0
