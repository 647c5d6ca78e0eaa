# SPDX-License-Identifier: Apache-2.0
"""Random small networks: compiled, for batches too, and executed command by command they give the golden
model's output."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from math import prod
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Average, Pointwise
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.network import compile_network
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.compiler.target.mapping import holds_at_once, mappings
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, Stream
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.interpreters import run_litert
from eyrie.model.streams import inside, positions, written
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.testing.configurations import random_configs
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.commands.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.rejections import with_room

SAME = "SAME"
NETWORKS = scaled(60)
CONFIGS = (
    AcceleratorConfig(rows=3, cols=4),
    replace(DEFAULT, multipliers=1),
    replace(DEFAULT, bus_words=2, filter_lanes=2),
    replace(DEFAULT, glb_bank_words=256),
    replace(DEFAULT, glb_bank_words=512, word_buffer_words=64),
)


def layer(rng: np.random.Generator, net: TfliteBuilder, name: str, x, kind: str, filters: int):
    """Appends a convolution, a pointwise or a depthwise one, or a depthwise and a pointwise one."""
    channels, size, stride = x.shape[3], int(rng.integers(1, 4)), int(rng.integers(1, 3))
    padding = VALID if min(x.shape[1:3]) >= size and rng.random() < 0.5 else SAME

    def add(method, suffix: str, x, *shape: int, count: int, **options):
        out = Quant(0.05, int(rng.choice([-128, rng.integers(-128, 128)])))
        constants = weights(rng, *shape), scales(rng, count), bias(rng, count)
        return method(name + suffix, x, *constants, out, relu=int(rng.choice([0, 1, 6])), **options)

    window = {"stride": stride, "padding": padding}
    if kind == "convolution":
        return add(net.conv, "", x, filters, size, size, channels, count=filters, **window)
    if kind in ("separable", "depthwise"):
        x = add(net.depthwise, "/depthwise", x, 1, size, size, channels, count=channels, **window)
        if kind == "depthwise":
            return x
    return add(net.conv, "/pointwise", x, filters, 1, 1, channels, count=filters)


def network(rng: np.random.Generator) -> tuple[bytes, tuple[int, int, int]]:
    rows, cols = rng.integers(1, 40, 2).tolist()
    channels = int(rng.choice([1, 3, 8, 9, 16, 40]))
    net = TfliteBuilder("random")
    x = net.input("image", (1, rows, cols, channels), INPUT)
    for n in range(rng.integers(1, 6)):
        kind = rng.choice(["convolution", "separable", "separable", "pointwise", "pointwise", "depthwise"])
        x = layer(rng, net, f"layer{n}", x, kind, int(rng.choice([1, 8, 10, 24, 64, 100, 256])))
    if x.shape[1] == x.shape[2] and rng.random() < 0.5:
        x = net.average_pool("pool", x, x.shape[1], x.shape[1])
    return net.build([x]), (rows, cols, channels)


def late_network(rng: np.random.Generator) -> tuple[bytes, tuple[int, int, int]]:
    """Small maps of many channels, as behind the last strides of a network: what images share."""
    side, channels = int(rng.integers(1, 5)), int(rng.choice([64, 128, 256]))
    net = TfliteBuilder("late")
    x = net.input("image", (1, side, side, channels), INPUT)
    kind = ""
    for n in range(rng.integers(2, 7)):
        kind = rng.choice(["separable", "pointwise", "depthwise", "depthwise"])
        x = layer(rng, net, f"layer{n}", x, kind, int(rng.choice([64, 256, 512, 1024])))
    if x.shape[1] == x.shape[2] and kind != "depthwise" and rng.random() < 0.5:
        x = net.average_pool("pool", x, x.shape[1], x.shape[1])
    return net.build([x]), (side, side, channels)


def read_too_late(descriptor: Descriptor) -> int:
    """GLB words that a pass reads as ifmap behind the turn (of outer block, tile and inner block) in which it
    writes them. The model reads all before it writes; the accelerator does not."""
    ifmap, ofmap = descriptor.stream(Stream.IFMAP), descriptor.stream(Stream.OFMAP)
    if not ofmap.options["enable"]:
        return 0
    loops = descriptor.loops
    turns = loops["outer"], loops["tiles"], loops["inner"]
    reads, writes = positions(ifmap, 2), positions(ofmap)
    # A fused or depthwise pass reads its ifmap with the first tile only.
    once = descriptor.shape["mode"] in (ArrayMode.FUSED, ArrayMode.DEPTHWISE)
    read_turns = turns[0] * turns[2] if once else np.prod(turns)
    if descriptor.shape["mode"] == ArrayMode.ELEMENTWISE:
        turns, read_turns = (1, 1, ofmap.length), ofmap.length
    read_at = np.arange(ifmap.length) // (ifmap.length // read_turns)
    if once:
        read_at = read_at // turns[2] * turns[1] * turns[2] + read_at % turns[2]
    written_at = np.arange(ofmap.length) // (ofmap.length // np.prod(turns))
    last = np.full(1 << 16, -1)
    packed = ifmap.options["packed_pixels"]
    for lane in range(1 if ifmap.options["single"] or packed else 2):
        there = inside(ifmap, reads, lane) | (packed == 1) & inside(ifmap, reads, 1)
        np.maximum.at(last, reads.address[there] + lane, read_at[there])
    late = 0
    for lane, there in enumerate(written(descriptor, writes).T):
        late += int((last[writes.address[there] + lane] > written_at[there]).sum())
    return late


def draw_images(rng: np.random.Generator) -> int:
    """Images of a run: one as a rule."""
    return int(rng.choice([1, 1, 1, 2, 3, 4, 6]))


def compiled(
    path: Path, config: AcceleratorConfig = DEFAULT, images: int = 1, objective: str = "cycles"
) -> Built | None:
    """None if the network does not fit, or is one that the accelerator does not run."""
    try:
        return compile_network(path, config, objective, search_iterations=8, images=images)
    except DoesNotFit as error:
        assert str(error).startswith("group "), error
    except ValueError as error:
        assert "an average " in str(error), error
    return None


def check(stages: Built, rng: np.random.Generator, about: str) -> None:
    """A run on random images gives the golden output, and no pass reads what it has written over."""
    image = stages.image
    values = rng.integers(-128, 128, (image.images, *image.input_map.shape)).astype(np.int8)
    [run] = image.runs(image.named(values))
    late: list[int] = []
    simulator = FunctionalSimulator(
        image.with_inputs(run), stages.config, observe=lambda trace: late.append(read_too_late(trace.descriptor))
    )
    simulator.run(image.program.address)
    [output] = image.results([image.outputs_in(simulator.dram)], len(values)).values()
    about += f", {len(values)} images:\n{dumped(stages, 'groups')}\n{dumped(stages, 'segments')}"
    assert np.array_equal(output, stages.graph.run_images(values)), about
    assert not any(late), about


def test_accelerator_computes_the_golden_output(seed: int, tmp_path: Path) -> None:
    path, ran = tmp_path / "net.tflite", 0
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        path.write_bytes(network(rng)[0])
        if stages := compiled(path, images=draw_images(rng)):
            check(stages, rng, f"network {number}")
            ran += 1
    assert ran > NETWORKS // 2


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"])
def test_sums_wrap_around_at_32_bits(kind: str, seed: int, tmp_path: Path) -> None:
    """A bias takes them so far; TensorFlow Lite, the golden model and the accelerator agree."""
    rng, net, path, zero = np.random.default_rng([seed, 7]), Builder(), tmp_path / "net.tflite", 3
    shape, made, filters = (1, 6, 6, 8), (1, 6, 6, 8), (8, 3, 3, 8)
    options = STEPS
    if kind == "FULLY_CONNECTED":
        shape, made, filters, options = (1, 8), (1, 8), (8, 8), {}
    elif kind == "DEPTHWISE_CONV_2D":
        filters, options = (1, 3, 3, 8), STEPS | {"depthMultiplier": 1}
    elif kind == "TRANSPOSE_CONV":
        options = {"strideH": 1, "strideW": 1}
    biases = np.array([2**31 - 1, -(2**31)] * 4, np.int32)
    source, output = net.tensor(shape, scale=0.1, zero_point=zero), net.tensor(made, scale=20_000)
    values = rng.integers(-127, 128, filters).astype(np.int8)
    constants = [
        net.tensor(filters, scale=0.01, data=values),
        net.tensor((8,), "int32", scale=0.001, data=biases),
    ]
    if kind == "TRANSPOSE_CONV":
        size = net.tensor((4,), "int32", data=np.array(made, np.int32))
        net.operator(kind, [size, constants[0], source, constants[1]], [output], **options)
    else:
        net.operator(kind, [source, *constants], [output], **options)
    path.write_bytes(net.pack([source], [output]))
    stages = compile_network(path, search_iterations=8)
    check(stages, rng, kind)
    given = rng.integers(-128, 128, shape).astype(np.int8)
    [expected], [golden] = run_litert(path.read_bytes(), given), golden_outputs(stages.graph, [given])
    np.testing.assert_array_equal(golden.reshape(made), expected)
    assert (expected[..., 0::2] < 0).any() or (expected[..., 1::2] > 0).any()


def test_batches_of_late_layers(seed: int, tmp_path: Path) -> None:
    """On configurations of any kind; a batch compiles wherever one image does."""
    path, ways = tmp_path / "net.tflite", set()
    number = -1
    while (number := number + 1) < NETWORKS or len(ways) < 2:  # whole maps, in place, filter tiles
        assert number < 5 * NETWORKS, f"batches are done in one way only: {ways}"
        rng = np.random.default_rng([seed, 1, number])
        path.write_bytes(late_network(rng)[0])
        config = CONFIGS[rng.integers(len(CONFIGS))] if rng.random() < 0.5 else DEFAULT
        stages = compiled(path, config, int(rng.choice([2, 4, 5, 8, 12])))
        if stages is None:
            assert compiled(path, config) is None, f"network {number}"
            continue
        ways |= {
            (s.nest.whole, s.nest.in_place) for s in stages.schedule.plan.segments for group in s.groups if group.images
        }
        check(stages, rng, f"network {number} on {config}")


def single(kind: str, rng: np.random.Generator) -> bytes:
    net = TfliteBuilder(kind)
    pixels = 12
    x = net.input("image", (1, pixels, pixels, 8), INPUT)
    out = Quant(0.05, -128)
    if kind == "average of a depthwise convolution":
        x = net.depthwise("a", x, weights(rng, 1, 3, 3, 8), scales(rng, 8), bias(rng, 8), out)
    else:
        size = 3 if kind == "average of a convolution" else 1
        x = net.conv("a", x, weights(rng, 8, size, size, 8), scales(rng, 8), bias(rng, 8), out)
    return net.build([net.average_pool("pool", x, pixels, pixels)])


@pytest.mark.parametrize("kind", ["average of a depthwise convolution", "average of a convolution", "large average"])
def test_averages(kind: str, seed: int, tmp_path: Path) -> None:
    """Of sums that have none on the way out; the last of more pixels than can be in flight."""
    path = tmp_path / "net.tflite"
    path.write_bytes(single(kind, np.random.default_rng(seed)))
    stages = compiled(path)
    assert [group.kind for group in stages.groups][1:] == ["average"]
    check(stages, np.random.default_rng([seed, 1]), kind)


def test_failures_say_demand_and_bound(seed: int, tmp_path: Path) -> None:
    """In fields as in the message: three rows of 8 channels are larger than the GLB. With the demand it compiles."""
    rng, path, net = np.random.default_rng(seed), tmp_path / "net.tflite", TfliteBuilder("large")
    x = net.input("image", (1, 8, 1000, 64), INPUT)
    out = Quant(0.05, -128)
    path.write_bytes(net.build([net.depthwise("a", x, weights(rng, 1, 3, 3, 64), scales(rng, 64), bias(rng, 64), out)]))
    small = replace(DEFAULT, glb_bank_words=256)
    with pytest.raises(DoesNotFit) as caught:
        compile_network(path, small)
    failure = caught.value
    assert failure.layer == "depthwise0" and failure.demand > failure.bound == small.glb_bytes
    assert failure.demand > 3 * 1000 * 8
    assert all(str(part) in str(failure) for part in (failure.layer, failure.demand, failure.bound))
    assert failure.remedy and str(failure).endswith(f": {failure.remedy}")
    check(compile_network(path, with_room(small, failure.demand), search_iterations=8), rng, "with a larger GLB")


def test_words_that_the_word_buffers_do_not_hold(seed: int, tmp_path: Path) -> None:
    """Nine pixels could be in flight, but for their depthwise words: the block is done in halves."""
    rng, path, net = np.random.default_rng(seed), tmp_path / "net.tflite", TfliteBuilder("average")
    x = layer(rng, net, "a", net.input("image", (1, 3, 3, 64), INPUT), "pointwise", 256)
    out = Quant(0.05, -128)
    x = net.depthwise("d", x, weights(rng, 1, 3, 3, 256), scales(rng, 256), bias(rng, 256), out)
    x = net.conv("c", x, weights(rng, 512, 1, 1, 256), scales(rng, 512), bias(rng, 512), out)
    path.write_bytes(net.build([net.average_pool("pool", x, 3, 3)]))
    for config, kinds in (
        (DEFAULT, ["pointwise", "separable"]),
        (replace(DEFAULT, word_buffer_words=64), ["pointwise", "depthwise", "pointwise"]),
    ):
        stages = compile_network(path, config, search_iterations=8)
        assert [group.kind for group in stages.groups] == kinds
        check(stages, rng, str(config))


@pytest.mark.parametrize("side", range(1, 9))
def test_averages_in_flight(side: int, seed: int, tmp_path: Path) -> None:
    """Up to 7 x 7 pixels are in flight on 8 columns, a row in each; an average over more is a group of its own, and so
    is one that costs less by itself."""
    rng, path, net = np.random.default_rng(seed), tmp_path / "net.tflite", TfliteBuilder("average")
    x = layer(rng, net, "a", net.input("image", (1, side, side, 8), INPUT), "pointwise", 8)
    path.write_bytes(net.build([net.average_pool("pool", x, side, side)]))
    stages = compile_network(path, search_iterations=8)
    assert holds_at_once(DEFAULT, (side, side)) == (side <= 7)
    [group] = [group for group in stages.groups if group.kind in ("pointwise", "fc")]
    assert (group.averaged == side * side) == (1 < side <= 7)
    assert (stages.groups[-1].kind == "average") == (side > 7)
    check(stages, rng, f"side {side}")


def test_averages_in_flight_of_any_accelerator(seed: int) -> None:
    """What is said about a map of any shape is what the mappings of an averaging group say."""
    held = 0
    for sizes in random_configs(seed, 16):
        try:
            config = AcceleratorConfig(**sizes)
        except ValueError:  # one of four is none
            continue
        for shape in product(range(1, 10), repeat=2):
            group = Pointwise(
                name="p",
                source=Map("x", (*shape, 8), None),
                output=Map("y", (1, 1, 8), None),
                epilogue=(Average(prod(shape)),),
                filters=np.zeros((8, 8), np.int8),
                table=None,
            )
            assert holds_at_once(config, shape) == bool(mappings(config, group, shape[0])), (config, shape)
            held += holds_at_once(config, shape)
    assert held


def test_stores_that_nothing_overlaps(seed: int, tmp_path: Path) -> None:
    """Where the next segment leaves no room, the words of what is stored end with the job that makes them; else with
    the job behind, which then need not wait."""
    overlapped, number, path = Counter(), 0, tmp_path / "net.tflite"
    while number < 6 or not (overlapped[False] and overlapped[True]):
        rng, net, number = np.random.default_rng([seed, number]), TfliteBuilder("tight"), number + 1
        assert number < 100, overlapped
        x = net.input("image", (1, *map(int, rng.integers(18, 36, 2)), int(rng.choice([24, 40, 64]))), INPUT)
        for name, size, filters in (("a", 1, 24), ("b", 3, 48), ("c", 3, 16)):
            constants = weights(rng, filters, size, size, x.shape[3]), scales(rng, filters), bias(rng, filters)
            x = net.conv(name, x, *constants, Quant(0.05, -128), padding=VALID if name == "c" else SAME)
        path.write_bytes(net.build([x]))
        words = int(rng.choice(range(256, 384, 4)))
        stages = compiled(path, replace(DEFAULT, glb_bank_words=words))
        if not stages:
            continue
        check(stages, rng, f"three layers on banks of {words} words")
        plan = stages.plan
        for segment, behind in pairwise(plan.segments):
            if segment.nest.to_dram:
                n, stored = segment.last - 1, plan.made[segment.last - 1].buffer
                beside = {
                    id(buffer): buffer.words
                    for buffer in stages.placed.buffers
                    if buffer.birth <= plan.spans[behind.first][0] <= buffer.death and buffer.name != stored.name
                }
                overlaps = stored.death > plan.spans[n][1]
                assert not overlaps or sum(beside.values()) + stored.words <= stages.config.glb_words
                overlapped[overlaps] += 1
