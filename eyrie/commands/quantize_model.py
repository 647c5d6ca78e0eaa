# SPDX-License-Identifier: Apache-2.0
"""Quantise a float .tflite or .onnx model to int8.

    eyrie quantize-model MODEL OUT --data X.npy
    eyrie quantize-model MODEL OUT --images DIR --range LOW HIGH

OUT has the format of MODEL. ai-edge-quantizer, of the extra quantize, does the work for TensorFlow Lite, and
onnxruntime, of the extra onnx, for ONNX. The samples, at least 100 of the values that the model will see, give the
ranges of the activations: arrays, N of the input's shape (.npz with an array for each of several inputs), or pictures,
with black as LOW and white as HIGH as in training. The command prints the cost over the samples: the mean error of the
first output, and the share of samples with the same largest value.
"""

import argparse
import math
from importlib import import_module
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
FLOAT = "give a float .tflite or .onnx model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="float .tflite or .onnx model")
    parser.add_argument("output", type=file_name, metavar="OUT", help="file to write")
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
    if options.range and not (all(map(math.isfinite, options.range)) and options.range[0] != options.range[1]):
        raise InputError("--range: black and white must be two finite numbers")
    from eyrie.compiler.frontend.file import format_of, load, read_model
    from eyrie.runtime.inputs import read_inputs
    from eyrie.training.cost import cost

    model = read_model(options.model)
    suffix = format_of(options.model, model).suffix
    if options.output.suffix != suffix:
        raise InputError(f"{options.output}: the model is a {suffix} file: give the output this suffix")
    graph = load(options.model)
    if any(tensor.dtype != "float32" for tensor in graph.arguments):
        raise InputError(f"{options.model}: its inputs are not float32: {FLOAT}")
    if options.data:
        arrays = read_inputs(options.data, graph.arguments)
    else:
        arrays = [_pictures(options.images, graph, *options.range)]
    import numpy as np

    for tensor, values in zip(graph.arguments, arrays, strict=True):
        if not np.isfinite(values).all():
            raise InputError(f"{options.data}: values of {tensor.name} are not finite: leave these samples out")
    samples = list(zip(*arrays))
    with progress.task(f"quantising {options.model.name}"):
        quantizer = import_module(f"eyrie.training.float_{suffix.removeprefix('.')}")
        try:
            made = quantizer.quantized(model, samples)
            found = cost(*(quantizer.first_outputs(each, samples) for each in (model, made)))
        except InputError as error:
            raise InputError(f"{options.model}: {error}") from error
    with whole_file(options.output) as file:
        file.write(made)
    same = "" if found.agreement is None else f", {100 * found.agreement:.1f} % with the same largest output"
    print(
        f"{options.output}: {len(made):,} bytes ({len(model):,} before); over {len(samples)} samples, mean error "
        f"{100 * found.mean_error:.2f} % of the range{same}"
    )


def _pictures(folder: Path, graph: "Graph", low: float, high: float) -> "np.ndarray":
    """Return all pictures of a folder as [N, 1, H, W, C], or with channels first if the model takes these. Raise
    InputError, with one line."""
    import numpy as np

    from eyrie.runtime.pictures import read_photo

    shape = graph.input.shape
    first = len(shape) == 4 and shape[1] == 3 != shape[3]
    if len(shape) != 4 or shape[0] != 1 or shape[1 if first else 3] != 3:
        raise InputError(f"input {graph.input.name} is {graph.input.form}: no picture of 3 channels; give --data")
    files = sorted(path for path in folder.glob("*") if path.suffix.lower() in PICTURES)
    if not files:
        raise InputError(f"{folder}: has no pictures: give a folder of .png or .jpg files")
    size = (shape[3], shape[2]) if first else (shape[2], shape[1])
    photos = np.stack([read_photo(path, size).pixels for path in files])
    pixels = (low + photos / 255 * (high - low)).astype(np.float32)[:, None]
    return pixels.transpose(0, 1, 4, 2, 3) if first else pixels
