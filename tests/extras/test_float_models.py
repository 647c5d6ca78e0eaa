# SPDX-License-Identifier: Apache-2.0
"""Quantisation of float models by ai-edge-quantizer."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_quantizer", reason="make extra-quantize")

from eyrie.compiler.parts import compile_parts
from eyrie.model.interpreters import run_litert
from eyrie.runtime.back_ends.functional import Functional
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.commands.commands import eyrie

pytestmark = pytest.mark.extra("quantize")


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
