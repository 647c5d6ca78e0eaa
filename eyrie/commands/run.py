# SPDX-License-Identifier: Apache-2.0
"""Run a compiled network on the simulated RTL, or on another back end.

    eyrie run DIR --input X.npy --output Y.npy [--back-end BACK_END] [--seed N] [--trace FILE]

DIR is a folder that `eyrie compile MODEL -o DIR` wrote. X has the type and shape of the model's input, N of them, with
or without its batch of 1; Y gets N outputs of the model's type and shape. Several inputs or outputs are an .npz file
with arr_0, arr_1, ... in the model's order. A run on the RTL also leaves summary.json and report.html in build/run; a
network that is split between accelerator and CPU has a report for each accelerator part. --trace writes the events of
the first run on the RTL as a trace for ui.perfetto.dev (docs/howto/trace.md).
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file
from eyrie.compiler.options import MOST_SEED
from eyrie.model.errors import InputError
from eyrie.runtime.back_ends import BACK_ENDS, back_end_class


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
    parser.add_argument(
        "--back-end", metavar="BACK_END", choices=BACK_ENDS, default="rtl", help=f"{', '.join(BACK_ENDS)} (rtl)"
    )
    parser.add_argument("--seed", type=whole_number(0, MOST_SEED), default=1, help="seed of the start values (1)")
    parser.add_argument(
        "--trace", type=file_name, metavar="FILE", help="trace of the RTL to write; needs the extra trace"
    )


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    if options.trace and options.back_end != "rtl":
        raise InputError(f"--trace is for the back end rtl, not {options.back_end}: leave it out")
    from eyrie.compiler.artefact import files
    from eyrie.model.messages import array, number_of
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.inputs import read_inputs
    from eyrie.runtime.networks import write_arrays

    network = files.load(options.directory)
    inputs = read_inputs(options.input, network.arguments)
    said, pages = "", list[str]()
    if options.back_end == "rtl":
        from eyrie.runtime.back_ends.rtl import Rtl
        from eyrie.runtime.report.about import About
        from eyrie.runtime.results import report_line, reported
        from eyrie.runtime.trace.file import check_trace, write_trace
        from eyrie.runtime.trace.tracks import Recording

        if options.trace:
            check_trace(options.trace, network)
        with replacing(BUILD / "run") as folder:
            name = options.directory.resolve().name
            about = About(f"Run of {name}", name)
            done, summary, pages = reported(
                folder, "run", about, network, inputs, Rtl(options.seed, records=bool(options.trace))
            )
            if options.trace:
                write_trace(options.trace, [Recording.of(run) for run in done.accelerator])
            said = f", {summary['cycles']:,} cycles a run"
    else:
        done = back_end_class(options.back_end)(options.seed).run(network, inputs)
    outputs = [output[:, 0] if output.shape[1:2] == (1,) else output for output in done.outputs]
    write_arrays(options.output, outputs)
    if not network.whole:
        host = f"{100 * network.host_share:.3f} % of all operations on the host"
        said += f", {number_of(len(network.programs), 'subgraph')} of the accelerator, {host}"
    print(f"{options.output}: {', '.join(map(array, outputs))}{said}")
    if options.trace:
        print(f"trace: {options.trace}")
    for page in pages:
        print(report_line(BUILD / "run" / page))
