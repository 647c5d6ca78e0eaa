# SPDX-License-Identifier: Apache-2.0
"""Pictures of graphs: boxes do not meet, arrows lead down beside boxes, and a network's picture has every operator on
its side."""

import xml.etree.ElementTree as xml
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend.file import load
from eyrie.compiler.parts import compile_request
from eyrie.compiler.passes.partition import Side
from eyrie.compiler.results import Request
from eyrie.runtime.diagrams.diagram import Box, Diagram, Line, Meaning
from eyrie.runtime.diagrams.layout import Layout, Size, layout
from eyrie.runtime.diagrams.networks import HOST, legend, of_graph, of_parts, picture
from eyrie.runtime.diagrams.svg import drawn
from tb.net.random_branches import draw_network
from tests.commands.commands import assert_rejected, eyrie
from tests.compiler.dumped import branches
from tests.compiler.test_moves import Drawn
from tests.compiler.test_partition import image_classifier

EDGE = 1e-6  # of floating point
SVG = "{http://www.w3.org/2000/svg}"


def check(sizes: dict[str, Size], arrows: list[tuple[str, str]], found: Layout) -> None:
    """Fails where boxes meet, or where an arrow does not go down from one box to the other without crossing a third."""
    places = {
        key: (*found.corners[key], found.corners[key][0] + sizes[key][0], found.corners[key][1] + sizes[key][1])
        for key in sizes
    }
    for one, other in combinations(places.values(), 2):
        assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1], (one, other)
    for left, top, right, foot in places.values():
        assert left > -EDGE and top >= 0 and right < found.width + EDGE and foot < found.height + EDGE
    for (source, target), route in zip(arrows, found.routes, strict=True):
        left, _, right, foot = places[source]
        assert left < route[0][0] < right and route[0][1] == foot
        left, top, right, _ = places[target]
        assert left < route[-1][0] < right and route[-1][1] == top
        for (x, y), (to_x, to_y) in pairwise(route):
            assert to_y > y - EDGE
            for left, top, right, foot in places.values():
                beside = max(x, to_x) < left + EDGE or min(x, to_x) > right - EDGE
                assert beside or to_y < top + EDGE or y > foot - EDGE, (source, target)


def test_random_layouts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        count = int(rng.integers(1, 40))
        sizes = {str(n): (float(rng.uniform(20, 300)), float(rng.uniform(20, 120))) for n in range(count)}
        arrows = {
            (str(int(rng.integers(max(0, n - 9), n))), str(n))
            for n in range(1, count)
            for _ in range(rng.choice([0, 1, 1, 1, 2, 4]))
        }
        check(sizes, sorted(arrows), layout(sizes, sorted(arrows)))


def test_wide_and_deep() -> None:
    """A node with twenty readers, which join; a chain of a hundred."""
    names = [str(n) for n in range(20)]
    sizes = dict.fromkeys(["in", *names, "out"], (100.0, 40.0))
    arrows = [edge for name in names for edge in (("in", name), (name, "out"))]
    found = layout(sizes, arrows)
    check(sizes, arrows, found)
    assert len({found.corners[name][1] for name in names}) == 1
    sizes = {str(n): (100.0 + n, 40.0) for n in range(100)}
    arrows = [(str(n), str(n + 1)) for n in range(99)]
    found = layout(sizes, arrows)
    check(sizes, arrows, found)
    middles = [found.corners[key][0] + width / 2 for key, (width, _) in sizes.items()]
    assert max(middles) - min(middles) < EDGE


def test_circle() -> None:
    with pytest.raises(ValueError):
        layout({"a": (1, 1), "b": (1, 1)}, [("a", "b"), ("b", "a")])


def texts(svg: str) -> list[list[str]]:
    """Of the boxes, in their order."""
    return [
        [text.text for text in box.iter(f"{SVG}text")]
        for box in xml.fromstring(svg.encode()).iter(f"{SVG}g")
        if "data-key" in box.attrib
    ]


def test_names_of_any_characters() -> None:
    strange = 'a<b>&"c\x00\u202e'
    diagram = Diagram(strange, (Box(strange, (Line(strange, strange), Line("long " * 99, "note")), "blue"),), ())
    (lines,) = texts(drawn(strange, [diagram], [Meaning("blue", strange)]))
    assert lines[0] == 'a<b>&"c\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}'
    assert lines[2].startswith("long long") and lines[2].endswith("…") and lines[3] == "note"


def named(box: Box) -> list[str]:
    """The operators of a box: place and name."""
    return [f"{line.note} {line.text}" for line in box.lines if line.strong]


def by_boxes(diagram: Diagram) -> set[tuple[str, str]]:
    """The arrows, with the last operator of a box, or what it is, at each end."""
    said = {box.key: (named(box) or [box.lines[0].text])[-1] for box in diagram.boxes}
    return {(said[source], said[target]) for source, target in diagram.arrows}


