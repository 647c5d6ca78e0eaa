# SPDX-License-Identifier: Apache-2.0
"""Quantisation of float models by ai-edge-quantizer."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_quantizer", reason="make extra-quantize")

from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.parts import compile_parts
from eyrie.model.interpreters import run_litert
from eyrie.runtime.back_ends.functional import Functional
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.commands.commands import eyrie

pytestmark = pytest.mark.extra("quantize")


def quantised(folder: Path, model: bytes, *samples: np.ndarray) -> Graph:
    """Return the Graph of a float model that eyrie quantize-model has quantised."""
    (folder / "net.tflite").write_bytes(model)
    data = folder / ("x.npz" if len(samples) > 1 else "x.npy")
    np.savez(data, *samples) if len(samples) > 1 else np.save(data, *samples)
    ended = eyrie("quantize-model", folder / "net.tflite", folder / "out.tflite", "--data", data)
    assert ended.returncode == 0, ended
    return load(folder / "out.tflite")


def test_ranges_are_those_of_all_samples(tmp_path: Path) -> None:
    """In any order, also of tensors with a single value; the cost names no largest one of these."""
    net = Builder()
    x, y = (net.tensor((1, 1), "float32") for _ in range(2))
    net.operator("FULLY_CONNECTED", [x, net.tensor((1, 1), "float32", data=[[0.5]])], [y])
    values = np.linspace(6, 0, 100, dtype=np.float32).reshape(100, 1, 1)
    graph = quantised(tmp_path, net.pack([x], [y]), values)
    assert graph.input.quantization.scale == pytest.approx(6 / 255, rel=0.01)
    assert graph.output.quantization.scale == pytest.approx(3 / 255, rel=0.01)


def test_each_input_has_its_own_samples(tmp_path: Path) -> None:
    """Each of twelve inputs is ten times as large as its predecessor."""
    net, samples = Builder(), []
    inputs = [net.tensor((1, 4), "float32") for _ in range(12)]
    made = []
    for n, source in enumerate(inputs):
        made.append(net.tensor((1, 4), "float32"))
        data = net.tensor((4, 4), "float32", data=np.eye(4))
        net.operator("FULLY_CONNECTED", [source, data], made[-1:])
        samples.append(np.float32(10.0 ** (n - 6)) * np.linspace(-1, 1, 80, dtype=np.float32).reshape(20, 1, 4))
    graph = quantised(tmp_path, net.pack(inputs, made), *samples)
    for n, tensor in enumerate(graph.inputs):
        assert tensor.quantization.scale == pytest.approx(10.0 ** (n - 6) * 2 / 255, rel=0.02)


def test_samples_that_are_rejected(seed: int, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(network(np.random.default_rng(seed)))
    np.save(tmp_path / "x.npy", np.full((3, 1, 8, 8, 3), np.nan, np.float32))
    words = tmp_path / "net.tflite", tmp_path / "out.tflite"
    ended = eyrie("quantize-model", *words, "--data", tmp_path / "x.npy")
    assert ended.stderr.endswith("x.npy: values of t0 are not finite: leave these samples out\n"), ended
    ended = eyrie("quantize-model", *words, "--images", tmp_path, "--range", 1, 1)
    assert ended.stderr.endswith("--range: black and white must be two finite numbers\n"), ended
    assert not (tmp_path / "out.tflite").exists()


def network(rng: np.random.Generator) -> bytes:
    """Return two convolutions of real numbers."""
    net = Builder()
    x, hidden, y = (net.tensor((1, 8, 8, channels), "float32") for channels in (3, 16, 8))
    for source, made, options in ((x, hidden, {"fusedActivationFunction": 1}), (hidden, y, {})):
        shape = (net.tensors[made].shape[-1], 3, 3, net.tensors[source].shape[-1])
        filters = net.tensor(shape, "float32", data=rng.normal(size=shape) / 6)
        bias = net.tensor(shape[:1], "float32", data=rng.normal(size=shape[0]) / 6)
        net.operator("CONV_2D", [source, filters, bias], [made], **STEPS | options)
    return net.pack([x], [y])


def test_a_float_model_runs_on_the_accelerator(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    model, samples = network(rng), rng.normal(size=(100, 8, 8, 3)).astype(np.float32)
    (tmp_path / "net.tflite").write_bytes(model)
    np.save(tmp_path / "x.npy", samples)
    words = tmp_path / "net.tflite", tmp_path / "out.tflite", "--data", tmp_path / "x.npy"
    ended = eyrie("quantize-model", *words)
    assert ended.returncode == 0 and "over 100 samples, mean error 0." in ended.stdout, ended
    compiled = compile_parts(tmp_path / "out.tflite")
    assert not compiled.partition.host_nodes and compiled.graph.output.shape == (1, 8, 8, 8)
    source, made = compiled.graph.input.quantization, compiled.graph.output.quantization
    codes = np.clip(np.rint(samples[:4] / source.scale) + source.zero_point, -128, 127).astype(np.int8)
    [outputs] = Functional().run(compiled.network, [codes[:, None]]).outputs
    wanted = np.stack([run_litert(model, sample[None])[0] for sample in samples[:4]])
    assert np.abs((outputs.astype(float) - made.zero_point) * made.scale - wanted).mean() < 0.02 * np.ptp(wanted)
