# SPDX-License-Identifier: Apache-2.0
"""Runs a network on the simulated RTL and says where its cycles go.

    eyrie profile NET [--input X.npy] [--seed N]

NET: an int8 .tflite model, or what `eyrie compile` wrote; X: as `eyrie run` takes it, random values by default. Prints
cycles, bytes and what each unit did, layer by layer, and leaves build/profile: summary.json, report.html and the log.
Of a .tflite model the outputs are compared with the golden model's; the exit code is 1 unless they agree.
"""

import argparse
import sys

from compiler.command_line import file_name, whole_number
from compiler.folder import DESCRIPTION
from compiler.options import MOST_IMAGES
from model.reading import check_readable
from scripts.eyrie import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", metavar="NET", type=file_name)
    parser.add_argument("--input", type=file_name, metavar="X.npy")
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1,
                        help="of the start values and of a random input (1)")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON with machine parameters, for a model")
    parser.add_argument("--batch", type=whole_number(1, MOST_IMAGES), default=1, metavar="N",
                        help="images of a run, for a model")


def run(options: argparse.Namespace) -> int:
    is_compiled = options.network.is_dir()
    if not is_compiled:
        check_readable(options.network, "give an int8 .tflite model or a compiled network")
    elif options.config or options.batch > 1:
        raise ValueError("--config and --batch are for a .tflite model: a compiled network has its own; leave them out")
    if is_compiled and (options.network / DESCRIPTION).exists():
        raise ValueError(f"{options.network}: a network in parts for machine and host: give the folder of a machine part "
                         "in it")
    import numpy as np

    from compiler.frontend import tflite
    from compiler.ir.graph import map_shape
    from compiler.ir.image import Image
    from model.config import DEFAULT, MachineConfig
    from runtime import figures
    from runtime.folders import BUILD, replacing
    from runtime.networks import read_input
    from runtime.programs import compiled
    from runtime.results import report_line
    from tb.net.requests import RunFailed, reported

    graph, program = None, options.network
    machine = MachineConfig.load(options.config) if options.config else DEFAULT
    if is_compiled:
        image = Image.load(program)
        shape, images = image.input_place["shape"], image.images
    else:
        graph = tflite.load(options.network)
        shape, images = map_shape(graph.input.shape), options.batch
    if options.input:
        inputs = read_input(options.input, shape)
    else:
        inputs = np.random.default_rng(options.seed).integers(-128, 128, (images, *shape)).astype(np.int8)
    if graph:
        program = compiled(options.network, machine, options.batch)
    golden = graph.run_images(inputs) if graph else None
    target = BUILD / "profile"
    with replacing(target, keep=RunFailed) as folder:
        _, summary = reported(folder, "profile", options.network.stem, program, inputs, options.seed, golden)
    print(f"{figures.layer_table(summary)}\n\n{figures.unit_table(summary)}\n\n{figures.ratios(summary)}")
    print(report_line(target))
    if golden is not None:
        print("match" if summary["match"] else "MISMATCH between chip and golden model")
    return 0 if summary["status"] == "pass" else 1


if __name__ == "__main__":
    sys.exit(main(["profile", *sys.argv[1:]]))
