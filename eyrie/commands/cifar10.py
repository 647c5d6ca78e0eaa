# SPDX-License-Identifier: Apache-2.0
"""Download CIFAR-10 (163 MB) from its official address and check it.

    eyrie cifar10 DIR

DIR gets the archive; other commands take DIR as --cifar10. If DIR has it already, the command only checks it.
"""

import argparse
import hashlib
import urllib.request
from http.client import HTTPException
from pathlib import Path

import numpy as np

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_folder, whole_file
from eyrie.model.errors import InputError
from eyrie.runtime import progress
from eyrie.training.cifar10 import ARCHIVE, BATCHES, FOLDER, load

URL = f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}"
MD5 = "c58f30108f718f92721af3b95e74349a"
CHUNK = 1 << 20


def fetch(directory: Path, url: str = URL, md5: str = MD5) -> None:
    """Download the archive into `directory`, unless the folder already has it or its contents.

    The file gets its name after its checksum was found right, so that a broken download leaves no file.
    Raise InputError for a wrong checksum, OSError if the address or the disk fails.
    """
    target = directory / ARCHIVE
    if target.exists() or (directory / FOLDER).is_dir() or (directory / BATCHES["train"][0]).is_file():
        return
    digest, done = hashlib.md5(), 0
    with urllib.request.urlopen(url, timeout=60) as source, progress.task("downloading", "MiB") as task:
        directory.mkdir(parents=True, exist_ok=True)
        size = int(source.headers.get("Content-Length") or 0)
        with whole_file(target) as sink:
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                done += sink.write(chunk)
                task.at(done >> 20, size >> 20)
            if digest.hexdigest() != md5:
                raise InputError(f"{url} has md5 {digest.hexdigest()}, expected {md5}: try again")


def _reason(error: Exception) -> str:
    """Return the reason of a failed download in words."""
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or str(cause) or "the connection broke"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=file_name, help="folder to download to")


def run(options: argparse.Namespace) -> None:
    check_folder(options.directory)
    try:
        fetch(options.directory)
    except (OSError, HTTPException) as error:
        raise InputError(f"cannot fetch {URL} ({_reason(error)}): try again") from error
    for split in BATCHES:
        images, labels = load(options.directory, split)
        print(f"{split}: {len(images):,} images, {np.bincount(labels).tolist()} of each class")
