# SPDX-License-Identifier: Apache-2.0
"""Compiled networks on the functional simulator, and the files of inputs and outputs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.arrays import read_npy, read_npz
from eyrie.compiler.files import whole_file
from eyrie.compiler.ir.image import Image
from eyrie.model.errors import InputError
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.runtime import progress


def read_arrays(path: str | Path, names: Sequence[str], what: str = "array") -> list[np.ndarray]:
    """Read the arrays for inputs of these names.

    The file is an .npy file for one input, or an .npz file as numpy.savez writes it for several, in their order. Raise
    InputError, with one line, if the file does not match.
    """
    if len(names) == 1:
        return [read_npy(path, f"save one {what} with numpy.save")]
    remedy = f"save {len(names)} {what}s with numpy.savez, in the order {', '.join(names)}"
    found = read_npz(path, remedy)
    keys = [f"arr_{number}" for number in range(len(names))]
    if found.keys() != set(keys):
        raise InputError(f"{path}: has {', '.join(found) or 'no arrays'}, must have {', '.join(keys)}: {remedy}")
    return [found[key] for key in keys]


def write_arrays(path: str | Path, arrays: list[np.ndarray]) -> None:
    """Write one array to an .npy file, or several to an .npz file as numpy.savez writes it.

    Raise InputError, with one line, if the file cannot be written.
    """
    with whole_file(path) as file:
        if len(arrays) == 1:
            np.save(file, arrays[0])
        else:
            np.savez(file, *arrays)


def on_model(image: Image, inputs: np.ndarray) -> np.ndarray:
    """Run `named_on_model` for a network with one input and one output, int8 [N, H, W, C]."""
    [output] = named_on_model(image, image.named(inputs)).values()
    return output


def named_on_model(image: Image, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run the functional simulator; return the outputs by name. Inputs and outputs are int8 [N, H, W, C] each.

    Raise ProgramError if the accelerator would stop with an error code.
    """
    outputs = []
    runs = image.runs(inputs)
    with progress.task("running the functional simulator", "runs") as task:
        for number, values in enumerate(runs):
            task.at(number, len(runs))
            simulator = FunctionalSimulator(image.with_inputs(values), image.config)
            simulator.run(image.program.address)
            outputs.append(image.outputs_in(simulator.dram))
    return image.results(outputs, len(next(iter(inputs.values()))))
