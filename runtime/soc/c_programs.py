# SPDX-License-Identifier: Apache-2.0
"""C programs on the driver (runtime/c/driver) or the operator library (runtime/c/eyrie.h), linked with a simulated SoC.

The programs access the registers and the DRAM of the SoC only.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.folders import BUILD, ROOT
from eyrie.runtime.soc.library import DRIVER, OPERATORS, SOC, compiled, compiler, soc_library

EXAMPLES = ROOT / "runtime" / "c" / "examples"
CLASSIFY, CONVOLUTION = EXAMPLES / "classify.c", EXAMPLES / "convolution.c"
REQUESTS = BUILD / "requests"  # operators that programs have requested
PROGRAMS = SOC / "operator_programs.c"
COMPILE = f"{shlex.quote(sys.executable)} -P -m eyrie operators --quiet --compile"


@dataclass(frozen=True)
class Setting:
    """The SoC of a program: sizes in bytes.

    config    has the times of the DRAM
    memory    bytes of memory from address 0 on; None: up to the end of the window
    polls     the program polls, instead of waiting for the interrupt
    requests  folder for the operators that the program requests
    """

    seed: int = 1
    config: AcceleratorConfig = DEFAULT
    base: int = 1 << 31
    window: int = 1 << 28
    memory: int | None = None
    polls: bool = False
    requests: Path = REQUESTS

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment variables that environment.c and operator_programs.c read."""
        values = {
            "SEED": self.seed,
            "LATENCY": self.config.dram_latency,
            "INTERVAL": self.config.dram_interval,
            "BASE": self.base,
            "WINDOW": self.window,
            "MEMORY": self.memory or self.base + self.window,
            "POLLS": int(self.polls),
            "REQUESTS": self.requests.absolute(),
            "COMPILE": COMPILE,
        }
        return {f"SOC_{name}": str(value) for name, value in values.items()}


def link(source: Path, network: Path, config: AcceleratorConfig, folder: Path) -> Path:
    """Build the program of a C source for an accelerator in `folder`; return its path.

    `network` is the folder of the network (network.h). Warnings of the compiler go to standard error. Raise BuildError
    and SourceError.
    """
    return _link([source, SOC / "environment.c"], includes(network), config, folder)


def link_operators(source: Path, config: AcceleratorConfig, folder: Path, programs: Path = PROGRAMS) -> Path:
    """Do the same as `link` for a program on the operator library.

    `programs` is the C source with eyrie_linked_programs. The default compiles operators on demand.
    """
    sources = [source, SOC / "environment.c", programs, *sorted(OPERATORS.glob("*.c"))]
    return _link(sources, includes(), config, folder)


def _link(sources: list[Path], headers: list[str], config: AcceleratorConfig, folder: Path) -> Path:
    library = soc_library(config)
    program = folder / sources[0].stem
    objects = compiled(sources, folder, tuple(headers))
    compiler("cc", *objects, library, f"-Wl,-rpath,{library.parent}", "-o", program)
    return program


def includes(network: Path | None = None) -> list[str]:
    """Return the folders of headers, including the one of the network."""
    folders = (DRIVER.parent, DRIVER, OPERATORS, EXAMPLES, SOC)
    return [f"-I{path}" for path in (*folders, *([network] if network else []))]


def call(program: Path, *arguments: object, setting: Setting | None = None) -> str:
    """Run a program; return its output. Raise InputError, with one line, if it fails."""
    command: Sequence[str] = [str(word) for word in (program, *arguments)]
    setting = setting or Setting()
    setting.requests.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | setting.variables)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise InputError(f"the program {program.name} failed: {said[0] if said else ended.returncode}")
    return ended.stdout
