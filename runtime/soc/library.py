# SPDX-License-Identifier: Apache-2.0
"""The shared library of an accelerator's simulated SoC and the driver. Python calls it, and C programs are linked with
it.

The model is built like cocotb's, with the same optimisation, but without the VPI and without visible variables. A
library is in build/socs/ and is reused while neither the model nor the C sources change.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.cached_folders import cached
from eyrie.runtime.folders import BUILD, ROOT
from eyrie.runtime.simulator.sources import sizes_of
from eyrie.runtime.simulator.verilate import LIBRARY, build_model
from eyrie.runtime.simulator.verilator import BuildError

TOP = "soc"
SOC = ROOT / "runtime" / "soc"
DRIVER = ROOT / "runtime" / "c" / "driver"
OPERATORS = ROOT / "runtime" / "c" / "operators"
DRAM = "runtime/soc/dram.cpp"  # memory of axi_dram, relative to the repository
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
NAME = "libsoc.so"
_MODEL = (DRAM, "runtime/soc/soc.cpp", "runtime/soc/soc.h")
_OWN = (ROOT / "runtime", ROOT / "tb")
_INCLUDES = (f"-I{DRIVER}", f"-I{SOC}")


def soc_library(config: AcceleratorConfig) -> Path:
    """Return the library of an accelerator's SoC, built first if needed. Raise BuildError and SourceError."""
    model = build_model(TOP, sizes_of(TOP, config), _MODEL, library=True, assertions=False)
    sizes = ",".join(map(str, config.parameters.values()))
    sources = [*sorted(DRIVER.glob("*.c")), SOC / "platform.c"]
    files = [*sources, *sorted(DRIVER.glob("*.h")), SOC / "soc.h"]
    key = hashlib.sha256("\0".join([model.name, sizes, *(path.read_text() for path in files)]).encode())
    folder = BUILD / "socs" / key.hexdigest()[:16]
    cached(folder, "linking the simulator", lambda part, _task: _build(sources, model, sizes, part))
    return folder / NAME


def _build(sources: list[Path], model: Path, sizes: str, folder: Path) -> None:
    objects = compiled(sources, folder, (f"-DCONFIG_SIZES={{{sizes}}}", "-fPIC", *_INCLUDES))
    archive, runtime = (model / name for name in LIBRARY)
    compiler(
        "c++",
        "-shared",
        *objects,
        "-Wl,--whole-archive",
        archive,
        "-Wl,--no-whole-archive",
        runtime,
        "-pthread",
        "-latomic",
        "-o",
        folder / NAME,
    )
    for path in objects:
        path.unlink()


def compiled(sources: list[Path], folder: Path, flags: tuple[str, ...]) -> list[Path]:
    """Return the objects of C sources, each with a name of its own, in a folder.

    A warning is an error in a source of Eyrie's, and is shown of any other. Raise BuildError.
    """
    objects = []
    for path in sources:
        objects.append(folder / f"{path.stem}.o")
        own = any(path.absolute().is_relative_to(each) for each in _OWN)
        warnings = WARNINGS if own else (*WARNINGS, "-Wno-error")
        compiler("cc", "-std=c99", *warnings, "-O2", *flags, "-c", path, "-o", objects[-1])
    return objects


def compiler(name: str, *arguments: object) -> None:
    """Run a compiler, and show its warnings. Raise BuildError with the first errors."""
    if not shutil.which(name):
        raise BuildError(f"no {name} there: install a C compiler")
    ended = subprocess.run([name, *map(str, arguments)], capture_output=True, text=True)
    if ended.returncode != 0:
        raise BuildError(
            "\n".join([line for line in ended.stderr.splitlines() if "rror" in line][:12]) or f"{name} failed"
        )
    sys.stderr.write(ended.stderr)
