# SPDX-License-Identifier: Apache-2.0
"""Classify a photo on the simulated chip.

    eyrie demo [--image photo.png] [--model any.tflite [--labels FILE]] [--config FILE]

The bundled MobileNetV1 runs on the RTL, in the default configuration or in the one of FILE. The command prints the
answers of the chip, of the golden model and of the float model, a table of the layers, and the totals. It leaves
summary.json and report.html in build/demo. The exit code is 1 if RTL and golden model differ.

With --model it runs any network that takes a picture, split between accelerator and CPU if necessary. It prints the
largest values of the outputs with their numbers, or with the lines of --labels.
"""

import argparse
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name
from eyrie.model.errors import InputError
from eyrie.runtime.bundled import FLOAT_WEIGHTS, MODEL, PHOTO

if TYPE_CHECKING:
    import numpy as np

SIZE = (32, 32)
SEED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", type=file_name, default=PHOTO, help="any picture, the bundled one by default")
    parser.add_argument(
        "--model", type=file_name, metavar="FILE", help="a .tflite or .onnx model, the bundled one by default"
    )
    parser.add_argument("--labels", type=file_name, metavar="FILE", help="the classes of --model, one a line")
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")


def run(options: argparse.Namespace) -> int:
    if options.labels and not options.model:
        raise InputError("--labels is for --model: the bundled network has its own classes; leave it out")
    if options.model:
        from eyrie.runtime import demo_model

        return demo_model.run(options)
    from eyrie.model.config import DEFAULT, AcceleratorConfig
    from eyrie.runtime.pictures import read_photo

    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    photo = read_photo(options.image, SIZE)
    from eyrie.compiler.artefact import files
    from eyrie.compiler.ir.operator import quantized
    from eyrie.compiler.parts import why_in_parts
    from eyrie.runtime import demo_model, progress
    from eyrie.runtime.back_ends.golden import golden_outputs
    from eyrie.runtime.back_ends.rtl import Rtl
    from eyrie.runtime.diagrams.networks import graph_svg
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.metrics import layer_table
    from eyrie.runtime.programs import compiled
    from eyrie.runtime.report.about import About, png_of, ranked, softmax
    from eyrie.runtime.results import report_line, reported
    from eyrie.runtime.soc.library import soc_library
    from eyrie.training.cifar10 import CLASSES, preprocess
    from eyrie.training.float_inference import float_logits, read_weights

    try:
        with progress.step(1, 3):
            network = files.load(compiled(MODEL, config))
    except InputError as error:
        failure, options.model = why_in_parts(error, MODEL, 1), MODEL
        return demo_model.run(options, CLASSES, failure)
    for note in photo.notes:
        print(f"{options.image.name}: {note}")
    values = preprocess(photo.pixels[None])
    graph, inputs = network.signature, [values[None]]
    golden = golden_outputs(graph, inputs)

    def real(logits: "np.ndarray") -> "np.ndarray":
        quantization = quantized(graph.output).quantization
        return (logits.reshape(-1).astype(float) - quantization.zero_point) * quantization.scale

    with replacing(BUILD / "demo") as folder:
        about = About(
            f"MobileNetV1 on {options.image.name}",
            MODEL.name,
            picture=png_of(photo.pixels),
            read=lambda logits: ranked(softmax(real(logits)), CLASSES),
            graph=graph_svg(graph),
        )
        with progress.step(2, 3):
            soc_library(config)
        with progress.step(3, 3):
            done, summary, _ = reported(folder, "demo", about, network, inputs, Rtl(SEED), golden)

    answers = {
        "chip": real(done.outputs[0][0]),
        "golden model": real(golden[0][0]),
        "float model": float_logits(read_weights(FLOAT_WEIGHTS), photo.pixels),
    }
    print(f"\n{options.image.name} is a {CLASSES[summary['class']]}\n")
    for who, logits in answers.items():
        _answer(who, logits, CLASSES)
    print(f"\n{layer_table(summary)}")
    print(
        f"\n{summary['cycles']:,} cycles measured (roofline {summary['roofline_cycles']:,}), "
        f"utilisation of the multipliers {100 * summary['utilisation']:.1f} %"
    )
    print(
        f"DRAM {summary['dram_read_bytes'] + summary['dram_write_bytes']:,} bytes "
        f"(compulsory {summary['compulsory_dram_bytes']:,}), "
        f"GLB {summary['glb_read_bytes'] + summary['glb_write_bytes']:,} bytes, "
        f"energy {summary['energy_uJ']} uJ"
    )
    print(report_line(BUILD / "demo"))
    print("match" if summary["match"] else "MISMATCH between chip and golden model")
    return 0 if summary["match"] else 1


def _answer(who: str, logits: "np.ndarray", classes: tuple[str, ...]) -> None:
    from eyrie.runtime.report.about import ranked, softmax

    best = ranked(softmax(logits), classes)[:3]
    print(f"{who:14}" + "  ".join(f"{name} {share:.3f}" for name, share in best))
