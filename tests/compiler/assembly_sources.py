# SPDX-License-Identifier: Apache-2.0
"""Sources of assembly for tests, and the same network by the road of a model."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.runtime.folders import ROOT
from eyrie.training.tflite_writer import SAME, VALID, Quant, TfliteBuilder
from tests.commands.small_nets import bias, scales, weights

PAGE = ROOT / "docs" / "reference" / "assembly.md"


def examples() -> list[str]:
    """The sources of the page, in its order."""
    return re.findall(r"^```asm\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Both:
    """A network as lines of assembly, with its files in the folder, and as a model."""

    source: Path
    model: Path


def write(folder: Path, text: str, **arrays: np.ndarray) -> Path:
    """A source, and the files that it names."""
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    (folder / "net.s").write_text(text)
    return folder / "net.s"


def fully_connected(rng: np.random.Generator, folder: Path) -> Both:
    """The page's first example."""
    net, arrays = (
        TfliteBuilder(),
        {"w1": weights(rng, 256, 1024), "w2": weights(rng, 256, 256), "b1": bias(rng, 256), "b2": bias(rng, 256)},
    )
    x = net.input("x", (1, 1024), Quant(0.02, -5))
    h = net.fully_connected("h", x, arrays["w1"], 0.004, arrays["b1"], Quant(0.05, -128), relu=True)
    y = net.fully_connected("y", h, arrays["w2"], 0.006, arrays["b2"], Quant(0.1, 7))
    (folder / "net.tflite").write_bytes(net.build([y]))
    return Both(write(folder, examples()[0], **arrays), folder / "net.tflite")


TEN_LAYERS = """
input x 16,16,3 scale=0.0039 zero_point=-9
filter stem_w stem_w.npy scale=stem_s.npy
filter depth_w depth_w.npy scale=depth_s.npy
filter point_w point_w.npy scale=point_s.npy
filter left_w left_w.npy scale=left_s.npy
filter wide_w wide_w.npy scale=wide_s.npy
filter dense_w dense_w.npy scale=dense_s.npy
filter head_w head_w.npy scale=head_s.npy
conv           stem  x stem_w bias=stem_b.npy scale=0.03 zero_point=-128 activation=RELU pad=same
depthwise_conv depth stem depth_w bias=depth_b.npy scale=0.05 zero_point=-128 activation=RELU6 stride=2 pad=same
pointwise_conv point depth point_w bias=point_b.npy scale=0.1 zero_point=3
conv           left  point left_w bias=left_b.npy scale=0.1 zero_point=3 pad=same
add            total point left scale=0.15 zero_point=5
max_pool       small total kernel=2
conv           wide  small wide_w bias=wide_b.npy scale=0.1 zero_point=-128 activation=RELU pad=same
average_pool   flat  wide kernel=4
fc             dense flat dense_w bias=dense_b.npy scale=0.1 zero_point=-4
fc             head  dense head_w bias=head_b.npy scale=0.2 zero_point=3
output head
"""


def ten_layers(rng: np.random.Generator, folder: Path) -> Both:
    """Of different kinds, with a branch."""
    shapes = {
        "stem": (16, 3, 3, 3),
        "depth": (1, 3, 3, 16),
        "point": (24, 1, 1, 16),
        "left": (24, 3, 3, 24),
        "wide": (32, 5, 5, 24),
        "dense": (48, 32),
        "head": (10, 48),
    }
    w = {name: weights(rng, *shape) for name, shape in shapes.items()}
    m = {name: shape[-1] if name == "depth" else shape[0] for name, shape in shapes.items()}
    s, b = ({name: draw(rng, count) for name, count in m.items()} for draw in (scales, bias))
    s |= {name: s[name][:1] for name in ("dense", "head")}
    net = TfliteBuilder()

    def of(name: str) -> tuple:
        return w[name], s[name], b[name]

    x = net.input("x", (1, 16, 16, 3), Quant(0.0039, -9))
    x = net.conv("stem", x, *of("stem"), Quant(0.03, -128), padding=SAME, relu=True)
    x = net.depthwise("depth", x, *of("depth"), Quant(0.05, -128), stride=2, padding=SAME, relu=6)
    point = net.conv("point", x, *of("point"), Quant(0.1, 3), padding=VALID)
    left = net.conv("left", point, *of("left"), Quant(0.1, 3), padding=SAME)
    x = net.max_pool("small", net.add("total", point, left, Quant(0.15, 5)), 2, 2)
    x = net.conv("wide", x, *of("wide"), Quant(0.1, -128), padding=SAME, relu=True)
    x = net.average_pool("flat", x, 4, 4)
    x = net.reshape("vector", x, (1, 32))
    x = net.fully_connected("dense", x, w["dense"], float(s["dense"][0]), b["dense"], Quant(0.1, -4))
    x = net.fully_connected("head", x, w["head"], float(s["head"][0]), b["head"], Quant(0.2, 3))
    (folder / "net.tflite").write_bytes(net.build([x]))
    arrays = {f"{name}_{kind}": values[name] for kind, values in (("w", w), ("s", s), ("b", b)) for name in w}
    arrays["depth_w"], arrays["point_w"] = w["depth"][0], w["point"][:, 0, 0]
    return Both(write(folder, TEN_LAYERS, **arrays), folder / "net.tflite")


def mixed() -> str:
    """Layers, the page's addition of what they make, layers of what that makes; a buffer at another place."""
    hand = examples()[1].replace("input  b 4,4,8 scale=0.05\n", "").replace("fetch second b", "fetch second m")
    hand = hand.replace("output y\n", "").replace("words=16\n", "words=16 at=640\n", 1)
    hand = hand.replace("tensor y", "max_pool m a kernel=3 stride=1 pad=same\ntensor y")
    return f"{hand}max_pool z y kernel=2\nbarrier\nmax_pool last z kernel=2\noutput last m\n"
