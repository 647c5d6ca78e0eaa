# SPDX-License-Identifier: Apache-2.0
"""The conversion of a photo to a network's input, by the input's scale and zero point."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.inputs import in_file
from eyrie.runtime.pictures import Fit, Photo, Source, read_photo

CHANNELS = (1, 3)  # of a picture
GREY = np.array((0.299, 0.587, 0.114))  # ITU-R BT.601
# The values of black and white: conventions in the training of networks.
RANGES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0), (-128.0, 127.0))
NEAR = 0.25  # of a range: the most by which the ends of an input with its convention differ from it, together


def photo_input(picture: Source, graph: Graph, fit: Fit = "square") -> tuple[np.ndarray, Photo]:
    """Convert a picture (a file or an image of Pillow) to the input of a network with one picture.

    Return the input, [1, 1, H, W, C] or [1, 1, C, H, W] in the model's type, and the fitted photo with all changes in
    its notes. fit: as in `read_photo`. Raise InputError, with one line, if the network has another kind of input or the
    file is not a picture.
    """
    tensor, first = picture_tensor(graph)
    quantization = _quantization(tensor, graph)
    _, rows, columns, channels = (tensor.shape[axis] for axis in (0, 2, 3, 1)) if first else tensor.shape
    photo = read_photo(picture, (columns, rows), fit)
    pixels = photo.pixels.astype(float)
    if channels == 1:
        pixels = (pixels @ GREY)[..., None]
    pixels = pixels.transpose(2, 0, 1) if first else pixels
    if quantization is None:
        note = "black is 0 and white 255: the input is uint8 without a scale"
        return np.rint(pixels).astype(np.uint8)[None, None], replace(photo, notes=(*photo.notes, note))
    low, high = convention(quantization)
    note = f"black is {low:.3g} and white {high:.3g}, as the input's scale says"
    photo = replace(photo, notes=(*photo.notes, note))
    if tensor.dtype == "float32":
        return (low + pixels / 255 * (high - low)).astype(np.float32)[None, None], photo
    return in_file(codes_of(pixels, quantization)[None, None], tensor), photo


def picture_tensor(graph: Graph) -> tuple[Tensor, bool]:
    """Return the input of a network with one picture, and whether its channels are first.

    Raise InputError, with one line, if the network has another kind of input.
    """
    if len(graph.arguments) != 1:
        names = ", ".join(tensor.name for tensor in graph.arguments)
        raise InputError(f"inputs are {names}: not a single picture; give arrays (eyrie run)")
    tensor = graph.input
    first = has_channels_first(tensor)
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or (not first and tensor.shape[3] not in CHANNELS):
        raise InputError(
            f"input {tensor.name} is {tensor.form}: no picture of 1 or 3 channels; give arrays (eyrie run)"
        )
    return tensor, first


def has_channels_first(tensor: Tensor) -> bool:
    """Return whether an input is a picture with channels first."""
    return len(tensor.shape) == 4 and tensor.shape[3] not in CHANNELS and tensor.shape[1] in CHANNELS


def codes_of(pixels: np.ndarray, quantization: Quantization) -> np.ndarray:
    """Return pixels, 0 to 255, as int8 codes of a network's input, by `convention`."""
    low, high = convention(quantization)
    real = low + pixels / 255 * (high - low)
    return np.clip(np.rint(real / quantization.scale) + quantization.zero_point, -128, 127).astype(np.int8)


def convention(quantization: Quantization) -> tuple[float, float]:
    """Return the one of RANGES that is near the range of int8 values, or else that range."""
    least, most = ((value - quantization.zero_point) * quantization.scale for value in (-128, 127))

    def distance(ends: tuple[float, float]) -> float:
        return (abs(ends[0] - least) + abs(ends[1] - most)) / (ends[1] - ends[0])

    nearest = min(RANGES, key=distance)
    return nearest if distance(nearest) <= NEAR else (least, most)


def _quantization(tensor: Tensor, graph: Graph) -> Quantization | None:
    """Return the quantisation of the input, or of the tensor that a float32 input is quantised to. Return None for
    uint8 pixels without a scale."""
    made = [output for node in graph.readers.get(tensor.name, []) for output in node.outputs]
    found = [each for each in (tensor, *made) if isinstance(each, Quantized)]
    if tensor.dtype == "uint8":
        return None
    if tensor.dtype not in ("int8", "float32") or not found:
        raise InputError(f"input {tensor.name} is {tensor.form}, without a scale: no picture; give arrays (eyrie run)")
    return found[0].quantization
