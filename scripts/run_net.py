# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled network on the simulated RTL, or on the command-level model.

    eyrie run DIR --input X.npy --output Y.npy [--golden] [--seed N]

DIR: what `eyrie compile MODEL -o DIR` wrote. X: int8 [N, H, W, C] or one image [H, W, C]; Y: the raw int8 output of
each image. A run on the RTL also leaves build/run_net: summary.json, report.html and the log.
"""

import argparse
import sys

from compiler.command_line import file_name, whole_number
from compiler.files import check_file
from scripts.eyrie import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=file_name)
    parser.add_argument("--input", type=file_name, required=True, metavar="X.npy")
    parser.add_argument("--output", required=True, metavar="Y.npy", type=file_name)
    parser.add_argument("--golden", action="store_true", help="on the command-level model instead")
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1, help="of the start values (1)")


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    import numpy as np

    from compiler.files import whole_file
    from compiler.ir.image import Image
    from model.machine import MachineError
    from model.messages import array
    from runtime.folders import BUILD, replacing
    from runtime.networks import on_model, read_input
    from runtime.results import report_line
    from tb.net.requests import RunFailed, reported

    image = Image.load(options.directory)
    inputs = read_input(options.input, image.input_place["shape"])
    if options.golden:
        try:
            outputs = on_model(image, inputs)
        except MachineError as error:
            raise ValueError(f"{options.directory}: {error}: compile the network again") from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # of commands that make no sense
            raise ValueError(f"{options.directory}: a damaged program: compile the network again") from error
    else:
        target = BUILD / "run_net"
        with replacing(target, keep=RunFailed) as folder:
            title = options.directory.resolve().name
            done, summary = reported(folder, "run_net", title, options.directory, inputs, options.seed)
            outputs = done.outputs
    with whole_file(options.output) as file:
        np.save(file, outputs)
    if not options.golden:
        print(f"{options.output}: {array(outputs)}, {summary['cycles']:,} cycles a run\n{report_line(target)}")


if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
