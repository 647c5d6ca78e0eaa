# SPDX-License-Identifier: Apache-2.0
"""C programs on the driver (runtime/c/driver), linked with the simulated machine: they see its registers and its DRAM,
and nothing else of it.

The model is built like cocotb's, with the same optimisation, but without the VPI and without variables visible to it;
one library serves all programs and networks of a machine.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.ir.image import Image
from model.config import MachineConfig
from runtime.folders import ROOT
from runtime.simulator.simulate import sizes_of
from runtime.simulator.verilate import LIBRARY, BuildError, build_model
from tb.net.bench import LATENCY
from tb.sim import dram

DRIVER = ROOT / "runtime" / "c" / "driver"
EXAMPLES = ROOT / "runtime" / "c" / "examples"
SIMULATION = ROOT / "tb" / "sim"
CLASSIFY, RUN, FAULTS = EXAMPLES / "classify.c", SIMULATION / "run.c", SIMULATION / "faults.c"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
_DRIVES = (*dram.SOURCES, "tb/sim/simulation.cpp", "tb/sim/simulation.h")


@dataclass(frozen=True)
class Simulated:
    """What a simulated machine is like; bytes, and the latency in cycles.

    memory   that there are from address 0 on; none: as far as the window goes
    polls    the program polls, instead of waiting for the interrupt
    """

    seed: int = 1
    latency: int = LATENCY
    base: int = 1 << 31
    window: int = 1 << 28
    memory: int | None = None
    polls: bool = False

    @property
    def variables(self) -> dict[str, str]:
        """Of the environment (platform.c)."""
        values = {"SEED": self.seed, "LATENCY": self.latency, "BASE": self.base, "WINDOW": self.window,
                  "MEMORY": self.memory or self.base + self.window, "POLLS": int(self.polls)}
        return {f"SIMULATION_{name}": str(value) for name, value in values.items()}


@dataclass(frozen=True)
class CRun:
    """outputs: by name, as of `Image.outputs`, of each run; cycles, and wall-clock seconds from start to interrupt."""

    outputs: list[dict[str, np.ndarray]]
    cycles: list[int]
    seconds: list[float]


def link(source: Path, network: Path, machine: MachineConfig, folder: Path) -> Path:
    """The program of a C source, for the network in a folder (network.h) and the machine, in `folder`.

    Raises BuildError and SourceError.
    """
    library = build_model("tb_top", sizes_of("tb_top", machine), _DRIVES, library=True, assertions=False)
    sizes = ",".join(map(str, machine.parameters.values()))
    program = folder / source.stem
    objects = []
    for path in (source, SIMULATION / "platform.c", *sorted(DRIVER.glob("*.c"))):
        objects.append(folder / f"{source.stem}.{path.stem}.o")
        _compiler("cc", "-std=c99", *WARNINGS, "-O2", f"-DMACHINE_SIZES={{{sizes}}}", *includes(network), "-c", path,
                  "-o", objects[-1])
    _compiler("c++", *objects, *(library / name for name in LIBRARY), "-pthread", "-latomic", "-o", program)
    return program


def includes(network: Path) -> list[str]:
    """Where headers are found."""
    return [f"-I{path}" for path in (DRIVER, EXAMPLES, SIMULATION, network)]


def call(program: Path, *arguments: object, simulated: Simulated | None = None) -> str:
    """What a program prints. Raises ValueError, in one line, if it fails."""
    command = [str(word) for word in (program, *arguments)]
    ended = subprocess.run(command, capture_output=True, text=True,
                           env=os.environ | (simulated or Simulated()).variables)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise ValueError(f"the program {program.name} failed: {said[0] if said else ended.returncode}")
    return ended.stdout


def run(network: Path, inputs: Sequence[dict[str, np.ndarray]], folder: Path,
        simulated: Simulated | None = None) -> CRun:
    """Runs the network in a folder, on the machine that it was compiled for, on the inputs of each run, as
    `Image.with_inputs` takes them; files go to `folder`. Raises BuildError, SourceError, and ValueError in one line."""
    image = Image.load(network)
    program = link(RUN, network, image.machine, folder)
    taken, made = folder / "inputs.bin", folder / "outputs.bin"
    several = [{name: values.reshape(image.images, -1) for name, values in one.items()} for one in inputs]
    taken.write_bytes(b"".join(one[name][n].tobytes() for one in several for n in range(image.images)
                               for name in image.map["inputs"]))
    said = call(program, network / "image.bin", taken, made, len(inputs), simulated=simulated)
    rows = [line.split() for line in said.splitlines()]
    return CRun(_outputs(image, np.fromfile(made, np.int8), len(inputs)), [int(row[0]) for row in rows],
                [float(row[1]) for row in rows])


def _outputs(image: Image, values: np.ndarray, runs: int) -> list[dict[str, np.ndarray]]:
    """Of a file that has them run by run, image by image, output by output."""
    shapes = {name: tuple(place["shape"]) for name, place in image.map["outputs"].items()}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(values.reshape(runs, image.images, ends[-1]), ends[:-1], axis=2)
    images = () if image.images == 1 else (image.images,)
    return [{name: part[n].reshape(*images, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
            for n in range(runs)]


def _compiler(name: str, *arguments: object) -> None:
    """Raises BuildError with the first errors."""
    if not shutil.which(name):
        raise BuildError(f"no {name} there: install a C compiler")
    ended = subprocess.run([name, *map(str, arguments)], capture_output=True, text=True)
    if ended.returncode != 0:
        raise BuildError("\n".join([line for line in ended.stderr.splitlines() if "rror" in line][:12])
                         or f"{name} failed")
