# SPDX-License-Identifier: Apache-2.0
"""Runs a network on the simulated RTL and says where its cycles go.

    eyrie profile NET [--input X.npy] [--seed N]

NET: an int8 .tflite model, or what `eyrie compile` wrote; X: as `eyrie run` takes it, random values by default. Prints
cycles, bytes and what each unit did, layer by layer, and leaves build/profile: summary.json, report.html and the log.
Of a .tflite model the outputs are compared with the golden model's; the exit code is 1 unless they agree.
"""

import argparse
import sys
from pathlib import Path

from compiler.command_line import whole_number
from scripts.eyrie import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", metavar="NET", type=Path)
    parser.add_argument("--input", metavar="X.npy")
    parser.add_argument("--seed", type=whole_number(0, 2**31 - 2), default=1,
                        help="of the start values and of a random input (1)")
    parser.add_argument("--config", metavar="FILE", help="JSON with machine parameters, for a model")
    parser.add_argument("--batch", type=whole_number(1, 16), default=1, metavar="N", help="images of a run, for a model")


def run(options: argparse.Namespace) -> int:
    if not options.network.exists():
        raise ValueError(f"{options.network}: no such file: give an int8 .tflite model or a compiled network")
    import numpy as np

    from compiler.image import Image
    from compiler.importers import tflite
    from model.config import DEFAULT, MachineConfig
    from runtime import figures
    from runtime.folders import BUILD, replacing
    from runtime.programs import compiled
    from runtime.results import REPORT, network_summary, write_page, write_summary
    from tb.net.requests import RunFailed, on_rtl, read_input

    graph, program = None, options.network
    if not program.is_dir():
        machine = MachineConfig.load(options.config) if options.config else DEFAULT
        graph, program = tflite.load(options.network), compiled(options.network, machine, options.batch)
    elif options.config or options.batch > 1:
        raise ValueError("--config and --batch are for a .tflite model: a compiled network has its own")
    image = Image.load(program)
    if options.input:
        inputs = read_input(options.input, image)
    else:
        shape = (image.images, *image.map["input"]["shape"])
        inputs = np.random.default_rng(options.seed).integers(-128, 128, shape).astype(np.int8)
    golden = graph.run(inputs)[graph.output.name] if graph else None
    target = BUILD / "profile"
    with replacing(target, keep=RunFailed) as folder:
        done = on_rtl(folder, program, inputs, options.seed)
        summary = network_summary("profile", image, done.runs[0], options.seed, done.outputs, golden)
        write_summary(folder, summary)
        write_page(folder, options.network.stem, image, summary, done.runs[0]["passes"])
    print(f"{figures.layer_table(summary)}\n\n{figures.unit_table(summary)}\n\n{figures.ratios(summary)}")
    print(f"report: {target / REPORT}")
    if golden is not None:
        print("match" if summary["match"] else "MISMATCH between chip and golden model")
    return 0 if summary["status"] == "pass" else 1


if __name__ == "__main__":
    sys.exit(main(["profile", *sys.argv[1:]]))
