# SPDX-License-Identifier: Apache-2.0
"""NumPy files from any source: check them and report an error in one line. No code of a file is run."""

import io
import warnings
from pathlib import Path

import numpy as np

from eyrie.model.errors import InputError
from eyrie.model.reading import read_file


def read_npy(path: str | Path, remedy: str) -> np.ndarray:
    """Return the array of an .npy file. Raise InputError, with one line, if it cannot be read."""
    values = _load(path, ".npy", remedy)
    if not isinstance(values, np.ndarray):
        raise InputError(f"{path}: an .npz archive: {remedy}")
    return values


def read_npz(path: str | Path, remedy: str) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file, by name. Raise InputError, with one line, if it cannot be read."""
    values = _load(path, ".npz", remedy)
    if isinstance(values, np.ndarray):
        raise InputError(f"{path}: an .npy file, a single array: {remedy}")
    return values


def _load(path: str | Path, kind: str, remedy: str) -> np.ndarray | dict[str, np.ndarray]:
    contents = read_file(path, remedy)
    try:
        with warnings.catch_warnings(action="ignore"):
            found = np.load(io.BytesIO(contents), allow_pickle=False)
            return found if isinstance(found, np.ndarray) else {name: found[name] for name in found.files}
    except Exception as error:  # a damaged file can raise nearly anything
        what = (
            "holds Python objects, which are not read"
            if "Object arrays" in str(error)
            else (f"not a readable {kind} file")
        )
        raise InputError(f"{path}: {what}: {remedy}") from error
