# SPDX-License-Identifier: Apache-2.0
"""Inputs that lie as patches: where each value lies, which inputs do, what it gains, and that results are the same."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.failure import InternalError
from eyrie.compiler.ir.input_layout import Patches
from eyrie.compiler.ir.layer import Convolution, Group, Pointwise
from eyrie.compiler.ir.verify import verify_groups
from eyrie.compiler.ir.window import Window
from eyrie.compiler.plan.packed_maps import with_packed_inputs
from eyrie.compiler.plan.patched_maps import with_patched_inputs
from eyrie.compiler.target.mapping import mappings
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.testing.layers import int8
from eyrie.testing.samples import scaled
from tests.compiler.test_moves import Drawn
from tests.compiler.test_turned_maps import checked
from tests.compiler.windows import Chain, compile_groups, convolution_chain

DRAWN = 24
CONFIGS = (
    DEFAULT,
    replace(DEFAULT, bus_words=2, filter_lanes=2),
    replace(DEFAULT, glb_bank_words=512),
    AcceleratorConfig(rows=3),
    AcceleratorConfig(rows=9, cols=5),
    replace(DEFAULT, multipliers=1),
)

# The input's shape, window and filters of first layers that people bring; how many times fewer cycles the array takes,
# at least, and how many times the roofline it takes, at most.
FIRST_LAYERS = {
    "LeNet": ((28, 28, 1), Window((5, 5), pads=(2, 2, 2, 2)), 6, 4.9, 6.5),
    "cifar10_quick": ((32, 32, 3), Window((5, 5), pads=(2, 2, 2, 2)), 32, 2.4, 1.2),
    "AlexNet": ((227, 227, 3), Window((11, 11), (4, 4)), 96, 2.3, 1.2),
    "ResNet": ((224, 224, 3), Window((7, 7), (2, 2), (3, 3, 3, 3)), 64, 2.3, 1.2),
    "keywords 10x4": ((49, 10, 1), Window((10, 4), (2, 2), (4, 5, 1, 1)), 64, 7.9, 1.7),
    "keywords 10x8": ((49, 40, 1), Window((10, 8)), 64, 7.9, 1.1),
    "sound 20x8": ((98, 40, 1), Window((20, 8)), 64, 7.9, 1.3),
    "MNIST 3x3": ((28, 28, 1), Window((3, 3), pads=(1, 1, 1, 1)), 32, 2.9, 1.4),
}


def first_layer(shape: tuple[int, int, int], window: Window, filters: int) -> Convolution:
    return convolution_chain(np.random.default_rng(1), shape, window, filters).groups[0]


def laid(groups: list[Group], config: AcceleratorConfig = DEFAULT, shared: tuple[str, ...] = ()) -> list[Group]:
    return with_patched_inputs(with_packed_inputs(groups, config, shared), config, shared)


def cycles(group: Group, config: AcceleratorConfig = DEFAULT) -> int:
    return mappings(config, group, group.map_shape[0])[0].cycles


@pytest.mark.parametrize("name", FIRST_LAYERS)
def test_first_layers(name: str) -> None:
    """What is counted as work stays the model's."""
    *layer, gain, roofline = FIRST_LAYERS[name]
    group = first_layer(*layer)
    [before], [after] = with_packed_inputs([group], DEFAULT), laid([group])
    assert after.source.patches and cycles(before) >= gain * cycles(after)
    assert (after.macs, after.weight_bytes, after.map_shape) == (group.macs, group.weight_bytes, group.map_shape)
    assert cycles(after) <= roofline * group.macs / DEFAULT.total_multipliers


