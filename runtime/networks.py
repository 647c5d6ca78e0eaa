# SPDX-License-Identifier: Apache-2.0
"""Compiled networks on the command-level model, and inputs from files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from compiler.arrays import read_npy
from compiler.ir.image import Image
from model.machine import Machine
from model.messages import array, times
from runtime import progress


def read_input(path: str | Path, shape: Sequence[int]) -> np.ndarray:
    """int8 [N, H, W, C] from a file with one image of this shape, or several. Raises ValueError in one line."""
    values = read_npy(path, "save one int8 array with numpy.save")
    stack = values[None] if values.ndim == 3 else values
    if stack.dtype != np.int8 or stack.shape[1:] != tuple(shape) or not len(stack):
        raise ValueError(f"{path}: {array(values)}: the network takes int8 {times(shape)}, or N of them")
    return stack


def on_model(image: Image, inputs: np.ndarray) -> np.ndarray:
    """`named_on_model` of a network with one input and one output, int8 [N, H, W, C]."""
    [output] = named_on_model(image, image.named(inputs)).values()
    return output


def named_on_model(image: Image, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The command-level model's outputs by name, as the inputs int8 [N, H, W, C] each. Raises MachineError."""
    outputs = []
    runs = image.runs(inputs)
    with progress.task("running the command-level model", "runs") as task:
        for number, values in enumerate(runs):
            task.at(number, len(runs))
            machine = Machine(image.with_inputs(values), image.machine)
            machine.run(image.program)
            outputs.append(image.outputs(machine.dram))
    return image.results(outputs, len(next(iter(inputs.values()))))
