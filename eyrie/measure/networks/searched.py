# SPDX-License-Identifier: Apache-2.0
"""Networks that an architecture search has found, with random weights: MnasNet-B1 (Tan et al., 2019), MobileNetV3
(Howard et al., 2019) and EfficientNet-Lite0 (after Tan and Le, 2019) of any size.

Many of their depthwise layers have kernels of 5 x 5. Every layer uses its whole range of values, so that clipping hides
no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyrie.measure.networks.mobilenets import FAMILY, Layers, Mobilenet, Stage, eighths, inverted_residuals

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.training.tflite_writer import Tensor

MNASNET: tuple[Stage, ...] = (
    (3, 1, 16, 1, 1),
    (3, 3, 24, 3, 2),
    (5, 3, 40, 3, 2),
    (5, 6, 80, 3, 2),
    (3, 6, 96, 2, 1),
    (5, 6, 192, 4, 2),
    (3, 6, 320, 1, 1),
)
EFFICIENTNET_LITE0: tuple[Stage, ...] = (
    (3, 1, 16, 1, 1),
    (3, 6, 24, 2, 2),
    (5, 6, 40, 2, 2),
    (3, 6, 80, 3, 2),
    (5, 6, 112, 3, 1),
    (5, 6, 192, 4, 2),
    (3, 6, 320, 1, 1),
)
# Of MobileNetV3: kernel, expanded channels, output channels, whether squeezed and excited, whether hard swish, stride.
LARGE = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)
SMALL = (
    (3, 16, 16, True, False, 2),
    (3, 72, 24, False, False, 2),
    (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1),
    (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1),
    (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1),
    (5, 576, 96, True, True, 1),
)
SQUEEZE = 4  # expanded channels over squeezed ones
STAGES = {"mnasnet_b1": MNASNET, "efficientnet_lite0": EFFICIENTNET_LITE0}
BLOCKS = {"mobilenet_v3_small": (SMALL, 1024), "mobilenet_v3_large": (LARGE, 1280)}  # and channels before the classes


@dataclass(frozen=True)
class Searched:
    """A network. kind: of STAGES or BLOCKS; size: rows and columns"""

    kind: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.size}"

    def model(self, seed: int = 1) -> bytes:
        """Return the .tflite file."""
        layers = Layers(self.name, self.size, seed)
        return _of_stages(layers, STAGES[self.kind]) if self.kind in STAGES else _v3(layers, *BLOCKS[self.kind])


SEARCHED = tuple(Searched(kind, size) for kind in (*STAGES, *BLOCKS) for size in (96, 160, 224))
NETWORKS: tuple[Mobilenet | Searched, ...] = (*FAMILY, *SEARCHED)  # of `make family`


def _of_stages(layers: Layers, stages: tuple[Stage, ...]) -> bytes:
    x = inverted_residuals(layers, layers.conv(layers.input, 32, 3, 2), stages)
    return layers.classified(layers.conv(x, 1280))


def _v3(layers: Layers, blocks: tuple[tuple[int, int, int, bool, bool, int], ...], last: int) -> bytes:
    x = layers.hard_swish(layers.conv(layers.input, 16, 3, 2, relu=0))
    for kernel, expanded, filters, excited, swish, stride in blocks:
        relu, wide = 0 if swish else 6, x
        if expanded > x.shape[3]:
            wide = layers.conv(x, expanded, relu=relu)
            wide = layers.hard_swish(wide) if swish else wide
        wide = layers.depthwise(wide, stride, kernel, relu=relu)
        wide = layers.hard_swish(wide) if swish else wide
        made = layers.conv(_excited(layers, wide) if excited else wide, filters, relu=0)
        x = layers.add(x, made) if x.shape == made.shape else made
    x = layers.hard_swish(layers.conv(x, expanded, relu=0))
    x = layers.hard_swish(layers.conv(layers.average(x), last, relu=0))
    return layers.net.build([layers.fully_connected(x)])


def _excited(layers: Layers, x: Tensor) -> Tensor:
    """Weigh each channel by what two layers make of all means. The hard sigmoid is a ReLU6 whose bias is larger by
    3, and whose scale has its factor."""
    mean = layers.average(x)
    squeezed = layers.conv(mean, eighths(x.shape[3] / SQUEEZE))
    return layers.multiply(x, layers.conv(squeezed, x.shape[3]))
