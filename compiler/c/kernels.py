# SPDX-License-Identifier: Apache-2.0
"""The C code of kernels, from the folder kernels/: a file for each kernel, and shared files."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "kernels"
_INCLUDE = re.compile(r'^#include "(.*)"\n', re.MULTILINE)
_FUNCTION = re.compile(r"^static [\w ]+? \*?(\w+)\(", re.MULTILINE)
_LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"


@cache
def read(name: str) -> str:
    return (FOLDER / name).read_text()


def joined(kernels: Iterable[str]) -> str:
    """Return the text of the kernels, after the files that they include; each file once."""
    texts: dict[str, str] = {}
    for kernel in kernels:
        _add(f"{kernel}.c", texts)
    return "\n".join(texts.values())


def _add(name: str, texts: dict[str, str]) -> None:
    if name in texts:
        return
    text = read(name)
    for included in _INCLUDE.findall(text):
        _add(included, texts)
    texts[name] = _INCLUDE.sub("", text).removeprefix(_LICENCE).lstrip("\n")


def functions() -> set[str]:
    """Return the names of all functions that the kernels define."""
    return {word for path in FOLDER.iterdir() for word in _FUNCTION.findall(path.read_text())}
