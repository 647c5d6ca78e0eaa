# SPDX-License-Identifier: Apache-2.0
"""Operators that keep a state, against tflite-micro, frame by frame."""

import numpy as np
import pytest
from flatbuffers import flexbuffers

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.operators.recurrent import SubtractSpectrum, Svdf
from eyrie.model.config import DEFAULT
from eyrie.model.interpreters import run
from eyrie.model.operators.reference import Reference
from eyrie.session import session_of
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import Builder

NETWORKS, FRAMES = scaled(60), 12


def compared(model: bytes, frames: list, kind: type) -> Graph:
    """Compare outputs with tflite-micro's."""
    graph = tflite.from_bytes(model)
    assert isinstance(graph.nodes[0].operator, kind) and len(graph.start) == 1
    session = session_of(graph, "net", DEFAULT, "golden")
    for frame, wanted in zip(frames, run(Reference.MICRO, model, [[frame] for frame in frames]), strict=True):
        for made, value in zip(session.run([frame[None]]), wanted, strict=True):
            np.testing.assert_array_equal(made[0].reshape(value.shape), value)
    return graph


@pytest.mark.parametrize("number", range(NETWORKS))
def test_svdf(number: int, seed: int) -> None:
    rng = np.random.default_rng((seed, number))
    batch, channels, units, rank, memory = (int(rng.integers(1, most)) for most in (3, 40, 12, 4, 10))
    filters, net = units * rank, Builder()
    scales = np.exp(rng.uniform(np.log(0.004), np.log(0.2), 2))
    kept = scales[0] * 0.01 * np.sqrt(channels) * np.exp(rng.uniform(-1, 2))
    bias_scale = np.float32(kept) * np.float32(scales[1])
    x = net.tensor((batch, channels), "int8", scales[0], int(rng.integers(-128, 128)))
    features = net.tensor((filters, channels), "int8", 0.01, data=rng.integers(-127, 128, (filters, channels)))
    times = net.tensor((filters, memory), "int8", scales[1], data=rng.integers(-127, 128, (filters, memory)))
    bias = net.tensor((units,), "int32", bias_scale, data=rng.integers(-(2**12), 2**12, units))
    state = net.tensor((batch, filters * memory), "int8", kept, int(rng.integers(-128, 128)))
    net.tensors[state].isVariable = True
    y = net.tensor((batch, units), "int8", kept * scales[1] * 30 * np.sqrt(memory * rank), int(rng.integers(-128, 128)))
    net.operator("SVDF", [x, features, times, bias, state], [y], rank=rank, fusedActivationFunction=1)
    frames = [rng.integers(-128, 128, (batch, channels)).astype(np.int8) for _ in range(FRAMES)]
    compared(net.pack([x], [y]), frames, Svdf)


@pytest.mark.parametrize("clamping", [False, True])
def test_subtract_spectrum(clamping: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for channels in (1, 7, 40):
        net = Builder()
        x, y, noise = (net.tensor((channels,), "uint32") for _ in range(3))
        smoothing, alternate = (int(value) for value in rng.integers(100, 4000, 2))
        options = {
            "alternate_one_minus_smoothing": (1 << 14) - alternate,
            "alternate_smoothing": alternate,
            "clamping": clamping,
            "min_signal_remaining": int(rng.integers(0, 1 << 12)),
            "num_channels": channels,
            "one_minus_smoothing": (1 << 14) - smoothing,
            "smoothing": smoothing,
            "smoothing_bits": 10,
            "spectral_subtraction_bits": 14,
        }
        net.custom("SignalFilterBankSpectralSubtraction", [x], [y, noise], bytes(flexbuffers.Dumps(options)))
        frames = [rng.integers(0, 2 ** rng.integers(4, 23), channels).astype(np.uint32) for _ in range(FRAMES)]
        compared(net.pack([x], [y, noise]), frames, SubtractSpectrum)


def test_an_operator_whose_state_is_hidden_is_rejected() -> None:
    net = Builder()
    x, y = net.tensor((8,), "int16"), net.tensor((8,), "int16")
    net.custom("SignalStacker", [x], [y])
    with pytest.raises(
        ValueError, match="operator #0 SignalStacker: no such operator .*tflite-micro keeps its state to"
    ):
        session_of(tflite.from_bytes(net.pack([x], [y])), "net", DEFAULT, "functional")
