# SPDX-License-Identifier: Apache-2.0
"""Run a compiled network on the simulated RTL, or on the functional simulator.

    eyrie run DIR --input X.npy --output Y.npy [--functional] [--seed N]

DIR is a folder that `eyrie compile MODEL -o DIR` wrote. X is int8 [N, H, W, C], or one image [H, W, C]; Y gets the raw
int8 output of each image. If the network is split between accelerator and CPU, X and Y have the types and shapes of the
model's inputs and outputs. Several inputs or outputs are an .npz file with arr_0, arr_1, ... in the model's order. A
run on the RTL also leaves summary.json and report.html in build/run; a split network has a report for each accelerator
part.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=file_name, help="folder of a compiled network")
    parser.add_argument(
        "--input",
        type=file_name,
        required=True,
        metavar="X.npy",
        help="inputs: .npy, or .npz with an array for each input",
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="Y.npy",
        type=file_name,
        help="file to write: .npy, or .npz for several outputs",
    )
    parser.add_argument("--functional", action="store_true", help="run on the functional simulator instead")
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1, help="seed of the start values (1)")


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    from eyrie.compiler.folder import DESCRIPTION
    from eyrie.compiler.ir.image import Image
    from eyrie.model.messages import array
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.networks import read_inputs, write_arrays
    from eyrie.runtime.report.about import About
    from eyrie.runtime.results import report_line
    from eyrie.runtime.session import on_functional_simulator
    from eyrie.runtime.soc.runs import reported

    if (options.directory / DESCRIPTION).exists():
        return run_parts(options)
    image = Image.load(options.directory)
    inputs = read_inputs(options.input, {name: place.shape for name, place in image.inputs.items()})
    if options.functional:
        outputs = list(on_functional_simulator(options.directory, dict(zip(image.inputs, inputs))).outputs.values())
    else:
        target = BUILD / "run"
        with replacing(target) as folder:
            name = options.directory.resolve().name
            done, summary = reported(
                folder, "run", About(f"Run of {name}", name), options.directory, inputs, options.seed
            )
            outputs = list(done.named.values())
    write_arrays(options.output, outputs)
    cycles = "" if options.functional else f", {summary['cycles']:,} cycles a run"
    print(f"{options.output}: {', '.join(map(array, outputs))}{cycles}")
    if not options.functional:
        print(report_line(target))


def run_parts(options: argparse.Namespace) -> None:
    """Run a network that is split between accelerator and CPU."""
    from eyrie.model.messages import array
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.networks import write_arrays
    from eyrie.runtime.report.about import About
    from eyrie.runtime.results import report_line
    from eyrie.runtime.session import Session, read_session_inputs
    from eyrie.runtime.soc.runs import parts_reported

    session, cycles, pages = Session.load(options.directory), "", list[str]()
    inputs = read_session_inputs(options.input, session.graph)
    if options.functional:
        done = session.run(inputs)
    else:
        with replacing(BUILD / "run") as folder:
            name = options.directory.resolve().name
            about = About(f"Run of {name}", name)
            done, summary, pages = parts_reported(folder, "run", about, session, inputs, options.seed)
            cycles = f"{summary['cycles']:,} cycles a run, "
    outputs = [output[:, 0] if output.shape[1:2] == (1,) else output for output in done.outputs]
    write_arrays(options.output, outputs)
    print(
        f"{options.output}: {', '.join(map(array, outputs))}, {cycles}{len(done.accelerator)} accelerator parts, "
        f"{100 * done.host_share:.3f} % of all operations on the host"
    )
    for page in pages:
        print(report_line(BUILD / "run" / page))
