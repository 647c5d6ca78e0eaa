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
from compiler.parts import compile_parts
from compiler.passes.partition import Side
from model.config import DEFAULT, MachineConfig
from model.operators.quantization import UINT8_OFFSET
from model.operators.reference import Reference
from runtime.networks import named_on_model
from tb.common.random_operators import OPERATORS, draw
from tb.common.random_operators.drawing import Drawn

GRAPHS = int(os.environ.get("EYRIE_SINGLE", "6"))
HOSTS = ("SOFTMAX", "ARG_MAX", "RESIZE_BILINEAR", "DEQUANTIZE", "FULLY_CONNECTED uint8", "CONV_2D uint8",
         "DEPTHWISE_CONV_2D uint8")  # what the host alone does
MACHINES = (DEFAULT, MachineConfig(rows=3, cols=5), MachineConfig(rows=9), replace(DEFAULT, multipliers=1),
            replace(DEFAULT, bus_words=2, filter_lanes=2, glb_bank_words=8192))
EFFORT = 4
DRAWS = 40  # for a graph that the machine runs, at most
IMAGES = 2000  # for one of one image


def on_the_machine(name: str) -> bool:
    return not name.startswith(HOSTS) and not name.startswith("QUANTIZE from float32") and name != "QUANTIZE from int32"


@pytest.mark.parametrize("operator", [name for name in OPERATORS if on_the_machine(name)])
def test_machine_gives_what_the_golden_model_gives(operator: str, seed: int, tmp_path: Path) -> None:
    path, done, others = tmp_path / "net.tflite", 0, []
    while done < GRAPHS:
        assert len(others) < DRAWS * GRAPHS, "\n".join(others)
        rng = np.random.default_rng([seed, done, len(others)])
        drawn = _of_one_image(operator, rng)
        machine = MACHINES[rng.integers(len(MACHINES))]
        path.write_bytes(drawn.model)
        try:
            compiled = compile_parts(path, machine, effort=EFFORT)
        except ValueError as failure:
            assert isinstance(failure.__cause__, DoesNotFit), failure
            others.append(f"{drawn.text} on {machine}: {failure}")
            continue
        if [part.part.side for part in compiled.parts] != [Side.MACHINE]:
            others.append(drawn.text)
            continue
        image, graph = compiled.parts[0].stages.image, compiled.graph
        signed = (_signed(value) for value in drawn.inputs)
        inputs = {tensor.name: value.reshape(1, *image.map["inputs"][tensor.name]["shape"])
                  for tensor, value in zip(graph.inputs, signed, strict=True)}
        made = named_on_model(image, inputs)
        golden = drawn.golden(Reference.MICRO if Reference.MICRO in drawn.references else Reference.LITERT)
        for tensor, expected in zip(graph.outputs, golden, strict=True):
            np.testing.assert_array_equal(made[tensor.name].ravel(), _signed(expected).ravel(),
                                          f"{drawn.text} on {machine}\n{compiled}")
        done += 1


def _of_one_image(operator: str, rng: np.random.Generator) -> Drawn:
    for _ in range(IMAGES):
        drawn = draw(operator, rng)
        shapes = [value.shape for value in (*drawn.inputs, *drawn.golden(drawn.references[0]))]
        if all(2 <= len(shape) <= 4 and shape[0] == 1 for shape in shapes):
            return drawn
    raise AssertionError(f"{IMAGES} graphs of {operator}, none of one image")


def _signed(values: np.ndarray) -> np.ndarray:
    """As the machine has them."""
    return (values.astype(np.int16) - UINT8_OFFSET).astype(np.int8) if values.dtype == np.uint8 else values
