# SPDX-License-Identifier: Apache-2.0
"""Quantise a float .tflite model to int8.

    eyrie quantize-model MODEL OUT.tflite --data X.npy
    eyrie quantize-model MODEL OUT.tflite --images DIR --range LOW HIGH

ai-edge-quantizer, of the extra quantize, does the work. The samples, at least 100 of the values that the model will
see, give the ranges of the activations: arrays, N of the input's shape (.npz with an array for each of several inputs),
or pictures, with black as LOW and white as HIGH as in training. The command prints the cost over the samples: the mean
error of the first output, and the share of samples with the same largest value.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_file, whole_file
from eyrie.model.errors import InputError
from eyrie.runtime import progress

if TYPE_CHECKING:
    import numpy as np

    from eyrie.compiler.ir.graph import Graph

PICTURES = (".png", ".jpg", ".jpeg")
FLOAT = "give a float .tflite model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="float .tflite model")
    parser.add_argument("output", type=file_name, metavar="OUT.tflite", help="file to write")
    samples = parser.add_mutually_exclusive_group(required=True)
    samples.add_argument("--data", type=file_name, metavar="X.npy", help="arrays: .npy, or .npz for several inputs")
    samples.add_argument("--images", type=file_name, metavar="DIR", help="folder of pictures; needs --range")
    parser.add_argument(
        "--range", type=float, nargs=2, metavar=("LOW", "HIGH"), help="values of black and white: 0 1, -1 1, 0 255"
    )


def run(options: argparse.Namespace) -> None:
    check_file(options.output)
    if bool(options.images) != bool(options.range):
        raise InputError("--images and --range go together: give both, or --data")
    from eyrie.compiler.frontend import tflite
    from eyrie.compiler.frontend.file import format_of, read_model
    from eyrie.runtime.inputs import read_inputs
    from eyrie.training.float_model import cost, quantized

    model = read_model(options.model)
    if format_of(options.model, model).suffix != ".tflite":
        raise InputError(f"{options.model}: is no TensorFlow Lite file: {FLOAT}")
    graph = tflite.load(options.model)
    if any(tensor.dtype != "float32" for tensor in graph.arguments):
        raise InputError(f"{options.model}: its inputs are not float32: {FLOAT}")
    if options.data:
        arrays = read_inputs(options.data, graph.arguments)
    else:
        arrays = [_pictures(options.images, graph, *options.range)]
    samples = list(zip(*arrays))
    with progress.task(f"quantising {options.model.name}"):
        made = quantized(model, samples)
        found = cost(model, made, samples)
    with whole_file(options.output) as file:
        file.write(made)
    print(
        f"{options.output}: {len(made):,} bytes ({len(model):,} before); over {len(samples)} samples, mean error "
        f"{100 * found.mean_error:.2f} % of the range, {100 * found.agreement:.1f} % with the same largest output"
    )


def _pictures(folder: Path, graph: "Graph", low: float, high: float) -> "np.ndarray":
    """Return all pictures of a folder as [N, 1, H, W, C]. Raise InputError, with one line."""
    import numpy as np

    from eyrie.runtime.pictures import read_photo

    shape = graph.input.shape
    if len(shape) != 4 or shape[0] != 1 or shape[3] != 3:
        raise InputError(f"input {graph.input.name} is {graph.input.form}: no picture of 3 channels; give --data")
    files = sorted(path for path in folder.glob("*") if path.suffix.lower() in PICTURES)
    if not files:
        raise InputError(f"{folder}: has no pictures: give a folder of .png or .jpg files")
    photos = np.stack([read_photo(path, (shape[2], shape[1])).pixels for path in files])
    return (low + photos / 255 * (high - low)).astype(np.float32)[:, None]
