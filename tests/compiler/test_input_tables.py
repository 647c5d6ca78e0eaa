# SPDX-License-Identifier: Apache-2.0
"""Lookup tables of inputs that the host applies: which ones, and the results."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Part
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import lookup
from eyrie.compiler.plan.input_tables import with_input_tables
from eyrie.model.config import DEFAULT
from eyrie.model.interpreters import RUN
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.reference import Reference
from eyrie.session import load
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import Builder
from tests.compiler.test_moves import Drawn
from tests.compiler.test_turned_maps import checked
from tests.compiler.windows import convolution_chain

VALUES = np.roll(np.arange(-128, 128), 7).astype(np.int8)


def looked_up() -> list[Group]:
    """A table of an input, and two readers of its results."""
    [group] = convolution_chain(np.random.default_rng(1), (16, 17, 3), Window((3, 3)), 16).groups
    map_ = replace(group.source, name="values", quantization=Quantization(np.float32(0.5), 3))
    table = Elementwise(name="table", source=group.source, output=map_, epilogue=(lookup(VALUES),))
    first = replace(group, source=map_)
    return [table, first, replace(first, name="second", others=(map_,))]


def test_the_host_applies_the_table_of_an_input() -> None:
    table, *readers = looked_up()
    found = with_input_tables([table, *readers])
    assert [group.name for group in found] == [group.name for group in readers]
    source = found[0].source
    assert (source.name, source.quantization) == (table.source.name, table.output.quantization)
    assert source.table and source.table.quantization == table.source.quantization
    assert source.table.values == VALUES.tobytes()
    assert found[1].operands == (source, source)


KEPT: dict[str, Callable[[list[Group]], list[Group]]] = {
    "an output": lambda groups: [replace(groups[0], stored=True), *groups[1:]],
    "another reader": lambda groups: [*groups, replace(groups[1], source=groups[0].source)],
    "an operand of another": lambda groups: [*groups, replace(groups[1], others=(groups[0].source,))],
    "no input": lambda groups: [replace(groups[1], source=groups[2].source, output=groups[0].source), *groups],
    "a part": lambda groups: [
        replace(groups[0], output=replace(groups[0].output, part=Part(groups[0].output, 0, 0))),
        *groups[1:],
    ],
    "another operation": lambda groups: [replace(groups[0], epilogue=2 * groups[0].epilogue), *groups[1:]],
    "some of the pixels": lambda groups: [replace(groups[0], window=Window(stride=(2, 2))), *groups[1:]],
}


@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_the_machine_runs_other_tables(change: Callable[[list[Group]], list[Group]]) -> None:
    groups = change(looked_up())
    assert with_input_tables(groups) == groups


def test_inputs_of_another_program_stay() -> None:
    groups = looked_up()
    assert with_input_tables(groups, [groups[0].source.name]) == groups


def test_parts_of_a_result(seed: int, tmp_path: Path) -> None:
    """The accelerator runs a table of the input if another operator takes rows of its result."""
    net = Builder()
    x, rows, made = (net.tensor(shape, "int8", 0.02, 2) for shape in ((1, 3, 9, 7), (1, 1, 9, 7), (1, 1, 9, 7)))
    table = net.tensor((1, 3, 9, 7), "int8", 0.02, 2)
    places = [net.tensor((4,), "int32", data=np.array(values)) for values in ((0, 2, 0, 0), (1, 1, 9, 7))]
    net.operator("LEAKY_RELU", [x], [table], alpha=0.3)
    net.operator("SLICE", [table, *places], [rows])
    net.operator("LEAKY_RELU", [rows], [made], alpha=0.1)
    content = net.pack([x], [made])
    (tmp_path / "net.tflite").write_bytes(content)
    values = np.random.default_rng(seed).integers(-128, 128, (1, 3, 9, 7)).astype(np.int8)
    [got] = load(tmp_path / "net.tflite", back_end="functional")(values).values()
    assert (got == RUN[Reference.MICRO](content, values)[0]).all()


@pytest.mark.parametrize("channels", [1, 3, 4, 11])
def test_results(channels: int, seed: int) -> None:
    """A function of the input, then a convolution with padding: the program makes what tflite-micro makes."""
    rng = np.random.default_rng([seed, channels])
    for n in range(scaled(20)):
        net = Drawn(seed + n, (1, *map(int, rng.integers(8, 40, 2)), channels))
        x = net.move("HARD_SWISH", net.input, net.shapes[net.input])
        x = net.pad(x, (0, 0), (1, 1), (1, 1), (0, 0)) if n % 2 else x
        kernel = 3 if n % 4 < 2 else 7
        content = net.model(net.conv(x, int(rng.integers(1, 30)), rows=kernel, cols=kernel))
        built = checked(content, DEFAULT, seed, f"network {n}")
        [place] = built.image.inputs.values()
        assert place.table and len(built.schedule.plan.groups) == 1
