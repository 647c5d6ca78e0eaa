# SPDX-License-Identifier: Apache-2.0
"""The page of a schedule, and the command that writes it."""

import re
from pathlib import Path

from eyrie.compiler.cost.predict import predict
from eyrie.compiler.network import compile_network
from eyrie.runtime.report import canvas, gantt
from tests.commands.commands import assert_rejected, eyrie
from tests.compiler.dumped import branches
from tests.compiler.test_partition import image_classifier


def test_a_row_for_each_layer(tmp_path: Path) -> None:
    """Their bars are the predicted passes; loads and stores are as many as the program has."""
    path = tmp_path / "net.tflite"
    path.write_bytes(branches())
    image = compile_network(path).image
    prediction = predict(image)
    loads, stores, *layers = gantt.rows(image, prediction).values()
    assert len(loads[1]) + len(stores[1]) == len(prediction.transfers) and stores[1]
    assert [len(spans) for _, spans in layers] == [len(step.passes) for step in image.steps]
    assert max(end for _, spans in layers for _, end in spans) <= prediction.cycles
    assert all(0 <= begin < end <= prediction.cycles for _, spans in (loads, stores, *layers) for begin, end in spans)
    with canvas.style():
        [axes] = gantt.gantt(image, prediction, canvas.NARROW).axes
    assert axes.get_xlim() == (0, prediction.cycles) and len(axes.get_yticklabels()) == 2 + len(layers)


def test_near_bars_are_one() -> None:
    assert gantt.merged([(10, 12), (0, 4), (5, 9), (20, 21)], 2) == [(0, 12), (20, 21)]


def test_command(tmp_path: Path) -> None:
    """Of a network in parts, and of one with a schedule of its own, which is on the page."""
    path, page, text = tmp_path / "net.tflite", tmp_path / "net.html", tmp_path / "net.txt"
    path.write_bytes(image_classifier())
    assert eyrie("schedule", path, "-o", page).stdout.endswith("net.html\n")
    assert len(re.findall("<pre>", page.read_text())) == len(re.findall("<h1>Subgraph", page.read_text())) > 1
    path.write_bytes(branches())
    text.write_text(eyrie("compile", path, "--dump", "segments").stdout)
    eyrie("schedule", path, "--schedule", text, "-o", page)
    [nests] = re.findall("<pre>(.*)</pre>", page.read_text(), re.DOTALL)
    assert nests.strip() == text.read_text().strip()
    text.write_text("segment\n")
    assert_rejected(eyrie("schedule", path, "--schedule", text, "-o", page), f"eyrie schedule: {text}")
    assert nests in page.read_text()
