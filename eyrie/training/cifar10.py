# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10 from the official archive: images, labels, class names and the input's number format.

DIR, which `eyrie cifar10 DIR` fetches, holds `cifar-10-python.tar.gz`, or `cifar-10-batches-py/` unpacked from it, or
is that folder.
"""

import io
import pickle
import tarfile
import zlib
from pathlib import Path
from typing import ClassVar

import numpy as np

from eyrie.model.errors import InputError
from eyrie.model.messages import array
from eyrie.model.reading import check_readable, read_file

ARCHIVE = "cifar-10-python.tar.gz"
FOLDER = "cifar-10-batches-py"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
MEAN = (0.4914, 0.4822, 0.4465)  # of the training images, per channel, pixels scaled to 0..1
STD = (0.2470, 0.2435, 0.2616)
BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}
IMAGES_PER_BATCH = 10_000
_UNPACK, _FETCH = f"unpack {ARCHIVE} anew", "delete it and fetch it again with eyrie cifar10"


def preprocess(images: np.ndarray) -> np.ndarray:
    """Return the int8 network's input for uint8 RGB images [..., 32, 32, 3], same shape: pixel - 128.

    Mean and standard deviation are in the first layer's weights, so that the host needs no other step. Raise InputError
    for another shape or type.
    """
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.shape[-3:] != (32, 32, 3):
        raise InputError(f"images must be uint8 ... x 32 x 32 x 3, these are {array(images)}")
    return (images ^ 0x80).view(np.int8)


class _BatchUnpickler(pickle.Unpickler):
    """Unpickles a batch: only NumPy arrays, no code."""

    allowed: ClassVar[dict[str, object]] = {
        "_reconstruct": np.empty(0).__reduce__()[0],  # moved between NumPy versions; ask for it
        "ndarray": np.ndarray,
        "dtype": np.dtype,
    }

    def find_class(self, module: str, name: str) -> object:
        if module.split(".")[0] == "numpy" and name in self.allowed:
            return self.allowed[name]
        raise pickle.UnpicklingError(f"unexpected {module}.{name}")


def locate(directory: Path | str, split: str) -> Path:
    """Return the unpacked folder with the batches of `split` if it exists, else the archive.

    Raise InputError, with one line, if neither exists.
    """
    directory, names = Path(directory), BATCHES[split]
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory}: no folder: give the one that eyrie cifar10 fills")
    for folder in (directory / FOLDER, directory):
        if (folder / names[0]).is_file():
            if missing := [name for name in names if not (folder / name).is_file()]:
                raise InputError(f"{folder}: {missing[0]} is missing: {_UNPACK}")
            return folder
    if not (directory / ARCHIVE).is_file():
        raise InputError(f"{directory}: neither {ARCHIVE} nor {FOLDER}/ there: get it with eyrie cifar10 {directory}")
    return directory / ARCHIVE


def _read_batches(place: Path, names: list[str]) -> list[bytes]:
    """Return the bytes of the batch files."""
    if place.is_dir():
        return [read_file(place / name, _UNPACK) for name in names]
    check_readable(place, _FETCH)
    try:
        with tarfile.open(place, "r:gz") as tar:
            return [_member(tar, f"{FOLDER}/{name}") for name in names]
    except (tarfile.TarError, OSError, EOFError, KeyError, AttributeError, zlib.error) as error:
        raise InputError(f"{place}: truncated or damaged: {_FETCH}") from error


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    """Return a file of the archive. Raise KeyError if it does not exist."""
    file = tar.extractfile(name)
    if file is None:
        raise KeyError(name)
    return file.read()


def load(directory: Path | str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Return images uint8 [N, 32, 32, 3] (RGB) and labels uint8 [N] of `split`, "train" or "test".

    N is 50,000 or 10,000, in the official order. Raise InputError if the data is missing,
    truncated or damaged, OSError if it cannot be read.
    """
    images, labels = [], []
    place = locate(directory, split)
    for name, raw in zip(BATCHES[split], _read_batches(place, BATCHES[split])):
        try:
            batch = _BatchUnpickler(io.BytesIO(raw), encoding="bytes").load()
            data, label = batch[b"data"], np.array(batch[b"labels"], np.uint8)
            images.append(data.reshape(IMAGES_PER_BATCH, 3, 32, 32).transpose(0, 2, 3, 1))
            labels.append(label.reshape(IMAGES_PER_BATCH))
        except Exception as error:  # a damaged pickle can raise nearly anything
            raise InputError(
                f"{place}: {name} is truncated or damaged: {_UNPACK if place.is_dir() else _FETCH}"
            ) from error
    return np.concatenate(images), np.concatenate(labels)
