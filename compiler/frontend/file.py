# SPDX-License-Identifier: Apache-2.0
"""The model's file. Imports nothing slow, so that a command line can refuse one at once."""

from pathlib import Path

from compiler.ir.failure import Failure
from model.reading import read_file

REMEDY = "give an int8 .tflite model"


class ImportFailure(Failure):
    """The model can't be read or has something the machine does not run."""


def read_model(path: str | Path) -> bytes:
    """Raises ValueError, which begins with the path."""
    data = read_file(path, REMEDY)
    if data[4:8] != b"TFL3":
        raise ImportFailure(f"{path}: not a TensorFlow Lite file", remedy=REMEDY)
    return data
