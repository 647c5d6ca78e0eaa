# SPDX-License-Identifier: Apache-2.0
"""C programs on the driver (runtime/c/driver) or the operator library (runtime/c/eyrie.h), linked with a simulated SoC:
they see its registers and its DRAM, and nothing else of it."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.cost.timing.front import DRAM_LATENCY
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.folders import BUILD, ROOT
from eyrie.runtime.soc.library import DRIVER, OPERATORS, SOC, compiled, compiler, soc_library

EXAMPLES = ROOT / "runtime" / "c" / "examples"
CLASSIFY, CONVOLUTION = EXAMPLES / "classify.c", EXAMPLES / "convolution.c"
REQUESTS = BUILD / "requests"  # what operators programs have asked for
PROGRAMS = SOC / "operator_programs.c"
COMPILE = f"{shlex.quote(sys.executable)} -P -m eyrie operators --quiet --compile"


@dataclass(frozen=True)
class Setting:
    """What a program's SoC is like; bytes, and the latency in cycles.

    memory   that there are from address 0 on; none: as far as the window goes
    polls    the program polls, instead of waiting for the interrupt
    requests a folder for what operators it asks for
    """

    seed: int = 1
    latency: int = DRAM_LATENCY
    base: int = 1 << 31
    window: int = 1 << 28
    memory: int | None = None
    polls: bool = False
    requests: Path = REQUESTS

    @property
    def variables(self) -> dict[str, str]:
        """Of the environment (environment.c, operator_programs.c)."""
        values = {
            "SEED": self.seed,
            "LATENCY": self.latency,
            "BASE": self.base,
            "WINDOW": self.window,
            "MEMORY": self.memory or self.base + self.window,
            "POLLS": int(self.polls),
            "REQUESTS": self.requests.absolute(),
            "COMPILE": COMPILE,
        }
        return {f"SOC_{name}": str(value) for name, value in values.items()}


def link(source: Path, network: Path, config: AcceleratorConfig, folder: Path) -> Path:
    """The program of a C source, for the network in a folder (network.h) and the accelerator, in `folder`; the
    compiler's warnings go to standard error.

    Raises BuildError and SourceError.
    """
    return _link([source, SOC / "environment.c"], includes(network), config, folder)


def link_operators(source: Path, config: AcceleratorConfig, folder: Path, programs: Path = PROGRAMS) -> Path:
    """`link` of a program on the operator library; programs: the C source with eyrie_linked_programs, which compiles on
    demand if nothing is said."""
    sources = [source, SOC / "environment.c", programs, *sorted(OPERATORS.glob("*.c"))]
    return _link(sources, includes(), config, folder)


def _link(sources: list[Path], headers: list[str], config: AcceleratorConfig, folder: Path) -> Path:
    library = soc_library(config)
    program = folder / sources[0].stem
    objects = compiled(sources, folder, tuple(headers))
    compiler("cc", *objects, library, f"-Wl,-rpath,{library.parent}", "-o", program)
    return program


def includes(network: Path | None = None) -> list[str]:
    """Where headers are found, that of a network, too."""
    folders = (DRIVER.parent, DRIVER, OPERATORS, EXAMPLES, SOC)
    return [f"-I{path}" for path in (*folders, *([network] if network else []))]


def call(program: Path, *arguments: object, setting: Setting | None = None) -> str:
    """What a program prints. Raises InputError, in one line, if it fails."""
    command: Sequence[str] = [str(word) for word in (program, *arguments)]
    setting = setting or Setting()
    setting.requests.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | setting.variables)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise InputError(f"the program {program.name} failed: {said[0] if said else ended.returncode}")
    return ended.stdout