def test_where_each_value_lies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    outside = 0
    for _ in range(50):
        shape = tuple(rng.integers(1, 8, 3).tolist())
        rows, cols, *pairs = rng.integers(1, 6, 8).tolist()
        kernel, step, before = tuple(pairs[:2]), tuple(pairs[2:4]), tuple(part - 1 for part in pairs[4:])
        values, zero_point = int8(rng, *shape), int(rng.integers(-128, 128))
        found = Patches(shape, rows, cols, kernel, step, before, kernel).of(values, zero_point)
        assert found.shape == (rows, cols, kernel[0] * kernel[1] * shape[2])
        for place in np.ndindex(rows, cols, *kernel, shape[2]):
            y, x = (place[axis] * step[axis] + place[2 + axis] - before[axis] for axis in (0, 1))
            inside = 0 <= y < shape[0] and 0 <= x < shape[1]
            outside += not inside
            channel = (place[2] * kernel[1] + place[3]) * shape[2] + place[4]
            assert found[place[0], place[1], channel] == (values[y, x, place[4]] if inside else zero_point)
    assert outside


def test_which_inputs_do_not() -> None:
    """Inputs stay as they are if groups read them in different windows, if another program lays them out, if the window
    is dilated, if they have many channels, if a group makes them, or if patches bring nothing."""
    first = first_layer((28, 28, 1), Window((5, 5), pads=(2, 2, 2, 2)), 8)
    dilated = first_layer((28, 28, 1), Window((5, 5), dilation=(2, 2)), 8)
    wide = first_layer((28, 28, 5), Window((5, 5)), 8)
    behind = replace(
        first,
        name="behind",
        source=first.output,
        window=Window((1, 1)),
        filters=np.ones((8, 1, 1, 8), np.int8),
        output=replace(first.output, name="end"),
    )
    again = replace(first, name="again", output=replace(first.output, name="again"))
    small = first_layer((32, 32, 3), Window((3, 3), pads=(1, 1, 1, 1)), 32)
    strided = first_layer((96, 96, 3), Window((3, 3), (2, 2), (0, 1, 0, 1)), 32)
    for groups, expected in (
        ([first], [True]),
        ([first, behind], [True, False]),
        ([dilated], [False]),
        ([wide], [False]),
        ([small], [False]),
        ([strided], [False]),
        ([first, again], [True, True]),
        ([first, replace(again, window=replace(first.window, stride=(2, 2)))], [False, False]),
    ):
        assert [group.source.patches is not None for group in laid(groups)] == expected
    assert laid([first], shared=(first.source.name,)) == [first]


def bands(rng: np.random.Generator, shifted: bool) -> bytes:
    """A first layer in bands of rows; neighbours read common rows. shifted: the last band begins a row later"""
    stride, kernel, pad = int(rng.integers(2, 4)), *rng.integers(3, 7, 1).tolist(), int(rng.integers(2))
    made, width = rng.integers(2, 9, int(rng.integers(2, 4))).tolist(), int(rng.integers(kernel, 40))
    height = (sum(made) - 1) * stride + kernel - 2 * pad + shifted
    net, outputs, first = Drawn(int(rng.integers(1 << 30)), (1, height, width, int(rng.integers(1, 4)))), [], 0
    for rows in made:
        begin, last = first * stride - pad, (first + rows - 1) * stride - pad + kernel
        begin, last = (begin + 1, last + 1) if shifted and last > height - 3 else (begin, last)
        above, below = max(-begin, 0), max(last - height, 0)
        shape = 1, last - begin - above - below, *net.shapes[net.input][2:]
        x = net.slice(net.input, (0, max(begin, 0), 0, 0), shape)
        outputs.append(net.conv(net.pad(x, (0, 0), (above, below), (0, 0), (0, 0)), 16, kernel, kernel, stride))
        first += rows
    return net.model(*outputs)


def test_bands_of_values_of_a_table() -> None:
    """Rows of an input that the host looks up are no patches: of equal windows all of it is."""
    for pads, patched in (((0, 0), True), ((2, 2), False)):
        net = Drawn(1, (1, 30, 30, 1))
        x = net.tensor((1, 30, 30, 1))
        net.builder.operator("LEAKY_RELU", [net.input], [x], alpha=0.3)
        outputs = [net.conv(net.pad(x, (0, 0), margin, (0, 0), (0, 0)), 16, 5, 5) for margin in ((0, 0), pads)]
        built = checked(net.model(*outputs), DEFAULT, 1, str(pads))
        assert [group.source.table is not None for group in built.groups] == [True, True]
        assert [group.source.patches is not None for group in built.groups] == [patched, patched]


