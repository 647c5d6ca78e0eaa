# SPDX-License-Identifier: Apache-2.0
"""Sounds as .wav files."""

import wave
from pathlib import Path

import numpy as np

SECOND = 16_000  # samples


def saved(path: Path, samples: np.ndarray, channels: int = 1, rate: int = SECOND) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(samples.dtype.itemsize)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return path
