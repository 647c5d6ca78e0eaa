# SPDX-License-Identifier: Apache-2.0
"""Quantise float weights to an int8 .tflite file.

    eyrie quantize FLOAT.npz OUT.tflite --cifar10 DIR [--images 1024] [--bits LAYER=N ...] [--zeros LAYER=P ...]

The first training images calibrate the activations. eyrie/training/quantization.py documents the method.

--bits and --zeros make weights that take fewer bytes once they are coded (a configuration with weight_codes). LAYER is
a name that this command prints, or a pattern: --bits 'block[5-8]/pointwise=4' --zeros 'block8/*=50'.
"""

import argparse
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from eyrie.compiler.codes.choice import entropy_bits, histogram
from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, whole_file
from eyrie.model.errors import InputError
from eyrie.model.reading import check_readable
from eyrie.runtime import progress

if TYPE_CHECKING:
    from eyrie.training.quantization import Layer

CALIBRATION_IMAGES = 1024
TRAINING_IMAGES = 50_000
FEWEST_BITS, MOST_BITS = 3, 8
MOST_ZEROS = 95  # percent


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
    parser.add_argument(
        "--bits",
        type=of_layers(whole_number(FEWEST_BITS, MOST_BITS)),
        action="append",
        default=[],
        metavar="LAYER=N",
        help=f"bits of the weights of these layers, {FEWEST_BITS} to {MOST_BITS} ({MOST_BITS}); may be repeated",
    )
    parser.add_argument(
        "--zeros",
        type=of_layers(whole_number(0, MOST_ZEROS)),
        action="append",
        default=[],
        metavar="LAYER=P",
        help="percentage of the weights of these layers that become zero at least (0); may be repeated",
    )


def of_layers(number: Callable[[str], int]) -> Callable[[str], tuple[str, int]]:
    """Return the type of an argument LAYER=N: the name or pattern, and a number."""

    def convert(text: str) -> tuple[str, int]:
        pattern, equals, value = text.rpartition("=")
        if not (pattern and equals):
            raise argparse.ArgumentTypeError(f"{text!r}: must be LAYER=NUMBER")
        return pattern, number(value)

    return convert


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    check_readable(options.float, "eyrie train makes float weights")
    from eyrie.training import cifar10

    cifar10.locate(options.cifar10, "train")
    import torch

    from eyrie.training.float_network import load_float
    from eyrie.training.quantization import calibrate, fold, quantize, write

    with torch.no_grad():
        layers = fold(load_float(options.float))
        for layer, bits in chosen("--bits", options.bits, layers):
            layer.bits = bits
        for layer, percent in chosen("--zeros", options.zeros, layers):
            layer.zeros = percent / 100
        images, _ = cifar10.load(options.cifar10, "train")
        with progress.task(f"calibrating on {options.images:,} images"):
            quants = calibrate(layers, images[: options.images])
        with progress.task("rounding the weights"):
            rounded = quantize(layers, quants, images[: options.images])
        model = write(layers, quants, rounded)
    for layer, quant, values in zip(layers, quants, rounded):
        entropy = entropy_bits(histogram(values.weight)) / values.weight.size
        print(
            f"{layer.name:18} scale {quant.scale:.6f} zero point {quant.zero_point:4}, weights of {layer.bits} bits, "
            f"{(values.weight == 0).mean():.0%} zeros, entropy {entropy:.2f} bits"
        )
    with whole_file(options.output) as file:
        file.write(model)
    print(f"{options.output}: {len(model)} bytes")


def chosen(option: str, values: list[tuple[str, int]], layers: list["Layer"]) -> list[tuple["Layer", int]]:
    """Return the layers of LAYER=N arguments with their numbers. Raise InputError for a name that no layer has."""
    chosen = []
    for pattern, value in values:
        matching = [layer for layer in layers if fnmatchcase(layer.name, pattern)]
        if not matching:
            names = ", ".join(layer.name for layer in layers)
            raise InputError(f"{option} {pattern}={value}: no layer has this name: choose from {names}")
        chosen += [(layer, value) for layer in matching]
    return chosen