@pytest.mark.parametrize("shifted", [False, True])
def test_bands_of_an_input(seed: int, shifted: bool) -> None:
    """All have rows of the same patches, where these begin as their windows do."""
    patched = 0
    for n in range(scaled(60)):
        config, rng = CONFIGS[n % len(CONFIGS)], np.random.default_rng([seed, n])
        built = checked(bands(rng, shifted), config, seed, f"{n} of {seed}")
        found = {group.source.storage.patches is not None for group in built.groups}
        assert len(found) == 1
        patched += found == {True}
    assert patched > scaled(60) // 2


def test_where_bytes_count_patches_are_no_more() -> None:
    patched = 0
    for layer in FIRST_LAYERS.values():
        [before] = with_packed_inputs([first_layer(*layer[:3])], DEFAULT)
        [after] = with_patched_inputs([before], DEFAULT, larger=False)
        assert after.source.layout.words <= before.source.layout.words
        patched += after.source.patches is not None
    assert patched


def test_fully_connected_layers_and_patches_side_by_side() -> None:
    """A map has as many bytes as the input where its size is one of whole words."""
    for shape, window in (((28, 28, 1), Window((28, 28))), ((64, 64, 3), Window((16, 16), (16, 16)))):
        [group] = laid([first_layer(shape, window, 32)])
        assert np.prod(group.source.shape) == np.prod(shape) and group.source.shape[2] % 8 == 0
        assert group.filters.size == 32 * np.prod(window.kernel) * shape[2]


def test_patches_of_something_else_are_found() -> None:
    [group] = laid([first_layer((28, 28, 1), Window((5, 5)), 8)])
    group = replace(group, stored=True)
    plain = replace(group.source, shape=(28, 28, 1), patches=None, packed=False)
    verify_groups([group], [plain], [group.output])
    with pytest.raises(InternalError, match="^group conv0: reads t0 "):
        verify_groups([group], [replace(plain, shape=(27, 28, 1))], [group.output])


def run(chain: Chain, config: AcceleratorConfig, rng: np.random.Generator) -> Counter:
    """Compiles a chain and runs it command by command; how its input lies."""
    stages = compile_groups(chain.groups, config)
    image, patches = stages.image, stages.groups[0].source.patches
    values = rng.integers(-128, 128, image.input_map.shape).astype(np.int8)
    run = FunctionalSimulator(image.with_input(values), config)
    run.run(image.program.address)
    np.testing.assert_array_equal(image.output(run.dram), chain.run(values), f"{chain} on {config}")
    if patches is None:
        return Counter()
    overlap = any(step < size for step, size in zip(patches.step, patches.kernel))
    source = stages.plan.read[0].layout
    return Counter(
        patches=1,
        packed=source.packed,
        overlap=overlap,
        apart=not overlap,
        pads=patches.before > (0, 0),
        pointwise=isinstance(stages.groups[0], Pointwise),
        ring=source.ring_rows < source.rows,
        dilated=stages.groups[0].window.dilation != (1, 1),
    )


def test_random_first_layers(seed: int) -> None:
    """Kernels, strides, pads and maps of all sizes, odd ones too, of each way that patches lie."""
    rng, done, number = np.random.default_rng(seed), Counter(), 0
    wanted = "packed", "overlap", "apart", "pads", "pointwise", "ring", "dilated"
    while number < DRAWN or not all(done[way] for way in wanted):
        number += 1
        assert number < 20 * DRAWN, done
        kernel, stride = tuple(rng.integers(1, 12, 2).tolist()), tuple(rng.integers(1, 5, 2).tolist())
        rows, cols = (int(size + rng.integers(25)) for size in kernel)
        pads = tuple(int(rng.integers(0, kernel[side // 2])) for side in range(4))
        chain = convolution_chain(
            rng, (rows, cols, int(rng.integers(1, 5))), Window(kernel, stride, pads), int(rng.choice([1, 6, 8, 20, 24]))
        )
        done += run(chain, CONFIGS[rng.integers(len(CONFIGS))], rng)
    assert done["patches"] > DRAWN // 2, done
