# SPDX-License-Identifier: Apache-2.0
"""Classify a photo on the simulated chip, or run any network on a picture or a sound.

    eyrie demo [--image photo.png] [--model any.tflite [--task NAME] [--labels FILE] [--threshold P]] [--config FILE]
    eyrie demo --model any.tflite --sound word.wav [--front-end features.tflite]

The bundled MobileNetV1 runs on the RTL, in the default configuration or in the one of FILE. The command prints the
answers of the chip, of the golden model and of the float model, a table of the layers, and the totals. It leaves
summary.json and report.html in build/demo. The exit code is 1 if RTL and golden model differ.

With --model it runs any network that takes a picture, split between accelerator and CPU if necessary. It recognises the
task by the outputs: classification, detection, segmentation or pose; --task names it. The command prints the answer in
words and draws it into answer.png in build/demo (docs/howto/tasks.md). If it does not recognise the task, it prints the
largest values of the outputs. Classes have the names of --labels, or of the labels in the model's file, or numbers.

--sound classifies a .wav file, such as a keyword. --front-end names the model that computes the features of each window
of 20 ms, if the network does not take samples. --back-end runs the model elsewhere than on the RTL, without a report.
"""

import argparse
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name
from eyrie.model.errors import InputError
from eyrie.model.messages import with_article
from eyrie.runtime.back_ends import BACK_ENDS
from eyrie.runtime.bundled import FLOAT_WEIGHTS, MODEL, PHOTO

if TYPE_CHECKING:
    import numpy as np

SIZE = (32, 32)
SHOWN = 5  # pixels of the report for a pixel of the input
SEED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", type=file_name, metavar="FILE", help="any picture, the bundled one by default")
    parser.add_argument("--sound", type=file_name, metavar="FILE", help="a .wav file: mono, 16 bits, 16 kHz")
    parser.add_argument(
        "--model", type=file_name, metavar="FILE", help="a .tflite or .onnx model, the bundled one by default"
    )
    parser.add_argument("--task", metavar="NAME", help="task of --model: classification, detection, segmentation, pose")
    parser.add_argument("--labels", type=file_name, metavar="FILE", help="the classes of --model, one a line")
    parser.add_argument("--threshold", type=_score, help="score from which boxes (0.5) and keypoints (0.3) count")
    parser.add_argument("--front-end", type=file_name, metavar="FILE", help="model of the features of --sound")
    parser.add_argument(
        "--back-end", metavar="BACK_END", choices=BACK_ENDS, default="rtl", help=f"{', '.join(BACK_ENDS)} (rtl)"
    )
    parser.add_argument("--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters")


def run(options: argparse.Namespace) -> int:
    _check(options)
    options.image = options.image or PHOTO
    if options.model:
        from eyrie.tasks import demo

        return demo.run(options)
    from eyrie.model.config import DEFAULT, AcceleratorConfig
    from eyrie.runtime.pictures import read_photo

    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    photo = read_photo(options.image, SIZE)
    from eyrie.compiler.artefact import files
    from eyrie.compiler.ir.operator import quantized
    from eyrie.runtime import progress
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

    with progress.step(1, 3):
        network = files.load(compiled(MODEL, config))
    if not network.whole:
        from eyrie.tasks import demo

        options.model, options.task = MODEL, "classification"
        return demo.run(options, CLASSES)
    for note in photo.notes:
        print(f"{options.image.name}: {note}")
    values = preprocess(photo.pixels[None])
    graph, inputs = network.signature, [values[None]]
    golden = golden_outputs(graph, inputs)

    def real(logits: "np.ndarray") -> "np.ndarray":
        quantization = quantized(graph.output).quantization
        return (logits.reshape(-1).astype(float) - quantization.zero_point) * quantization.scale

    shown = photo.pixels.repeat(SHOWN, 0).repeat(SHOWN, 1)
    with replacing(BUILD / "demo") as folder:
        about = About(
            f"MobileNetV1 on {options.image.name}",
            MODEL.name,
            read=lambda outputs: (png_of(shown), ranked(softmax(real(outputs[0])), CLASSES)),
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
    print(f"\n{options.image.name} is {with_article(CLASSES[summary['class']])}\n")
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


def _score(text: str) -> float:
    """Return a score from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number from 0 to 1")
    return value


def _check(options: argparse.Namespace) -> None:
    """Raise InputError if options do not fit together."""
    if options.labels and not options.model:
        raise InputError("--labels is for --model: the bundled network has its own classes; leave it out")
    for name in ("sound", "task", "threshold"):
        if getattr(options, name) is not None and not options.model:
            raise InputError(f"--{name} is for --model: the bundled network classifies a picture; leave it out")
    if options.back_end != "rtl" and not options.model:
        raise InputError("--back-end is for --model: the demo of the bundled network runs on the RTL; leave it out")
    if options.sound and options.image:
        raise InputError("--image and --sound are two inputs: leave out one")
    if options.front_end and not options.sound:
        raise InputError("--front-end is for --sound: leave it out")


def _answer(who: str, logits: "np.ndarray", classes: tuple[str, ...]) -> None:
    from eyrie.runtime.report.about import ranked, softmax

    best = ranked(softmax(logits), classes)[:3]
    print(f"{who:14}" + "  ".join(f"{name} {share:.3f}" for name, share in best))
