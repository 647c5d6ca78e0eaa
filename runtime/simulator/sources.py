# SPDX-License-Identifier: Apache-2.0
"""The source files of a top module: one module per file, each named after it.

A file needs every file whose name its code mentions (an instance, a package, an included header). Therefore no file
list has to be maintained, and a change or an error in a file that a top does not need does not affect its model. A
signal with the name of a module adds a file too many, which is harmless.
"""

import re
from functools import cache
from pathlib import Path

from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.folders import ROOT

_WORD = re.compile(r"\w+")
_PARAMETER = re.compile(r"^\s*parameter\b[^=]*?(\w+)\s*=", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class SourceError(InputError):
    """A module has no file, or two files have one name. The message is one line."""


@cache
def _index() -> dict[str, list[Path]]:
    """Return every SystemVerilog file of rtl/, runtime/ and tb/ by its name without suffix."""
    index: dict[str, list[Path]] = {}
    for folder in ("rtl", "runtime", "tb"):
        for path in sorted((ROOT / folder).rglob("*.sv*")):
            if path.suffix in (".sv", ".svh"):
                index.setdefault(path.stem, []).append(path)
    return index


def _locate(name: str) -> Path:
    paths = _index().get(name, [])
    if len(paths) != 1:
        found = ", ".join(str(path.relative_to(ROOT)) for path in paths) or "no file"
        raise SourceError(f"module {name} needs one file {name}.sv under rtl/, runtime/ or tb/: {found}")
    return paths[0]


def code(path: Path) -> str:
    """Return the text of a file without its comments."""
    return _COMMENT.sub(" ", path.read_text())


@cache
def _mentions(path: Path) -> tuple[str, ...]:
    """Return the known names in a file, without its own, in order of appearance."""
    words = dict.fromkeys(_WORD.findall(code(path)))
    return tuple(word for word in words if word in _index() and word != path.stem)


def closure(top: str) -> list[Path]:
    """Return the files of module `top`, headers included, each after the files it needs (packages first).

    Raise SourceError if a file is missing or ambiguous.
    """
    order: dict[Path, None] = {}
    entered = set()

    def visit(name: str) -> None:
        if name not in entered:
            entered.add(name)
            path = _locate(name)
            for mention in _mentions(path):
                visit(mention)
            order[path] = None

    visit(top)
    return list(order)


def parameters(top: str) -> list[str]:
    """Return the names of the parameters of module `top`, in order. Raise SourceError as `closure` does."""
    return _PARAMETER.findall(code(_locate(top)))


def sizes_of(top: str, config: AcceleratorConfig) -> dict[str, int]:
    """Return the parameters of an accelerator that module `top` has. Raise SourceError as `closure` does."""
    known = parameters(top)
    return {name: value for name, value in config.parameters.items() if name in known}


def arguments(files: list[Path]) -> list[str]:
    """Return files as arguments of Verilator and slang: the folders of the headers, then the sources."""
    folders = dict.fromkeys(path.parent for path in files if path.suffix == ".svh")
    return [f"+incdir+{folder}" for folder in folders] + [str(path) for path in files if path.suffix == ".sv"]
