# SPDX-License-Identifier: Apache-2.0
"""The conversion of a photo to a network's input, by the input's scale and zero point."""

from pathlib import Path

import numpy as np
from PIL.Image import Image

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.inputs import in_file
from eyrie.runtime.pictures import read_photo

CHANNELS = (1, 3)  # of a picture
GREY = np.array((0.299, 0.587, 0.114))  # ITU-R BT.601
# The values of black and white: conventions in the training of networks.
RANGES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (-128.0, 127.0))


def photo_input(picture: str | Path | Image, graph: Graph) -> tuple[np.ndarray, list[str]]:
    """Convert a picture (a file or an image of Pillow) to the input of a network with one picture.

    Return the input, [1, 1, H, W, C] or [1, 1, C, H, W] in the model's type, and the changes to the picture, a sentence
    each. Raise InputError, with one line, if the network has another kind of input or the file is not a picture.
    """
    if len(graph.arguments) != 1:
        names = ", ".join(tensor.name for tensor in graph.arguments)
        raise InputError(f"inputs are {names}: not a single picture; give arrays (eyrie run)")
    tensor = graph.input
    first = len(tensor.shape) == 4 and tensor.shape[3] not in CHANNELS and tensor.shape[1] in CHANNELS
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or (not first and tensor.shape[3] not in CHANNELS):
        raise InputError(
            f"input {tensor.name} is {tensor.form}: no picture of 1 or 3 channels; give arrays (eyrie run)"
        )
    quantization = _quantization(tensor, graph)
    _, rows, columns, channels = (tensor.shape[axis] for axis in (0, 2, 3, 1)) if first else tensor.shape
    photo = read_photo(picture, (columns, rows))
    pixels = photo.pixels.astype(float)
    if channels == 1:
        pixels = (pixels @ GREY)[..., None]
    pixels = pixels.transpose(2, 0, 1) if first else pixels
    low, high = convention(quantization)
    real = low + pixels / 255 * (high - low)
    notes = [*photo.notes, f"black is {low:g} and white {high:g}, as the input's scale says"]
    if tensor.dtype == "float32":
        return real.astype(np.float32)[None, None], notes
    values = np.clip(np.rint(real / quantization.scale) + quantization.zero_point, -128, 127)
    values = values.astype(np.int8)[None, None]
    return in_file(values, tensor), notes


def convention(quantization: Quantization) -> tuple[float, float]:
    """Return the one of RANGES that is closest to the range of int8 values."""
    least, most = ((value - quantization.zero_point) * quantization.scale for value in (-128, 127))
    return min(RANGES, key=lambda ends: (abs(ends[0] - least) + abs(ends[1] - most)) / (ends[1] - ends[0]))


def _quantization(tensor: Tensor, graph: Graph) -> Quantization:
    """Return the quantisation of the input, or of the tensor that a float32 input is quantised to."""
    made = [output for node in graph.readers.get(tensor.name, []) for output in node.outputs]
    found = [each for each in (tensor, *made) if isinstance(each, Quantized)]
    if tensor.dtype not in ("int8", "float32") or not found:
        raise InputError(f"input {tensor.name} is {tensor.form}, without a scale: no picture; give arrays (eyrie run)")
    return found[0].quantization
