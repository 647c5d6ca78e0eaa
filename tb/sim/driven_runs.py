# SPDX-License-Identifier: Apache-2.0
"""Networks run by the C program run.c on a simulated SoC, wherever its window lies, by interrupt or by polling."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.runtime.folders import ROOT
from eyrie.runtime.soc.c_programs import Setting, call, link

SIMULATION = ROOT / "tb" / "sim"
RUN, FAULTS = SIMULATION / "run.c", SIMULATION / "faults.c"


@dataclass(frozen=True)
class CRun:
    """outputs: by name, as of `Image.outputs`, of each run; cycles: of each run."""

    outputs: list[dict[str, np.ndarray]]
    cycles: list[int]


def run(network: Path, inputs: Sequence[dict[str, np.ndarray]], folder: Path, setting: Setting | None = None) -> CRun:
    """Runs the network in a folder, on the accelerator that it was compiled for, on the inputs of each run, as
    `Image.with_inputs` takes them; files go to `folder`. Raises BuildError, SourceError, and ValueError in one line."""
    image = Image.load(network)
    program = link(RUN, network, image.config, folder)
    taken, made = folder / "inputs.bin", folder / "outputs.bin"
    several = [{name: values.reshape(image.images, -1) for name, values in one.items()} for one in inputs]
    taken.write_bytes(
        b"".join(one[name][n].tobytes() for one in several for n in range(image.images) for name in image.inputs)
    )
    said = call(program, network / "image.bin", taken, made, len(inputs), setting=setting)
    return CRun(_outputs(image, np.fromfile(made, np.int8), len(inputs)), [int(line) for line in said.splitlines()])


def _outputs(image: Image, values: np.ndarray, runs: int) -> list[dict[str, np.ndarray]]:
    """Of a file that has them run by run, image by image, output by output."""
    shapes = {name: place.shape for name, place in image.outputs.items()}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(values.reshape(runs, image.images, ends[-1]), ends[:-1], axis=2)
    images = () if image.images == 1 else (image.images,)
    return [
        {name: part[n].reshape(*images, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
        for n in range(runs)
    ]
