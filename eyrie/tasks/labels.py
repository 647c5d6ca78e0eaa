# SPDX-License-Identifier: Apache-2.0
"""Labels: the names of a network's classes."""

import io
import zipfile
from pathlib import Path

from eyrie.model.errors import InputError
from eyrie.model.reading import read_file

REMEDY = "give a text file with a class a line"


def read_labels(path: Path, count: int) -> list[str]:
    """Return the labels of a text file, one line for each class.

    Raise InputError, with one line, if it cannot be read or their number is not `count`.
    """
    try:
        labels = read_file(path, REMEDY).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: no text in UTF-8: {REMEDY}") from error
    if len(labels) != count:
        raise InputError(f"{path}: has {len(labels)} lines, the network has {count} classes: give one a line")
    return labels


def packed_labels(model: Path, count: int) -> list[str] | None:
    """Return the labels that a .tflite file has at its end, as TensorFlow Lite Metadata packs them: the text file with
    `count` lines. Return None if it has none, or several."""
    contents = io.BytesIO(read_file(model, "give a model"))
    if not zipfile.is_zipfile(contents):
        return None
    found = []
    try:
        with zipfile.ZipFile(contents) as files:
            texts = [files.read(name).decode() for name in files.namelist() if name.endswith(".txt")]
        found = [lines for lines in map(str.splitlines, texts) if len(lines) == count]
    except (zipfile.BadZipFile, UnicodeDecodeError, OSError, RuntimeError, NotImplementedError):
        pass  # bytes that look like an archive
    return found[0] if len(found) == 1 else None
