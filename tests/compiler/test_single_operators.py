# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one operator, compiled for random configurations: the functional simulator gives what the golden
model gives.
"""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.operators.quantization import stored_zero_point
from eyrie.testing.samples import scaled
from tb.common.single_operators import ON_THE_ACCELERATOR, cases

# Whose filters are less their zero point.
WIDE_FILTERS = ("CONV_2D uint8", "DEPTHWISE_CONV_2D uint8", "FULLY_CONNECTED uint8", "BATCH_MATMUL")
GRAPHS = scaled(5)
CONFIGS = (
    DEFAULT,
    AcceleratorConfig(rows=3, cols=5),
    AcceleratorConfig(rows=9),
    replace(DEFAULT, multipliers=1),
    replace(DEFAULT, bus_words=2, filter_lanes=2, glb_bank_words=8192),
)


@pytest.mark.parametrize("operator", ON_THE_ACCELERATOR)
def test_accelerator_gives_what_the_golden_model_gives(operator: str, seed: int, tmp_path: Path) -> None:
    wide = False
    for number, config in enumerate(CONFIGS):
        wanted = len(range(number, GRAPHS, len(CONFIGS)))
        for case in islice(cases(operator, config, tmp_path, [seed, number]), wanted):
            image = case.stages.image
            done = FunctionalSimulator(image.with_inputs(case.inputs), config)
            done.run(image.program.address)
            made = image.outputs_in(done.dram)
            for name, expected in case.expected.items():
                np.testing.assert_array_equal(made[name], expected, f"{case} on {config}")
            wide |= any(stored_zero_point(weights) for group in case.stages.groups for weights in group.weights)
    assert wide == (operator in WIDE_FILTERS) or (not wide and len(CONFIGS) > GRAPHS)  # few may have no zero point
