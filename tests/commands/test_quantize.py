# SPDX-License-Identifier: Apache-2.0
"""eyrie/training/quantization.py on a small network: LiteRT and the golden model agree on what it writes."""

from pathlib import Path

import numpy as np
import pytest
import torch

from eyrie.commands import quantize as command
from eyrie.commands.accuracy import classifier_graph
from eyrie.compiler.frontend import tflite
from eyrie.compiler.network import compile_network
from eyrie.model.errors import InputError
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.bundled import FLOAT_WEIGHTS
from eyrie.runtime.preprocessing import codes_of
from eyrie.testing.tflite_builder import STEPS, Builder
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
    quants = quantization.calibrate(layers, calibration)
    path.write_bytes(quantization.write(layers, quants, quantization.quantize(layers, quants, calibration)))

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
def test_fewer_bits_and_zeros(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chosen layers have few values or many zeros, the others stay as they are; LiteRT and the golden model agree.
    A layer of 4 bits is closer to the float network than with each weight rounded to the nearest."""
    layers = quantization.fold(random_network(seed, monkeypatch))
    images = np.random.default_rng(seed).integers(0, 256, (64, 32, 32, 3), np.uint8)
    quants = quantization.calibrate(layers, images)
    plain = quantization.quantize(layers, quants, images)
    layers[6].bits, layers[3].zeros, layers[8].zeros, layers[8].bits = 4, 0.5, 0.7, 6
    rounded = quantization.quantize(layers, quants, images)
    for place, (before, after) in enumerate(zip(plain, rounded)):
        same = np.array_equal(before.weight, after.weight) and np.array_equal(before.scale, after.scale)
        assert same == (place not in (3, 6, 8))
    assert np.abs(rounded[6].weight).max() <= 7 and np.abs(rounded[8].weight).max() <= 31
    assert (rounded[3].weight == 0).mean() >= 0.49 and (rounded[8].weight == 0).mean() >= 0.69

    path = tmp_path / "net.tflite"
    path.write_bytes(quantization.write(layers, quants, rounded))
    inputs = cifar10.preprocess(images[:4])
    np.testing.assert_array_equal(tflite.load(path).run_images(inputs), tflite_reference.run(path, inputs))


@torch.no_grad()
@pytest.mark.parametrize(("groups", "kernel", "stride"), [(1, 1, 1), (1, 3, 2), (12, 3, 1)])
def test_rounding_keeps_sums(groups: int, kernel: int, stride: int, seed: int) -> None:
    """Channels and neighbours in the maps depend on each other, as in networks; the sums are of other images."""
    torch.manual_seed(seed)
    mixed = torch.randn(12, 12) * torch.rand(12)[:, None]
    maps = (torch.nn.functional.avg_pool2d(torch.randn(32, 12, 12, 12), 4, 1) for _ in range(2))
    seen, others = (torch.einsum("nchw,cd->ndhw", each, mixed).relu() for each in maps)
    weight = torch.randn(24, 12 // groups, kernel, kernel)
    layer = quantization.Layer("layer", weight, torch.zeros(24), stride, groups, bits=4)
    careful = quantization.quantize_layer(layer, 0.01, seen)
    nearest = np.rint(weight.numpy() / careful.scale.reshape(-1, 1, 1, 1)).clip(-7, 7).astype(np.int8)

    def error(values: np.ndarray) -> float:
        difference = torch.from_numpy(values * careful.scale.reshape(-1, 1, 1, 1)) - weight
        sums = torch.nn.functional.conv2d(others, difference, None, stride, kernel // 2, groups=groups)
        return float(sums.square().mean())

    assert error(careful.weight) < 0.9 * error(nearest)


@torch.no_grad()
def test_an_unknown_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = quantization.fold(random_network(1, monkeypatch))
    chosen = command.chosen("--bits", [("block[1-2]/*", 5), ("fc", 4)], layers)
    assert [(layer.name, bits) for layer, bits in chosen] == [*((name, 5) for name in NAMES[1:5]), ("fc", 4)]
    with pytest.raises(InputError, match=r"--bits block9=4: no layer has this name: choose from conv0, block1/depthwi"):
        command.chosen("--bits", [("block9", 4)], layers)


@torch.no_grad()
def test_folding_keeps_the_float_network(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the padding, which stands for another grey value: hence a picture that is that grey outside."""
    model = random_network(seed, monkeypatch)
    images = np.full((2, 32, 32, 3), quantization.GREY, np.uint8)
    images[:, 12:20, 12:20] = np.random.default_rng(seed).integers(0, 256, (2, 8, 8, 3))
    *_, folded = quantization.forward(quantization.fold(model), quantization.real(images))
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


def test_accuracy_is_of_int8_inputs(tmp_path: Path) -> None:
    net = Builder()
    given, made = net.tensor((1, 32, 32, 3), "float32"), net.tensor((1, 32, 32, 3), scale=1 / 255, zero_point=-128)
    net.operator("QUANTIZE", [given], [made])
    filters = net.tensor((10, 32, 32, 3), scale=0.01, data=np.ones((10, 32, 32, 3), np.int8))
    last = net.tensor((1, 1, 1, 10), scale=0.1)
    net.operator("CONV_2D", [made, filters], [last], **STEPS | {"padding": 1})
    path = tmp_path / "net.tflite"
    path.write_bytes(net.pack([given], [last]))
    with pytest.raises(InputError, match=f"^{path}: its input is float32: give a network with int8 or uint8 inputs$"):
        classifier_graph(path)


@pytest.mark.parametrize(("scale", "zero_point"), [(1 / 255, -128), (2 / 255, -1), (0.02, 10)])
def test_codes_of_pixels(scale: float, zero_point: int) -> None:
    """Real numbers of a convention, as the input's scale has them; all codes where none is near."""
    codes = codes_of(np.arange(256), Quantization(scale, zero_point)).astype(int)
    assert len(np.unique(codes)) >= 255 and np.abs(codes - np.arange(-128, 128)).max() <= 1
