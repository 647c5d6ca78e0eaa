"""Random small networks: compiled, for batches too, and executed command by command they give the golden
model's output."""

from pathlib import Path

import numpy as np
import pytest

from compiler.pipeline import compile_network
from model.descriptor import Descriptor
from model.encoding import ArrayMode, Stream
from model.machine import Machine
from model.streams import positions
from tb.scripts.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights

SAME = "SAME"
NETWORKS = 60


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


def read_too_late(descriptor: Descriptor) -> int:
    """GLB words that a pass reads as ifmap behind the turn (of outer block, tile and inner block) in which it
    writes them. The model reads all before it writes; the machine does not."""
    ifmap, ofmap = descriptor.stream(Stream.IFMAP), descriptor.stream(Stream.OFMAP)
    if not ofmap.options["enable"]:
        return 0
    loops = descriptor.loops
    turns = loops["outer"], loops["tiles"], loops["inner"]
    reads, writes = positions(ifmap), positions(ofmap)
    # A fused or depthwise pass reads its ifmap with the first tile only.
    once = descriptor.shape["mode"] in (ArrayMode.FUSED, ArrayMode.DEPTHWISE)
    read_turns = turns[0] * turns[2] if once else np.prod(turns)
    read_at = np.arange(ifmap.length) // (ifmap.length // read_turns)
    if once:
        read_at = read_at // turns[2] * turns[1] * turns[2] + read_at % turns[2]
    written_at = np.arange(ofmap.length) // (ofmap.length // np.prod(turns))
    last = np.full(1 << 16, -1)
    for lane in range(2):
        inside = (reads.y >= 0) & (reads.y < ifmap.range["rows"])
        inside &= (reads.x + lane >= 0) & (reads.x + lane < ifmap.range["cols"])
        np.maximum.at(last, reads.address[inside] + lane, read_at[inside])
    inside = (writes.y >= 0) & (writes.y < ofmap.range["rows"]) & (writes.x >= 0) & (writes.x < ofmap.range["cols"])
    return int((last[writes.address[inside]] > written_at[inside]).sum())


def draw_images(rng: np.random.Generator) -> int:
    """Images of a run: one as a rule."""
    return int(rng.choice([1, 1, 1, 2, 3, 4, 6]))


def test_machine_computes_the_golden_output(seed: int, tmp_path: Path) -> None:
    path, ran, together = tmp_path / "net.tflite", 0, 0
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        model, shape = network(rng)
        path.write_bytes(model)
        try:
            stages = compile_network(path, effort=8, images=draw_images(rng))
        except ValueError as error:
            assert str(error).startswith("group "), error
            continue
        values = rng.integers(-128, 128, (stages.image.images, *shape)).astype(np.int8)
        [run] = stages.image.runs(values)
        late: list[int] = []
        machine = Machine(stages.image.with_input(run), observe=lambda t: late.append(read_too_late(t.descriptor)))
        machine.run(stages.image.program)
        golden = stages.graph.run(values)[stages.graph.output.name]
        output = stages.image.results([stages.image.output(machine.dram)], len(values))
        about = f"network {number}, {len(values)} images:\n{stages.dump('groups')}\n{stages.dump('segments')}"
        assert np.array_equal(output, golden), about
        assert not any(late), about
        ran += 1
        together += any(group.images for group in stages.schedule.plan.groups)
    assert ran > NETWORKS // 2 and together


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


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("average of a depthwise convolution", "group depthwise0: an average needs a pointwise convolution"),
        ("average of a convolution", "group conv0: an average needs a pointwise convolution before it"),
        ("large average", "group pointwise0: an average over 12 x 12 pixels needs all of them in flight"),
    ],
)
def test_refusals(kind: str, message: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(single(kind, np.random.default_rng(seed)))
    with pytest.raises(ValueError) as caught:
        compile_network(path)
    assert str(caught.value).startswith(message)
