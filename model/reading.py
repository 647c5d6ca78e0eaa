# SPDX-License-Identifier: Apache-2.0
"""Reading of input files with one-line error messages. This module imports no slow packages."""

import json
import os
import stat
from pathlib import Path

from eyrie.model.errors import InputError


def check_readable(path: str | Path, remedy: str) -> None:
    """Raise InputError, with one line that ends with the remedy, unless `path` is a file that can be read.

    Pipes and devices are rejected, because reading one may never end.
    """
    _read(path, remedy, 0)


def read_file(path: str | Path, remedy: str) -> bytes:
    """Return the contents of a file. Raise InputError as check_readable does."""
    return _read(path, remedy, -1)


def read_json(path: str | Path, remedy: str) -> object:
    """Return the contents of a JSON file. Raise InputError, with one line that ends with the remedy."""
    text = read_file(path, remedy)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"{error.msg}: line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError:
        reason = "no text in UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError:
        reason = "a number of thousands of digits"
    raise InputError(f"{path}: not JSON ({reason}): {remedy}")


def _read(path: str | Path, remedy: str, count: int) -> bytes:
    """Return the first `count` bytes; -1: all."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(0, "a pipe or a device")
        with open(path, "rb") as file:
            return file.read(count)
    except ValueError as error:
        raise InputError(f"{path}: cannot be read ({error}): check the path") from error
    except OSError as error:
        if isinstance(error, FileNotFoundError) and remedy.startswith("give ") and "folder" not in remedy:
            remedy = "check the path"  # the kind of the file is not the error
        raise InputError(f"{path}: cannot be read ({error.strerror}): {remedy}") from error
