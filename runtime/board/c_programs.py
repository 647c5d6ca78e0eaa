# SPDX-License-Identifier: Apache-2.0
"""C programs on the driver (runtime/c/driver), linked with a board: they see its registers and its DRAM, and nothing
else of it."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler.cost.timing.front import DRAM_LATENCY
from model.config import MachineConfig
from runtime.board.library import BOARD, DRIVER, board_library, compiled, compiler
from runtime.folders import ROOT

EXAMPLES = ROOT / "runtime" / "c" / "examples"
CLASSIFY = EXAMPLES / "classify.c"


@dataclass(frozen=True)
class Setting:
    """What a program's board is like; bytes, and the latency in cycles.

    memory   that there are from address 0 on; none: as far as the window goes
    polls    the program polls, instead of waiting for the interrupt
    """

    seed: int = 1
    latency: int = DRAM_LATENCY
    base: int = 1 << 31
    window: int = 1 << 28
    memory: int | None = None
    polls: bool = False

    @property
    def variables(self) -> dict[str, str]:
        """Of the environment (environment.c)."""
        values = {"SEED": self.seed, "LATENCY": self.latency, "BASE": self.base, "WINDOW": self.window,
                  "MEMORY": self.memory or self.base + self.window, "POLLS": int(self.polls)}
        return {f"BOARD_{name}": str(value) for name, value in values.items()}


def link(source: Path, network: Path, machine: MachineConfig, folder: Path) -> Path:
    """The program of a C source, for the network in a folder (network.h) and the machine, in `folder`.

    Raises BuildError and SourceError.
    """
    library = board_library(machine)
    program = folder / source.stem
    objects = compiled([source, BOARD / "environment.c"], folder, tuple(includes(network)))
    compiler("cc", *objects, library, f"-Wl,-rpath,{library.parent}", "-o", program)
    return program


def includes(network: Path) -> list[str]:
    """Where headers are found."""
    return [f"-I{path}" for path in (DRIVER, EXAMPLES, BOARD, network)]


def call(program: Path, *arguments: object, setting: Setting | None = None) -> str:
    """What a program prints. Raises ValueError, in one line, if it fails."""
    command: Sequence[str] = [str(word) for word in (program, *arguments)]
    ended = subprocess.run(command, capture_output=True, text=True,
                           env=os.environ | (setting or Setting()).variables)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise ValueError(f"the program {program.name} failed: {said[0] if said else ended.returncode}")
    return ended.stdout