def test_sides(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(image_classifier())
    graph, parts = load(path), compile_request(Request(path)).parts
    before, after = of_graph("before", graph), of_parts("after", graph, parts)
    assert [named(box) for box in before.boxes] == [
        ["#0 QUANTIZE"],
        ["#1 CONV_2D"],
        ["#2 RESIZE_BILINEAR"],
        ["#3 RESHAPE"],
        ["#4 FULLY_CONNECTED"],
        ["#5 SOFTMAX"],
        ["#6 DEQUANTIZE"],
        [],
        [],
    ]
    assert {name: box.role for box in after.boxes for name in named(box)} == {
        "#0 QUANTIZE": HOST,
        "#1 CONV_2D": "blue",
        "#2 RESIZE_BILINEAR": HOST,
        "#4 FULLY_CONNECTED": "teal",
        "#5 SOFTMAX": HOST,
        "#6 DEQUANTIZE": HOST,
    }
    assert by_boxes(after) == {
        ("input t0", "#0 QUANTIZE"),
        ("#0 QUANTIZE", "#1 CONV_2D"),
        ("#1 CONV_2D", "#2 RESIZE_BILINEAR"),
        ("#2 RESIZE_BILINEAR", "#4 FULLY_CONNECTED"),
        ("#4 FULLY_CONNECTED", "#5 SOFTMAX"),
        ("#5 SOFTMAX", "#6 DEQUANTIZE"),
        ("#6 DEQUANTIZE", "output t1"),
    }
    assert [entry.words for entry in legend(parts)] == [
        "accelerator, subgraph 1: 1 operator, 47.059 % of all operations",
        "accelerator, subgraph 3: 1 operator, 8.824 % of all operations",
        "host: 4 operators, 44.118 % of all operations",
    ]
    assert [text for lines in texts(picture(path)) for text in lines if "int8 1 x 4 x 4 x 2" in text] == [
        "int8 1 x 4 x 4 x 2"
    ] * 2


def test_what_runs_together(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(branches())
    after = of_parts("after", load(path), compile_request(Request(path)).parts)
    assert [(box.lines[0].text, named(box)) for box in after.boxes][:4] == [
        ("conv0", ["#0 CONV_2D"]),
        ("conv1", ["#1 CONV_2D", "#2 ADD"]),
        ("average2", ["#3 AVERAGE_POOL_2D"]),
        ("pointwise3", ["#4 CONV_2D"]),
    ]
    assert by_boxes(after) == {
        ("input picture", "#0 CONV_2D"),
        ("#0 CONV_2D", "#2 ADD"),
        ("#2 ADD", "#3 AVERAGE_POOL_2D"),
        ("#2 ADD", "#4 CONV_2D"),
        ("#3 AVERAGE_POOL_2D", "output pooled"),
        ("#4 CONV_2D", "output head"),
    }


def test_copies_belong_to_a_concatenation(tmp_path: Path) -> None:
    net, path = Drawn(1, (1, 6, 10, 16)), tmp_path / "net.tflite"
    path.write_bytes(net.model(net.conv(net.concatenation(3, net.input, net.conv(net.input, 16)), 8, 2, 2)))
    after = of_parts("after", load(path), compile_request(Request(path)).parts)
    assert [(box.lines[0].text, named(box)) for box in after.boxes][:3] == [
        ("pointwise0", ["#0 CONV_2D"]),
        ("move1", ["#1 CONCATENATION"]),
        ("conv2", ["#2 CONV_2D"]),
    ]


def test_random_networks(seed: int, tmp_path: Path) -> None:
    """Every operator once before, and once behind, on the side of the partition, unless nothing runs for it."""
    rng, path = np.random.default_rng(seed), tmp_path / "net.tflite"
    for _ in range(4):
        path.write_bytes(draw_network(rng, side=8))
        graph, parts = load(path), compile_request(Request(path)).parts
        before, after = of_graph("before", graph), of_parts("after", graph, parts)
        assert sorted(name for box in before.boxes for name in named(box)) == sorted(
            f"{node.where} {node.operator.name}" for node in graph.nodes
        )
        sides = {
            f"{node.where} {node.operator.name}": part.part.side
            for part in parts
            for node in (part.stages.folded if part.stages else part.part.graph).nodes
        }
        assert {
            name: Side.HOST if box.role == HOST else Side.ACCELERATOR for box in after.boxes for name in named(box)
        } == sides
        assert len(texts(drawn("net", [before, after], legend(parts)))) == len(before.boxes) + len(after.boxes)


def test_command(tmp_path: Path) -> None:
    path, svg = tmp_path / "net.tflite", tmp_path / "net.svg"
    path.write_bytes(image_classifier())
    assert eyrie("graph", path, "-o", svg).stdout.endswith("net.svg\n") and len(texts(svg.read_text())) == 17
    path.write_bytes(b"text")
    assert_rejected(eyrie("graph", path, "-o", svg), f"eyrie graph: {path}: not a TensorFlow Lite or ONNX file: ")
    assert len(texts(svg.read_text())) == 17
