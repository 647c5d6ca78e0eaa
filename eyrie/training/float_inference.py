# SPDX-License-Identifier: Apache-2.0
"""The bundled network in floating point, in NumPy: the demo compares the int8 network with it.

float_network.py defines the same network for training, in PyTorch; the parameters have the same names here.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from eyrie.compiler.arrays import read_npz
from eyrie.training.cifar10 import MEAN, STD

REMEDY = "eyrie train makes float weights"
EPSILON = 1e-5  # of PyTorch's batch norm
STRIDES = (1, 2, 1, 2, 1, 2, 1, 2)  # of the depthwise-separable blocks

Weights = Mapping[str, np.ndarray]


def read_weights(path: Path | str) -> Weights:
    """Return the float weights by name, as `eyrie train` writes them. Raise InputError, in one line."""
    return read_npz(path, REMEDY)


def float_logits(weights: Weights, image: np.ndarray) -> np.ndarray:
    """Return the logits, float32 [classes], of an image, uint8 [32, 32, 3]."""
    x = ((image / 255.0 - MEAN) / STD).astype(np.float32)
    x = _normalised(_windows(x, 1), "hwcrs,mcrs->hwm", weights, "conv1.0", "conv1.1")
    for number, stride in enumerate(STRIDES):
        block = f"layers.{number}"
        x = _normalised(_windows(x, stride), "hwcrs,cnrs->hwc", weights, f"{block}.0", f"{block}.1")
        x = _normalised(x, "hwc,mcrs->hwm", weights, f"{block}.3", f"{block}.4")
    return weights["fc.weight"] @ x.mean((0, 1)) + weights["fc.bias"]


def _windows(x: np.ndarray, stride: int) -> np.ndarray:
    """Return the 3x3 windows of a map [H, W, C] with a margin of one zero: [E, F, C, 3, 3]."""
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (0, 1))[::stride, ::stride]


def _normalised(x: np.ndarray, product: str, weights: Weights, convolution: str, norm: str) -> np.ndarray:
    """Return a convolution, as `product` of numpy.einsum has it, with batch norm and ReLU."""
    sums = np.einsum(product, x, weights[f"{convolution}.weight"], optimize=True)
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    return np.maximum((sums - weights[f"{norm}.running_mean"]) * scale + weights[f"{norm}.bias"], 0)
