# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one operator, compiled for random machines: the command-level model gives what the golden model gives.

EYRIE_SINGLE sets the number of graphs of each operator.
"""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.ir.failure import DoesNotFit
from compiler.parts import compile_parts
from model.config import DEFAULT, MachineConfig
from runtime.session import Session
from tb.common.random_operators import draw
from tb.common.random_operators.drawing import Drawn

GRAPHS = int(os.environ.get("EYRIE_SINGLE", "12"))
OPERATORS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "CONV_2D uint8", "DEPTHWISE_CONV_2D uint8",
             "FULLY_CONNECTED uint8")
MACHINES = (DEFAULT, MachineConfig(rows=3, cols=5), MachineConfig(rows=9), replace(DEFAULT, multipliers=1),
            replace(DEFAULT, bus_words=2, filter_lanes=2, glb_bank_words=8192))
EFFORT = 4


def _of_one_image(operator: str, rng: np.random.Generator) -> Drawn:
    """Networks are compiled for one image: a fully connected layer may make several rows of one."""
    while True:
        drawn = draw(operator, rng)
        if len(drawn.inputs[0]) == 1 and all(len(output) == 1 for output in drawn.golden(drawn.references[0])):
            return drawn


@pytest.mark.parametrize("operator", OPERATORS)
def test_machine_gives_what_the_golden_model_gives(operator: str, seed: int, tmp_path: Path) -> None:
    path, done, refused, addends = tmp_path / "net.tflite", 0, [], Counter()
    while done < GRAPHS:
        assert len(refused) < 2 * GRAPHS + 10, "\n".join(refused)
        rng = np.random.default_rng([seed, done, len(refused)])
        drawn = _of_one_image(operator, rng)
        machine = MACHINES[rng.integers(len(MACHINES))]
        path.write_bytes(drawn.model)
        try:
            compiled = compile_parts(path, machine, effort=EFFORT)
        except DoesNotFit as failure:
            refused.append(f"{drawn.text} on {machine}: {failure}")
            continue
        if compiled.partition.host_nodes:
            refused.append(f"{drawn.text}: {compiled.partition}")
            continue
        compiled.save(tmp_path / "net")
        (made,) = Session.load(tmp_path / "net").run([drawn.inputs[0][None]]).outputs
        (expected,) = drawn.golden(drawn.references[0])
        assert made.dtype == expected.dtype, drawn.text
        np.testing.assert_array_equal(made[0], expected, f"{drawn.text} on {machine}")
        addends.update(group.window.addends for part in compiled.parts for group in part.stages.groups)
        done += 1
    assert (max(addends) > 1) == ("uint8" in operator), addends
