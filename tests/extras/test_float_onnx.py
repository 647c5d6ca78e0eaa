# SPDX-License-Identifier: Apache-2.0
"""Quantisation of float ONNX models by onnxruntime."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="make extra-onnx")

from eyrie.compiler.parts import compile_parts
from eyrie.model.interpreters import ONNXRUNTIME, run
from eyrie.runtime.back_ends.functional import Functional
from tests.commands.commands import eyrie
from tests.extras.onnx_model import Model

pytestmark = pytest.mark.extra("onnx")


def network(seed: int, path: Path) -> Path:
    """Write two convolutions of real numbers."""
    model = Model(seed, (1, 3, 8, 8))
    filters = (
        model.constant(model.rng.normal(size=shape).astype(np.float32) / 6) for shape in ((16, 3, 3, 3), (8, 16, 1, 1))
    )
    hidden = model.add("Relu", model.add("Conv", "x", next(filters), pads=(1, 1, 1, 1)))
    return model.write(path, model.add("Conv", hidden, next(filters)))


def test_a_float_model_runs_on_the_accelerator(seed: int, tmp_path: Path) -> None:
    path, made = network(seed, tmp_path / "net.onnx"), tmp_path / "out.onnx"
    samples = np.random.default_rng(seed).normal(size=(100, 1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", samples)
    ended = eyrie("quantize-model", path, made, "--data", tmp_path / "x.npy")
    assert ended.returncode == 0 and "over 100 samples, mean error 0." in ended.stdout, ended
    compiled = compile_parts(made)
    assert {node.operator.name for node in compiled.partition.host_nodes} <= {"QUANTIZE", "DEQUANTIZE", "TRANSPOSE"}
    assert compiled.performances[0].macs == 64 * (27 * 16 + 16 * 8)
    [outputs] = Functional().run(compiled.network, [samples[:4]]).outputs
    wanted = np.stack([each[0] for each in run(ONNXRUNTIME, path.read_bytes(), [(sample,) for sample in samples[:4]])])
    assert np.abs(outputs - wanted).mean() < 0.02 * np.ptp(wanted)


def test_rejected(seed: int, tmp_path: Path) -> None:
    path = network(seed, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.zeros((2, 1, 3, 8, 8), np.float32))
    words = "--data", tmp_path / "x.npy"
    ended = eyrie("quantize-model", path, tmp_path / "out.tflite", *words)
    assert ended.stderr.endswith("out.tflite: the model is a .onnx file: give the output this suffix\n")
    quantised = Model(seed, (1, 3, 8, 8))
    quantised.write(path, quantised.through("x", 0.03))
    ended = eyrie("quantize-model", path, tmp_path / "out.onnx", *words)
    assert ended.stderr.endswith("net.onnx: it is quantised already: give a float model\n")
    assert not (tmp_path / "out.onnx").exists()
