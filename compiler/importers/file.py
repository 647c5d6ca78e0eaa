# SPDX-License-Identifier: Apache-2.0
"""The model's file. Imports nothing slow, so that a command line can refuse one at once."""

from pathlib import Path


class ImportFailure(ValueError):
    """The model can't be read or has something the machine does not run; the message is one line."""


def read_model(path: str | Path) -> bytes:
    """Raises ImportFailure, which begins with the path."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ImportFailure(f"{path}: {error.strerror}: give an int8 .tflite model") from error
    if data[4:8] != b"TFL3":
        raise ImportFailure(f"{path}: not a TensorFlow Lite file: give an int8 .tflite model")
    return data
