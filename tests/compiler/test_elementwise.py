# SPDX-License-Identifier: Apache-2.0
"""Vector passes as the compiler builds them: what it rejects, and when a map may be written over another."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.emit.accesses import read_too_late
from eyrie.compiler.ir.elementwise import Elementwise, Loop
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.ir.word_operation import AS_IS, INT8, WordOperation, copy, lookup
from eyrie.compiler.network import compile_network
from eyrie.compiler.plan.mappings import Access, mappings_of
from eyrie.compiler.target.descriptors.elementwise import elementwise_descriptor, in_turn, words_in, words_out
from eyrie.compiler.target.descriptors.streams import linear_stream
from eyrie.model.config import DEFAULT
from eyrie.model.descriptor import Level
from eyrie.model.encoding import Axis, Operation, Stream
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.operators.quantization import Quantization
from eyrie.testing.tflite_builder import STEPS, Builder

MAP = FeatureMap(6, 8, 1, 100, 6)
WORDS = words_in(MAP, Window(), in_turn(Window(), MAP.rows, MAP.cols))
ALL = words_out(MAP, 0, MAP.rows)
ONE_BY_ONE = WordOperation(Operation.MAXIMUM, {"window": 1}, {}, {**AS_IS, **INT8})


def test_operations_need_their_streams() -> None:
    with pytest.raises(
        ValueError, match="^the residual stream does not match the operation: the accelerator does not run such a pass$"
    ):
        elementwise_descriptor(DEFAULT, WordOperation(Operation.ADD, {}, {}, INT8), WORDS, ALL)
    with pytest.raises(ValueError, match="^SUM needs a window: the accelerator does not run such a pass$"):
        elementwise_descriptor(DEFAULT, WordOperation(Operation.SUM, {}, {}, INT8), WORDS, ALL)


@pytest.mark.parametrize(("address", "late"), [(100, 0), (98, 0), (102, 46)])
def test_a_map_is_written_behind_what_is_read(address: int, late: int) -> None:
    """In place, or below: each word is read before it is written. Two words above, all but the first two are not."""
    target = FeatureMap(6, 8, 1, address, 6)
    descriptor = elementwise_descriptor(DEFAULT, ONE_BY_ONE, WORDS, words_out(target, 0, target.rows))
    assert len(read_too_late(descriptor, Stream.IFMAP, DEFAULT)) == late


@pytest.mark.parametrize(("rows_above", "late"), [(0, False), (1, True)])
def test_windows_are_read_before_their_word_is_written(rows_above: int, late: bool) -> None:
    """2 x 2 windows at stride 1: the first row of a window is read for the last time, the second once more."""
    window = Window((2, 2))
    rows, cols = output_size((MAP.rows, MAP.cols), window)
    target = FeatureMap(rows, cols, MAP.groups, MAP.address + rows_above * MAP.pitch, rows)
    operation = WordOperation(Operation.MAXIMUM, {"window": 4}, {}, {**AS_IS, **INT8})
    taken, written = words_in(MAP, window, in_turn(window, rows, cols), outside=-128), words_out(target, 0, rows)
    descriptor = elementwise_descriptor(DEFAULT, operation, taken, written)
    assert bool(len(read_too_late(descriptor, Stream.IFMAP, DEFAULT))) == late


def test_a_table_is_read_before_the_first_word_is_written() -> None:
    table = linear_stream(MAP.address, Level(32, 1))
    descriptor = elementwise_descriptor(DEFAULT, WordOperation(Operation.TABLE), WORDS, ALL, table)
    assert not len(read_too_late(descriptor, Stream.RESIDUAL, DEFAULT))


# ---- Groups ----


def group(made: tuple[int, int, int], operation: WordOperation, walk: tuple[Loop, ...] = ()) -> Elementwise:
    scale = Quantization(1.0, 0)
    return Elementwise(
        name="group",
        source=Map("source", (4, 4, 8), scale),
        output=Map("made", made, scale),
        walk=walk,
        epilogue=(operation,),
    )


def test_groups_of_one_source_have_mappings_of_their_own() -> None:
    """Whichever is asked for first: a cycle a word, and twice as many pixels take twice as long."""
    rows, cols = Loop(4, Axis.ROW, 1), Loop(4, Axis.COLUMN, 1)
    table = lookup(np.zeros(256, np.int8))
    groups = [
        group((4, 4, 8), copy()),
        group((4, 4, 8), table),
        group((4, 4, 8), copy(), (rows, cols)),
        group((4, 8, 8), copy(), (Loop(2, Axis.COLUMN, 0), cols, rows)),
    ]
    assert [mappings_of(DEFAULT, each, 4)[0].cycles for each in groups] == [16, 16, 16, 32]
    in_place = [bool(mappings_of(DEFAULT, each, 4, Access(in_place=True))) for each in groups[:2]]
    assert in_place == [True, True]
    for each in groups[2:]:
        with pytest.raises(DoesNotFit):
            mappings_of(DEFAULT, each, 4, Access(in_place=True))


@pytest.mark.parametrize("factors", [(2, 2), (3, 1), (1, 5)])
def test_pixels_that_become_many_are_made_stripe_by_stripe(factors: tuple[int, int], seed: int, tmp_path: Path) -> None:
    """The result is larger than the GLB: its rows go to DRAM as they are made."""
    net, shape = Builder(), (1, 40, 40, 32)
    made = (1, shape[1] * factors[0], shape[2] * factors[1], shape[3])
    x, y = (net.tensor(each, scale=0.1, zero_point=3) for each in (shape, made))
    net.operator("RESIZE_NEAREST_NEIGHBOR", [x, net.tensor((2,), "int32", data=np.int32(made[1:3]))], [y])
    path = tmp_path / "net.tflite"
    path.write_bytes(net.pack([x], [y]))
    stages = compile_network(path, search_iterations=8)
    [segment] = stages.plan.segments
    assert segment.nest.rows and segment.nest.rows % factors[0] == 0
    assert segment.nest.rows < made[1] or segment.parts_of(0) > 1
    values = np.random.default_rng(seed).integers(-128, 128, shape[1:]).astype(np.int8)
    simulator = FunctionalSimulator(stages.image.with_input(values), DEFAULT)
    simulator.run(stages.image.program.address)
    np.testing.assert_array_equal(
        stages.image.output(simulator.dram), values.repeat(factors[0], 0).repeat(factors[1], 1)
    )


@pytest.mark.parametrize("adds", [False, True])
def test_an_input_that_is_added_stays_until_the_end(adds: bool, seed: int, tmp_path: Path) -> None:
    """A block that does not add its input works on it with the first filter tile only."""
    net, rng, shape = Builder(), np.random.default_rng(seed), (1, 8, 6, 292)
    steps = {"padding": 0, "fusedActivationFunction": 0, **STEPS}
    source, inner, made, last = (net.tensor(shape, scale=0.1, zero_point=3) for _ in range(4))
    bias = net.tensor(shape[3:], "int32", data=rng.integers(-500, 500, shape[3:]))
    for name, taken, result, filters in (
        ("DEPTHWISE_CONV_2D", source, inner, (1, 3, 3, shape[3])),
        ("CONV_2D", inner, made, (shape[3], 1, 1, shape[3])),
    ):
        weights = net.tensor(filters, scale=0.01, data=rng.integers(-127, 128, filters))
        more = {"depthMultiplier": 1} if name.startswith("DEPTHWISE") else {}
        net.operator(name, [taken, weights, bias], [result], **steps, **more)
    net.operator("ADD", [source if adds else made, made], [last], fusedActivationFunction=0)
    (tmp_path / "net.tflite").write_bytes(net.pack([source], [last]))
    plan = compile_network(tmp_path / "net.tflite").plan
    assert (0 in plan.first_tile) == (not adds)
