# SPDX-License-Identifier: Apache-2.0
"""MobileNetV1 for 32x32 images (CIFAR-10): the bundled float network, in PyTorch.

A 3x3 convolution, then eight depthwise-separable blocks (depthwise 3x3, batch norm, ReLU, pointwise
1x1, batch norm, ReLU), 2x2 average pooling and a linear classifier: 25,051,136 MACs.
Structure: Howard et al., "MobileNets" (arXiv:1704.04861), with stride 1 where the ImageNet version
would shrink a 32-pixel image too early.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from eyrie.compiler.arrays import read_npz
from eyrie.compiler.files import whole_file
from eyrie.model.errors import InputError
from eyrie.training.cifar10 import MEAN, STD
from eyrie.training.float_inference import REMEDY

FIRST_CHANNELS = 32
FEW_IMAGES = 16  # that one thread is enough for
# (output channels, stride) of each block; the input channels are the previous block's output.
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (1024, 2))


def conv_bn_relu(c_in: int, c_out: int, kernel: int, stride: int = 1, groups: int = 1) -> list:
    """Return [convolution without bias, batch norm, ReLU]; ceil(rows / stride) rows come out."""
    conv = nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(c_out), nn.ReLU(inplace=True)]


class MobileNetV1(nn.Module):
    """Map normalised images, float32 [N, 3, 32, 32], to logits, float32 [N, classes]."""

    def __init__(self, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Sequential(*conv_bn_relu(3, FIRST_CHANNELS, 3))
        blocks, c_in = [], FIRST_CHANNELS
        for c_out, stride in BLOCKS:
            depthwise = conv_bn_relu(c_in, c_in, 3, stride, groups=c_in)
            blocks.append(nn.Sequential(*depthwise, *conv_bn_relu(c_in, c_out, 1)))
            c_in = c_out
        self.layers = nn.Sequential(*blocks)
        self.fc = nn.Linear(c_in, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.layers(self.conv1(x)).mean((2, 3)))


def normalise(images: np.ndarray | torch.Tensor) -> torch.Tensor:
    """Normalise uint8 [N, 32, 32, 3] by the training images: float32 [N, 3, 32, 32]."""
    x = torch.as_tensor(images).float().div_(255.0)
    return x.sub_(torch.tensor(MEAN)).div_(torch.tensor(STD)).permute(0, 3, 1, 2)


def load_float(path: Path | str) -> MobileNetV1:
    """Return the network with the weights of an .npz file, in evaluation mode.

    Raise InputError, in one line, if the file is missing, unreadable or of another network.
    """
    model, weights = MobileNetV1(), read_npz(path, REMEDY)
    try:
        model.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})
    except (RuntimeError, TypeError) as error:
        raise InputError(f"{path}: not float weights of this network: {REMEDY}") from error
    return model.eval()


def save_float(model: MobileNetV1, path: Path) -> None:
    """Write the weights of a network as an .npz file, as a whole or not at all."""
    with whole_file(path) as file:
        np.savez(file, **{name: values.numpy() for name, values in model.state_dict().items()})


@torch.no_grad()
def float_logits(model: MobileNetV1, images: np.ndarray | torch.Tensor, batch: int = 500) -> torch.Tensor:
    """Return the logits, float32 [N, classes], of uint8 images [N, 32, 32, 3]."""
    if len(images) < FEW_IMAGES:  # starting threads would take hundreds of times as long
        torch.set_num_threads(1)
    return torch.cat([model(normalise(part)) for part in torch.tensor(images).split(batch)])
