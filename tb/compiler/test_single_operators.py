# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one operator, compiled for random machines: the command-level model gives what the golden model gives.

EYRIE_SINGLE sets the number of graphs of each operator.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.ir.failure import DoesNotFit
from compiler.passes.constraints import Obstacles
from compiler.pipeline import compile_network
from model.config import DEFAULT, MachineConfig
from model.operators.reference import Reference
from runtime.networks import on_model
from tb.common.random_operators import draw
from tb.common.random_operators.drawing import Drawn

GRAPHS = int(os.environ.get("EYRIE_SINGLE", "12"))
OPERATORS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
MACHINES = (DEFAULT, MachineConfig(rows=3, cols=5), MachineConfig(rows=9), replace(DEFAULT, multipliers=1),
            replace(DEFAULT, bus_words=2, filter_lanes=2, glb_bank_words=8192))
EFFORT = 4


def _of_one_image(operator: str, rng: np.random.Generator) -> Drawn:
    """Networks are compiled for one image: a fully connected layer may make several rows of one."""
    while True:
        drawn = draw(operator, rng)
        if len(drawn.inputs[0]) == 1 and all(len(output) == 1 for output in drawn.golden(Reference.MICRO)):
            return drawn


@pytest.mark.parametrize("operator", OPERATORS)
def test_machine_gives_what_the_golden_model_gives(operator: str, seed: int, tmp_path: Path) -> None:
    path, done, refused = tmp_path / "net.tflite", 0, []
    while done < GRAPHS:
        assert len(refused) < 2 * GRAPHS + 10, "\n".join(refused)
        rng = np.random.default_rng([seed, done, len(refused)])
        drawn = _of_one_image(operator, rng)
        machine = MACHINES[rng.integers(len(MACHINES))]
        path.write_bytes(drawn.model)
        try:
            image = compile_network(path, machine, effort=EFFORT).image
        except (DoesNotFit, Obstacles) as failure:
            refused.append(f"{drawn.text} on {machine}: {failure}")
            continue
        values = drawn.inputs[0].reshape(1, *image.input_place["shape"][-3:])
        (expected,) = drawn.golden(Reference.MICRO)
        np.testing.assert_array_equal(on_model(image, values).ravel(), expected.ravel(), f"{drawn.text} on {machine}")
        done += 1
