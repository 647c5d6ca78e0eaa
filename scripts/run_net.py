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
    from compiler.image import Image
    from model.machine import MachineError
    from model.messages import array
    from runtime.folders import BUILD, replacing
    from runtime.results import REPORT, network_summary, write_page, write_summary
    from tb.net.requests import RunFailed, on_model, on_rtl, read_input

    image = Image.load(options.directory)
    inputs = read_input(options.input, image.map["input"]["shape"])
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
            done = on_rtl(folder, options.directory, inputs, options.seed)
            outputs, first = done.outputs, done.runs[0]
            summary = network_summary("run_net", image, first, options.seed, outputs)
            write_summary(folder, summary)
            write_page(folder, options.directory.resolve().name, image, summary, first["passes"])
    with whole_file(options.output) as file:
        np.save(file, outputs)
    if not options.golden:
        print(f"{options.output}: {array(outputs)}; {summary['cycles']:,} cycles a run; "
              f"report: {target / REPORT}")


if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
