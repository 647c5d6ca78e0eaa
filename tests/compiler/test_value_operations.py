# SPDX-License-Identifier: Apache-2.0
"""Operations value by value in few passes: functions of one value are one table, factors of channels are depthwise
work. What they take, and that results are the model's, to the last bit."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Grouped
from eyrie.compiler.network import compile_network
from eyrie.compiler.passes.compose_functions import compose_functions
from eyrie.compiler.results import Built
from eyrie.compiler.target.mapping import mappings
from eyrie.model.config import DEFAULT
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder

DRAWN = scaled(6)
OF_TWO = ("ADD", "SUB", "MUL")  # one of which is a constant
PASSES = 4  # vector passes, of a cycle for each word
MOST = 0.75  # of the cycles of these


class Net:
    """Operators on maps of one shape, drawn at random."""

    def __init__(self, seed: list[int], shape: tuple[int, int, int]) -> None:
        self.rng, self.net, self.shape = np.random.default_rng(seed), Builder(), (1, *shape)
        self.source = self.last = self.value()

    def value(self) -> int:
        return self.net.tensor(self.shape, scale=self.rng.uniform(0.05, 0.1), zero_point=self.rng.integers(-128, 128))

    def constant(self, shape: tuple[int, ...], uniform: bool = False) -> int:
        """Real numbers of 0.8 to 2.5: values stay different."""
        data = self.rng.integers(40, 128, 1 if uniform else shape, np.int8)
        return self.net.tensor(shape, scale=0.02, data=np.broadcast_to(data, shape))

    def add(self, name: str, *inputs: int, **options) -> int:
        self.last = self.value()
        self.net.operator(name, inputs, [self.last], **options)
        return self.last

    def conv(self) -> None:
        channels = self.shape[3]
        filters = self.rng.integers(-127, 128, (channels, 1, 1, channels), np.int8)
        constants = (
            self.net.tensor(filters.shape, scale=np.full(channels, 0.01), data=filters),
            self.net.tensor((channels,), "int32", data=self.rng.integers(-900, 900, channels, np.int32)),
        )
        self.add("CONV_2D", self.last, *constants, padding=0, **STEPS)

    def function(self) -> None:
        """With the same constant for all values, or none."""
        name = str(self.rng.choice([*OF_TWO, "QUANTIZE", "LEAKY_RELU"]))
        if name in OF_TWO:
            shape = self.shape if self.rng.random() < 0.3 else (1,)
            pair = [self.last, self.constant(shape, uniform=True)]
            self.add(name, *(pair[::-1] if self.rng.random() < 0.5 else pair), fusedActivationFunction=0)
        else:
            self.add(name, self.last, **({"alpha": 0.3} if name == "LEAKY_RELU" else {}))

    def slopes(self) -> None:
        """A PRELU as converters write it: the larger of a map and its product with a factor of each channel."""
        source = self.last
        product = self.add("MUL", source, self.constant(self.shape[-1:]), fusedActivationFunction=0)
        scale = {"scale": 0.07, "zero_point": -20}
        pair = [self.net.tensor(self.shape, **scale) for _ in range(2)]
        self.last = self.net.tensor(self.shape, **scale)
        self.net.operator("QUANTIZE", [source], pair[:1])
        self.net.operator("QUANTIZE", [product], pair[1:])
        self.net.operator("MAXIMUM", pair[::-1], [self.last])

    def compiled(self, folder: Path, saturates: bool = False) -> Built:
        """On the functional simulator it gives what the graph gives as the model has it. saturates: now and then, all
        results are one value"""
        path = folder / "net.tflite"
        path.write_bytes(self.net.pack([self.source], [self.last]))
        stages = compile_network(path, search_iterations=8)
        values = self.rng.integers(-128, 128, self.shape[1:], np.int8)
        simulator = FunctionalSimulator(stages.image.with_input(values), DEFAULT)
        simulator.run(stages.image.program.address)
        [expected] = stages.graph.run_images(values[None])
        np.testing.assert_array_equal(stages.image.output(simulator.dram), expected)
        assert saturates or len(np.unique(expected)) > 1
        return stages


def shape_of(rng: np.random.Generator) -> tuple[int, int, int]:
    rows, cols, channels = rng.integers((5, 5, 2), (20, 20, 40)).tolist()
    return rows, cols, channels


@pytest.mark.parametrize("number", range(DRAWN))
def test_functions_behind_a_layer_ride_on_it(number: int, seed: int, tmp_path: Path) -> None:
    """However many they are."""
    rng = np.random.default_rng([seed, number])
    net = Net([seed, number], shape_of(rng))
    net.conv()
    for _ in range(int(rng.integers(1, 5))):
        net.function()
    [group] = net.compiled(tmp_path, saturates=True).groups
    assert [operation.name for operation in group.operations] == ["table"]


@pytest.mark.parametrize("number", range(DRAWN))
def test_an_operation_on_functions_of_the_same_values_is_one(number: int, seed: int, tmp_path: Path) -> None:
    """As in swish, which is a value times its LOGISTIC; it rides on the layer."""
    rng = np.random.default_rng([seed, number])
    net, operands = Net([seed, number], shape_of(rng)), []
    net.value = lambda: net.net.tensor(net.shape, scale=0.1, zero_point=int(rng.integers(-20, 20)))
    net.conv()
    source = net.last
    for least in (0, 1):
        net.last = source
        for _ in range(int(rng.integers(least, 3))):
            net.function()
        operands.append(net.last)
    net.add(str(rng.choice(["ADD", "MUL"])), *operands, fusedActivationFunction=0)
    [group] = net.compiled(tmp_path).groups
    assert [operation.name for operation in group.operations] == ["table"]


def test_values_that_others_read_stay(seed: int) -> None:
    """Of a chain of four functions, the output of the second is the model's, too."""
    net = Net([seed], (4, 4, 3))
    made = [net.add("LEAKY_RELU", net.last, alpha=0.3) for _ in range(4)]
    for ends, count in ((made[3:], 1), (made[1::2], 2)):
        before = tflite.from_bytes(net.net.pack([net.source], ends))
        after = compose_functions(before).verified()
        assert len(after.nodes) == count
        values = np.arange(-24, 24, dtype=np.int8).reshape(net.shape)
        for tensor in before.outputs:
            np.testing.assert_array_equal(after.run(values)[tensor.name], before.run(values)[tensor.name])


