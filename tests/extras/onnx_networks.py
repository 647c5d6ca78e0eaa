# SPDX-License-Identifier: Apache-2.0
"""Networks of published shapes, trained a little on drawn patterns, exported by PyTorch and quantised by onnxruntime.

    .venv/bin/python -m tests.extras.onnx_networks FOLDER

writes all of them, each as QDQ with int8 and as QLinear with uint8 activations.
"""

import logging
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import nn

CLASSES = 10
SIZE = 32
STEPS, BATCH = 60, 32
FORMATS = {"qdq": (QuantFormat.QDQ, QuantType.QInt8), "qlinear": (QuantFormat.QOperator, QuantType.QUInt8)}


def _conv(
    before: int,
    after: int,
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
    activation: type[nn.Module] | None = nn.ReLU,
) -> list[nn.Module]:
    made = [nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(after)]
    return [*made, activation()] if activation else made


class Residual(nn.Module):
    """Two convolutions and a way past them."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(*_conv(before, after, stride=stride), *_conv(after, after, activation=None))
        same = before == after and stride == 1
        self.past = nn.Identity() if same else nn.Sequential(*_conv(before, after, 1, stride, activation=None))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.past(x))


class Inverted(nn.Module):
    """Expansion, depthwise convolution, projection; added to what it took where that has the same shape."""

    def __init__(self, before: int, after: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner, self.same = before * expansion, before == after and stride == 1
        self.body = nn.Sequential(
            *_conv(before, inner, 1, activation=nn.ReLU6),
            *_conv(inner, inner, 3, stride, inner, nn.ReLU6),
            *_conv(inner, after, 1, activation=None),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.same else self.body(x)


def _head(channels: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)]


def resnet8() -> nn.Module:
    return nn.Sequential(*_conv(3, 16), Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2), *_head(64))


def mobilenetv2() -> nn.Module:
    blocks = [(16, 16, 1, 1), (16, 24, 2, 6), (24, 24, 1, 6), (24, 32, 2, 6), (32, 32, 1, 6), (32, 48, 1, 6)]
    return nn.Sequential(
        *_conv(3, 16, 3, 2, activation=nn.ReLU6),
        *(Inverted(*each) for each in blocks),
        *_conv(48, 96, 1, activation=nn.ReLU6),
        *_head(96),
    )


def vgg() -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 64)):
        layers += [*_conv(before, after), *_conv(after, after), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * (SIZE // 8) ** 2, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def ds_cnn() -> nn.Module:
    layers = [nn.Conv2d(3, 32, (10, 4), 2, (4, 1), bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    for _ in range(3):
        layers += [*_conv(32, 32, groups=32), *_conv(32, 32, 1)]
    return nn.Sequential(*layers, nn.Dropout(0.1), nn.AvgPool2d(2), *_head(32))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "resnet8": resnet8,
    "mobilenetv2": mobilenetv2,
    "vgg": vgg,
    "ds_cnn": ds_cnn,
}


def images(count: int, seed: int, round_: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """float32 [N, 3, H, W], and the pattern that each has, of one in CLASSES."""
    patterns = np.random.default_rng([seed, 5]).normal(0, 1, (CLASSES, 3, 8, 8)).repeat(4, 2).repeat(4, 3)
    rng = np.random.default_rng([seed, 6, round_])
    classes = rng.integers(0, CLASSES, count)
    return (patterns[classes] + rng.normal(0, 0.4, (count, 3, SIZE, SIZE))).astype(np.float32), classes


def trained(name: str, seed: int) -> nn.Module:
    """In one thread: small layers of several wait for each other where other processes run."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    network = NETWORKS[name]().train()
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    for step in range(STEPS):
        inputs, classes = images(BATCH, seed, step + 1)
        loss = nn.functional.cross_entropy(network(torch.tensor(inputs)), torch.tensor(classes))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network.eval()


class _Calibration(CalibrationDataReader):
    def __init__(self, end: str, values: np.ndarray) -> None:
        self.rest = iter([{end: each[None]} for each in values])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.rest, None)


def exported(network: nn.Module, path: Path, batch: int | None = 1) -> None:
    """batch: None for one that is known when the network runs."""
    example = torch.zeros((batch or 2, 3, SIZE, SIZE))
    shapes = None if batch else ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(
            network,
            (example,),
            path,
            input_names=["image"],
            output_names=["logits"],
            dynamic_shapes=shapes,
            external_data=False,
            verbose=False,
        )


def write(name: str, seed: int, paths: dict[str, Path], batch: int | None = 1) -> None:
    """paths: by the names of FORMATS."""
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        plain, prepared = Path(folder, "plain.onnx"), Path(folder, "prepared.onnx")
        exported(trained(name, seed), plain, batch)
        quant_pre_process(plain, prepared, skip_symbolic_shape=True)
        for form, path in paths.items():
            layout, activations = FORMATS[form]
            quantize_static(
                prepared,
                path,
                _Calibration("image", images(32, seed)[0]),
                quant_format=layout,
                per_channel=True,
                activation_type=activations,
                weight_type=QuantType.QInt8,
            )


if __name__ == "__main__":
    for each in NETWORKS:
        write(each, 1, {form: Path(sys.argv[1], f"{each}_{form}.onnx") for form in FORMATS})
