# SPDX-License-Identifier: Apache-2.0
"""eyrie/training/quantization.py on a small network: LiteRT and the golden model agree on what it writes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from eyrie.compiler.frontend import tflite
from eyrie.compiler.network import compile_network
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.runtime.bundled import FLOAT_WEIGHTS
from eyrie.training import cifar10, quantization, tflite_reference
from eyrie.training import float_network as network
from tests.commands.commands import assert_rejected, eyrie, files

BLOCKS = ((16, 2), (24, 2), (24, 1), (32, 2))
NAMES = ["conv0", *(f"block{n}/{half}" for n in range(1, 5) for half in ("depthwise", "pointwise")), "fc"]


def random_network(seed: int, monkeypatch: pytest.MonkeyPatch) -> network.MobileNetV1:
    """In the state after a training: batch norms have seen something."""
    monkeypatch.setattr(network, "FIRST_CHANNELS", 8)
    monkeypatch.setattr(network, "BLOCKS", BLOCKS)
    torch.manual_seed(seed)
    model = network.MobileNetV1()
    for norm in (module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)):
        norm.weight.data.uniform_(0.5, 1.5)
        norm.bias.data.uniform_(-0.5, 0.5)
        norm.running_mean.uniform_(-0.2, 0.2)
        norm.running_var.uniform_(0.2, 1.0)
    return model.eval()


@torch.no_grad()
def test_tiny_network(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_network(seed, monkeypatch)
    rng = np.random.default_rng(seed)
    calibration, images = (rng.integers(0, 256, (n, 32, 32, 3), np.uint8) for n in (16, 8))
    layers = quantization.fold(model)
    assert [layer.name for layer in layers] == NAMES
    path = tmp_path / "net.tflite"
    path.write_bytes(quantization.write(layers, quantization.calibrate(layers, calibration)))

    graph = tflite.load(path)
    inputs = cifar10.preprocess(images)
    expected = tflite_reference.run(path, inputs)
    assert len(np.unique(expected)) > 5
    np.testing.assert_array_equal(graph.run_images(inputs), expected)
    # Close to the float network: within some steps of the output.
    output = graph.output.quantization
    real = (expected.reshape(len(images), -1).astype(float) - output.zero_point) * output.scale
    logits = network.float_logits(model, images).numpy()
    assert np.abs(real - logits).max() < 0.15 * (logits.max() - logits.min())
    # And it compiles: the accelerator computes the same.
    image = compile_network(path).image
    simulator = FunctionalSimulator(image.with_input(inputs[0]))
    simulator.run(image.program.address)
    np.testing.assert_array_equal(image.output(simulator.dram), expected[0])


@torch.no_grad()
def test_folding_keeps_the_float_network(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the padding, which stands for another grey value: hence a picture that is that grey outside."""
    model = random_network(seed, monkeypatch)
    images = np.full((2, 32, 32, 3), quantization.GREY, np.uint8)
    images[:, 12:20, 12:20] = np.random.default_rng(seed).integers(0, 256, (2, 8, 8, 3))
    x = (torch.as_tensor(images).float() - quantization.GREY).permute(0, 3, 1, 2) * quantization.INPUT.scale
    *_, folded = quantization.forward(quantization.fold(model), x)
    logits = network.float_logits(model, images)
    assert (folded.reshape(2, -1) - logits).abs().max() < 0.05 * (logits.max() - logits.min())


def test_best_range_cuts_off_rare_large_values_only() -> None:
    even = np.linspace(0, 1, 100_000)
    assert quantization.best_range(even) > 0.98
    assert 0.99 < quantization.best_range(np.append(even, 3.0)) < 2.9


@pytest.mark.parametrize(
    ("float_", "output", "message"),
    [
        (
            "none.npz",
            "net.tflite",
            "none.npz: cannot be read (No such file or directory): eyrie train makes float weights",
        ),
        (None, "net.tflite", ": neither cifar-10-python.tar.gz nor cifar-10-batches-py/ there: get it with"),
        (None, "nowhere/net.tflite", "/nowhere is no folder): name a file in an existing folder"),
    ],
)
def test_rejections(float_: str | None, output: str, message: str, tmp_path: Path) -> None:
    weights = tmp_path / float_ if float_ else FLOAT_WEIGHTS
    run = eyrie("quantize", weights, tmp_path / output, "--cifar10", tmp_path)
    assert_rejected(run, f"eyrie quantize: {tmp_path}")
    assert message in run.stderr and not files(tmp_path)