@pytest.mark.parametrize("number", range(DRAWN))
def test_slopes_by_channel_are_two_passes(number: int, seed: int, tmp_path: Path) -> None:
    """Of an operation on each word; as vector passes they would be four."""
    rows, cols, channels = shape_of(np.random.default_rng([seed, number]))
    net = Net([seed, number], (rows + 10, cols + 10, channels))  # so large that the start takes few of the cycles
    net.slopes()
    stages = net.compiled(tmp_path)
    assert [(type(group), group.operations[0].name) for group in stages.groups] == [
        (Grouped, "table"),
        (Grouped, "maximum"),
    ]
    rows, cols = net.shape[1:3]
    cycles = sum(mappings(DEFAULT, group, rows)[0].cycles for group in stages.groups)
    assert cycles <= MOST * PASSES * rows * cols * word_groups(channels)


@pytest.mark.parametrize(("cols", "kind"), [(4, Elementwise), (5, Grouped)])
def test_small_maps_are_not_worth_filters(cols: int, kind: type, seed: int, tmp_path: Path) -> None:
    net = Net([seed], (4, cols, 8))
    net.add("MUL", net.last, net.constant((8,)), fusedActivationFunction=0)
    [group] = net.compiled(tmp_path).groups
    assert type(group) is kind


@pytest.mark.parametrize(
    ("layer", "slopes", "kinds"),
    [
        (True, "channels", ["prelu"]),
        (True, "one", ["table"]),
        (True, "pixels", ["", "prelu"]),
        (False, "channels", ["prelu"]),
    ],
)
def test_prelu_is_an_operation(layer: bool, slopes: str, kinds: list[str], seed: int, tmp_path: Path) -> None:
    """It rides on a layer if its slopes are per channel; with one slope it is a table."""
    net = Net([seed, 8], shape_of(np.random.default_rng([seed, 9])))
    if layer:
        net.conv()
    shape = {"channels": net.shape[-1:], "one": (1,), "pixels": net.shape}[slopes]
    net.add("PRELU", net.last, net.constant(shape))
    stages = net.compiled(tmp_path)
    assert ["+".join(operation.name for operation in group.operations) for group in stages.groups] == kinds


@pytest.mark.parametrize(("behind", "kinds"), [("conv", ["mul", ""]), ("add", ["", "add"]), ("slope", ["", "table"])])
def test_a_factor_rides_unless_it_carries(behind: str, kinds: list[str], seed: int, tmp_path: Path) -> None:
    """As a pass of its own it takes the sum, or the function, behind it along."""
    net = Net([seed, 11], (12, 12, 16))
    source = net.last
    net.conv()
    net.add("MUL", net.last, net.constant(net.shape[-1:]), fusedActivationFunction=0)
    if behind == "conv":
        net.conv()
    elif behind == "add":
        net.add("ADD", net.last, source, fusedActivationFunction=0)
    else:
        net.add("LEAKY_RELU", net.last, alpha=0.3)
    stages = net.compiled(tmp_path)
    assert ["+".join(operation.name for operation in group.operations) for group in stages.groups] == kinds
