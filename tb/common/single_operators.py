# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one operator, compiled for an accelerator, with what has to come out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.parts import Compiled, compile_parts
from eyrie.compiler.passes.partition import Side
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.model.config import AcceleratorConfig
from eyrie.model.operators.quantization import UINT8_OFFSET
from eyrie.model.operators.reference import Reference
from tb.common.random_operators import OPERATORS, draw
from tb.common.random_operators.drawing import Drawn

_HOST = ("SOFTMAX", "ARG_MAX", "RESIZE_BILINEAR", "DEQUANTIZE", "QUANTIZE from float32", "QUANTIZE from int32")
ON_THE_ACCELERATOR = [name for name in OPERATORS if not name.startswith(_HOST)]
SEARCH_ITERATIONS = 4
DRAWS = 400  # for a graph that the accelerator runs, at most: of a RESHAPE few are more than a view
IMAGES = 2000  # for one of one image


@dataclass(frozen=True, eq=False)
class Case:
    """A graph that the accelerator runs as a whole; inputs and expected: int8 by name, as the image has them."""

    drawn: Drawn
    compiled: Compiled
    inputs: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]

    @property
    def stages(self) -> Built:
        return self.compiled.parts[0].stages

    def __str__(self) -> str:
        return f"{self.drawn.text}\n{dumped(self.stages, 'groups')}"


def cases(operator: str, config: AcceleratorConfig, folder: Path, seed: list[int]) -> Iterator[Case]:
    """Without end; what the accelerator does not run, or has no room for, is drawn anew."""
    path, number, others = folder / "net.tflite", 0, []
    while len(others) < DRAWS:
        number += 1
        drawn = _of_one_image(operator, np.random.default_rng([*seed, number]))
        path.write_bytes(drawn.model)
        try:
            compiled = compile_parts(path, config, search_iterations=SEARCH_ITERATIONS)
        except ValueError as failure:
            assert isinstance(failure.__cause__, DoesNotFit), failure
            others.append(f"{drawn.text}: {failure}")
            continue
        if [part.part.side for part in compiled.parts] != [Side.ACCELERATOR]:
            others.append(drawn.text)
            continue
        others = []
        yield _case(drawn, compiled)
    raise AssertionError("\n".join(["none that the accelerator runs:", *others]))


def _case(drawn: Drawn, compiled: Compiled) -> Case:
    graph, image = compiled.graph, compiled.parts[0].stages.image
    golden = drawn.golden(Reference.MICRO if Reference.MICRO in drawn.references else Reference.LITERT)
    inputs, expected = (
        {
            tensor.name: _signed(value).reshape(maps[tensor.name].shape)
            for tensor, value in zip(tensors, values, strict=True)
            if tensor.name in maps
        }
        for maps, tensors, values in (
            (image.inputs, graph.inputs, drawn.inputs),
            (image.outputs, graph.outputs, golden),
        )
    )
    return Case(drawn, compiled, inputs, expected)


def _of_one_image(operator: str, rng: np.random.Generator) -> Drawn:
    for _ in range(IMAGES):
        drawn = draw(operator, rng)
        shapes = [value.shape for value in (*drawn.inputs, *drawn.golden(drawn.references[0]))]
        if all(2 <= len(shape) <= 4 and shape[0] == 1 for shape in shapes):
            return drawn
    raise AssertionError(f"{IMAGES} graphs of {operator}, none of one image")


def _signed(values: np.ndarray) -> np.ndarray:
    """As the accelerator has them."""
    return (values.astype(np.int16) - UINT8_OFFSET).astype(np.int8) if values.dtype == np.uint8 else values
