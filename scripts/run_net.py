# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled network on the simulated RTL, or on the command-level model.

    eyrie run DIR --input X.npy --output Y.npy [--golden] [--seed N]

DIR: what `eyrie compile MODEL -o DIR` wrote. X: int8 [N, H, W, C] or one image [H, W, C]; Y: the raw int8 output of
each image. Of a network in parts for machine and host both have type and shape of the model's ends, and several
outputs are an .npz file with arr_0, arr_1, ... A run on the RTL also leaves build/run_net: summary.json, report.html
and the log; of a network in parts the logs of its machine parts.
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
    from compiler.folder import DESCRIPTION
    from compiler.ir.image import Image
    from model.machine import MachineError
    from model.messages import array
    from runtime.folders import BUILD, replacing
    from runtime.networks import on_model, read_input
    from runtime.results import report_line
    from tb.net.requests import RunFailed, reported

    if (options.directory / DESCRIPTION).exists():
        return run_parts(options)
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


def run_parts(options: argparse.Namespace) -> None:
    """A network in parts for machine and host."""
    import numpy as np

    from compiler.arrays import read_npy
    from compiler.files import whole_file
    from model.messages import array
    from runtime.folders import BUILD, replacing
    from runtime.session import Session, check_inputs, on_command_level
    from tb.net.requests import RtlBackEnd, RunFailed

    session = Session.load(options.directory)
    if len(session.graph.inputs) != 1:
        raise ValueError(f"{options.directory}: the network has {len(session.graph.inputs)} inputs, eyrie run gives it "
                         "one: use runtime/session.py")
    values = read_npy(options.input, "save one array with numpy.save")
    shape = session.graph.input.shape
    if shape[:1] == (1,):  # the batch may be left out
        values = values.reshape(-1, *shape) if values.shape[-len(shape) + 1 :] == shape[1:] else values
    try:
        check_inputs(session.graph, [values])
    except ValueError as error:
        raise ValueError(f"{options.input}: {error}") from error
    if options.golden:
        done = session.run([values], on_command_level)
    else:
        with replacing(BUILD / "run_net", keep=RunFailed) as folder:
            done = session.run([values], RtlBackEnd(folder, options.seed))
    outputs = [output[:, 0] if output.shape[1:2] == (1,) else output for output in done.outputs]
    with whole_file(options.output) as file:
        if len(outputs) == 1:
            np.save(file, outputs[0])
        else:
            np.savez(file, *outputs)
    cycles = sum(part.runs[0]["counters"]["CYCLES"] for part in done.machine if part.runs)
    print(f"{options.output}: {', '.join(map(array, outputs))}{f', {cycles:,} cycles a run' * bool(cycles)}, "
          f"{len(done.machine)} machine parts, {100 * done.host_share:.3f} % of all operations on the host")


if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
