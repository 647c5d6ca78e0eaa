# SPDX-License-Identifier: Apache-2.0
"""The golden functions of operators that keep a state. They return the result and the next state.

Sources: TensorFlow Lite Micro, micro/kernels/svdf_common.cc and signal/src/filter_bank_spectral_subtraction.cc.
"""

from dataclasses import dataclass, replace

import numpy as np

from eyrie.model.operators.quantization import Quantization, Requantization, requantize, rescaling


def svdf_scales(
    values: Quantization, features: Quantization, times: Quantization, state: Quantization, made: Quantization
) -> tuple[Requantization, Requantization]:
    """Return the Requantizations of SVDF's sums to the state and to the result, by factors in float32."""

    def scale(one: Quantization, other: Quantization, to: Quantization) -> Requantization:
        return rescaling(np.float64(np.float32(one.scale) * np.float32(other.scale) / np.float32(to.scale)), to)

    return scale(values, features, state), scale(state, times, made)


def svdf(
    values: np.ndarray,
    state: np.ndarray,
    features: np.ndarray,
    times: np.ndarray,
    bias: np.ndarray,
    rank: int,
    scales: tuple[Requantization, Requantization],
    zero_points: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Compute SVDF: int8 `values` [N, C] and `state` [N, F x T] to int8 [N, F / rank] and the next state.

    features     int8 [F, C], of the newest value; times: int8 [F, T], of the last T of them
    bias         int32 [F / rank]; `rank` neighbours of F are added
    scales       of sums over C to the state, and over T to the result
    zero_points  of values and state
    """
    count, filters = len(values), len(features)
    newest = (values.astype(np.int64) - zero_points[0]) @ features.T.astype(np.int64)
    memory = np.roll(state.reshape(count, filters, -1), -1, 2)
    # The reference clamps before it adds the zero point, so that the sum may overflow.
    memory[:, :, -1] = (requantize(newest, replace(scales[0], zero_point=0)).astype(np.int64) + zero_points[1]).astype(
        np.int8
    )
    sums = ((memory.astype(np.int64) - zero_points[1]) * times).sum(2).reshape(count, -1, rank).sum(2) + bias
    return requantize(sums, scales[1]), memory.reshape(state.shape)


@dataclass(frozen=True, kw_only=True)
class SpectralSubtraction:
    """Settings of `subtract_spectrum`: fractions have spectral_subtraction_bits; channels with odd numbers have the
    alternate ones."""

    smoothing: int
    one_minus_smoothing: int
    alternate_smoothing: int
    alternate_one_minus_smoothing: int
    smoothing_bits: int
    min_signal_remaining: int
    spectral_subtraction_bits: int
    clamping: int


def subtract_spectrum(
    signal: np.ndarray, estimate: np.ndarray, settings: SpectralSubtraction
) -> tuple[np.ndarray, np.ndarray]:
    """Subtract from each channel its estimated noise, uint32 [C] both; return the next estimate, too."""
    odd = np.arange(len(signal)) % 2 == 1
    smoothing = np.where(odd, settings.alternate_smoothing, settings.smoothing).astype(np.uint64)
    rest = np.where(odd, settings.alternate_one_minus_smoothing, settings.one_minus_smoothing).astype(np.uint64)
    bits, fraction = np.uint64(settings.smoothing_bits), np.uint64(settings.spectral_subtraction_bits)
    scaled = (signal << np.uint32(bits)).astype(np.uint64)  # in 32 bits
    noise = ((scaled * smoothing + estimate.astype(np.uint64) * rest) >> fraction).astype(np.uint32)
    less = np.minimum(noise, scaled)
    floor = (signal.astype(np.uint64) * np.uint64(settings.min_signal_remaining)) >> fraction
    made = np.maximum((scaled - less) >> bits, floor.astype(np.uint32))
    return made.astype(np.uint32), less.astype(np.uint32) if settings.clamping else noise
