# SPDX-License-Identifier: Apache-2.0
"""Quantise float weights to an int8 .tflite file.

    eyrie quantize FLOAT.npz OUT.tflite --cifar10 DIR [--images 1024]

The first training images calibrate the activations. eyrie/training/quantization.py documents the method.
"""

import argparse

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, whole_file
from eyrie.model.reading import check_readable
from eyrie.runtime import progress

CALIBRATION_IMAGES = 1024
TRAINING_IMAGES = 50_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("float", type=file_name, metavar="FLOAT.npz", help="weights that eyrie train wrote")
    parser.add_argument("output", type=file_name, metavar="OUT.tflite", help="file to write")
    parser.add_argument("--cifar10", type=file_name, required=True, metavar="DIR", help="folder with CIFAR-10")
    parser.add_argument(
        "--images",
        type=whole_number(1, TRAINING_IMAGES),
        default=CALIBRATION_IMAGES,
        metavar="N",
        help=f"training images to calibrate with, about 1 MB of memory each ({CALIBRATION_IMAGES})",
    )


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    check_readable(options.float, "eyrie train makes float weights")
    from eyrie.training import cifar10

    cifar10.locate(options.cifar10, "train")
    import torch

    from eyrie.training.float_network import load_float
    from eyrie.training.quantization import calibrate, fold, write

    with torch.no_grad():
        layers = fold(load_float(options.float))
        images, _ = cifar10.load(options.cifar10, "train")
        with progress.task(f"calibrating on {options.images:,} images"):
            quants = calibrate(layers, images[: options.images])
        model = write(layers, quants)
    for layer, quant in zip(layers, quants):
        print(f"{layer.name:18} scale {quant.scale:.6f} zero point {quant.zero_point}")
    with whole_file(options.output) as file:
        file.write(model)
    print(f"{options.output}: {len(model)} bytes")
