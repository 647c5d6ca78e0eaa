# SPDX-License-Identifier: Apache-2.0
"""The table of a compiled network: its bytes are the cost model's and the functional simulator's, its text."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.cost.roofline import compulsory_bytes, roofline_cycles
from eyrie.compiler.network import compile_network
from eyrie.compiler.performance import Layer, Performance, performance
from eyrie.compiler.results import Built
from eyrie.model.config import DEFAULT, WIDE, AcceleratorConfig
from eyrie.model.encoding import Stream
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.passes import PassTrace
from eyrie.model.streams import inside, positions, read
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import ROOT
from eyrie.testing.samples import scaled
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_networks import compiled, draw_images, late_network, network

NETWORKS = scaled(16)


def drawn(seed: int, path: Path, config: AcceleratorConfig = DEFAULT) -> list[Built]:
    """Random networks, for several images at once too."""
    found, number = list[Built](), 0
    while number < NETWORKS or len({stages.images for stages in found}) < 2:
        number += 1
        assert number < 20 * NETWORKS
        rng = np.random.default_rng([seed, 7, number])
        path.write_bytes((network if rng.random() < 0.5 else late_network)(rng)[0])
        if stages := compiled(path, config, images=draw_images(rng)):
            found.append(stages)
    assert len(found) > number // 2
    return found


def test_layers_sum_to_the_prediction(seed: int, tmp_path: Path) -> None:
    for stages in drawn(seed, tmp_path / "net.tflite") + drawn(seed, tmp_path / "net.tflite", WIDE):
        metrics, cost = performance(stages), predict(stages.image)
        assert metrics.cycles == cost.cycles
        assert metrics.dram_read_bytes == cost.counters["DRAM_READ_BYTES"]
        assert metrics.dram_write_bytes == cost.counters["DRAM_WRITE_BYTES"]
        assert metrics.command_bytes == cost.counters["COMMAND_BYTES"]
        assert metrics.glb_bytes == cost.glb_bytes and metrics.saved_by_codes == 0
        assert sum(layer.dram_bytes for layer in metrics.layers) + metrics.command_bytes == metrics.dram_bytes
        assert sum(layer.glb_bytes for layer in metrics.layers) == metrics.glb_bytes
        assert [layer.predicted_cycles for layer in metrics.layers] == [layer.cycles for layer in cost.layers]
        assert metrics.energy_uJ == pytest.approx(cost.energy_uj(stages.config.clock_hz), abs=0.005)
        assert metrics.milliseconds == pytest.approx(cost.cycles / 200e3)
        assert metrics.images_per_second == pytest.approx(stages.images * 200e6 / cost.cycles, abs=0.001)
        sums = {name: sum(of[name] for of in by_layer(stages.image)) for name in ("MACS", "GLB_LOAD_BYTES")}
        assert sums == {name: cost.counters[name] for name in sums}


def fetched(trace: PassTrace, stream: Stream, lanes: int) -> int:
    """GLB bytes that a stream of a pass reads, word by word."""
    program = trace.descriptor.stream(stream)
    if not program.options["enable"]:
        return 0
    at, beats = positions(program, lanes), read(program, np.zeros(1 << 16, np.uint64), lanes)
    taken = [inside(program, at, lane) & beats.lanes[:, lane] for lane in range(lanes)]
    if lanes == 2 and program.options["packed_pixels"]:  # a word for two pixels
        return 8 * int((taken[0] | taken[1]).sum())
    return 8 * int(np.sum(taken))


def check_bytes(stages: Built, config: FunctionalSimulator, traces: list[PassTrace]) -> None:
    """What is said of each layer is what a run has moved: streams pass by pass."""
    counters, lanes = by_layer(stages.image), stages.config.filter_lanes
    for of, step in zip(counters, stages.image.steps, strict=True):
        passes = [traces[number] for number in step.passes]
        assert of["GLB_OFMAP_BYTES"] == sum(trace.written for trace in passes)
        assert of["GLB_IFMAP_BYTES"] == sum(fetched(trace, Stream.IFMAP, 2) for trace in passes)
        assert of["GLB_FILTER_BYTES"] == sum(fetched(trace, Stream.FILTER, lanes) for trace in passes)
        assert of["GLB_PARAMETERS_BYTES"] == sum(fetched(trace, Stream.PARAMETERS, 1) for trace in passes)
    for name in ("DRAM_WRITE_BYTES", "GLB_LOAD_BYTES", "GLB_STORE_BYTES"):
        assert sum(of[name] for of in counters) == config.counters[name], name


def test_bytes_of_each_layer_are_the_configurations(seed: int, tmp_path: Path) -> None:
    """On ports of two words too."""
    for stages in drawn(seed, tmp_path / "net.tflite") + drawn(seed, tmp_path / "net.tflite", WIDE):
        traces: list[PassTrace] = []
        simulator = FunctionalSimulator(stages.image.dram.copy(), stages.config, observe=traces.append)
        simulator.run(stages.image.program.address)
        check_bytes(stages, simulator, traces)


@pytest.fixture(scope="module")
def bundled() -> dict[int, Built]:
    return {images: compile_network(MODEL, search_iterations=60, images=images) for images in (1, 4)}


def test_each_layer_fetches_its_constants_and_maps(bundled: dict[int, Built]) -> None:
    """Of the bundled network: constants as the planner counts them, and the input and the output."""
    stages = bundled[1]
    for step, counters in zip(stages.steps, by_layer(stages.image)):
        constants = 8 * step.constant_words(DEFAULT)
        ifmap = 32 * 32 * 4 if step is stages.steps[0] else 0  # two pixels of three channels take a word
        ofmap = 2 * 2 * 8 if step is stages.steps[-1] else 0  # ten channels take two, of two columns
        filling = counters["DRAM_READ_BYTES"] - constants - ifmap  # to whole beats
        assert 0 <= filling <= 3 * 8, step.group.layer
        assert counters["DRAM_WRITE_BYTES"] == ofmap, step.group.layer


def test_an_expansion_reads_its_ifmap_once(seed: int, tmp_path: Path) -> None:
    """Where the words that a pointwise layer makes take longer than all else, no tile reads the ifmap again."""
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("expansion"), tmp_path / "net.tflite"

    def constants(*shape: int, channels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return weights(rng, *shape), scales(rng, channels), bias(rng, channels)

    out, side = Quant(0.05, -128), int(rng.choice([32, 40, 48]))
    x = net.input("image", (1, side, side, 8), INPUT)
    x = net.conv("wide", x, *constants(48, 1, 1, 8, channels=48), out)
    x = net.depthwise("halves", x, *constants(1, 3, 3, 48, channels=48), out, stride=2)
    path.write_bytes(net.build([net.conv("narrow", x, *constants(8, 1, 1, 48, channels=8), out)]))
    stages = compile_network(path, search_iterations=8)
    assert stages.steps[0].group.kind == "pointwise"
    assert by_layer(stages.image)[0]["GLB_IFMAP_BYTES"] == side * side * 8


def test_maps_that_go_through_dram(bundled: dict[int, Built]) -> None:
    """Four images: what one layer stores is what the next one loads, and lies where the table says."""
    stages = bundled[4]
    rows, spilled = {row.name: row for row in performance(stages).layers}, 0
    for step, counters in zip(stages.steps, by_layer(stages.image)):
        constants, row = 8 * step.constant_words(DEFAULT), rows[step.group.layer]
        if step.group.images:  # its constants come once
            maps = counters["DRAM_READ_BYTES"] - constants
            assert (maps > 64) == (row.ifmap == "DRAM"), row
        assert (counters["DRAM_WRITE_BYTES"] > 0) == row.ofmap.startswith("DRAM"), row
        spilled += row.ofmap.startswith("DRAM")
    assert spilled > 1
    assert {"GLB", "DRAM", "in place of the ifmap"} <= {row.ofmap for row in rows.values()}
    assert rows["depthwise6"].kind == "depthwise" and rows["block8"].kind == "separable + average"


def test_places_of_stripes(bundled: dict[int, Built]) -> None:
    """Of the first layers each one's ofmap is the next one's ifmap; where two run stripe by stripe, a ring of rows."""
    first, second, third = performance(bundled[1]).layers[:3]
    assert (first.kind, second.kind) == ("conv", "separable")
    assert first.ifmap == "DRAM" and first.ofmap == second.ifmap and second.ofmap == third.ifmap
    assert second.ofmap.startswith("GLB, ring of ") and third.ofmap == "GLB"


def test_bounds(bundled: dict[int, Built]) -> None:
    """Layers of many pixels are bound by multipliers, those of many weights by DRAM."""
    image = bundled[1].image
    metrics = performance(bundled[1])
    rows = {row.name: row for row in metrics.layers}
    assert rows["conv0"].roofline_cycles == rows["conv0"].mac_cycles == 32 * 32 * 32 * 27 // 192
    assert rows["fc9"].roofline_cycles == round((10 * 1024 + 9 * 10) / 8) > rows["fc9"].mac_cycles
    assert metrics.roofline_cycles == roofline_cycles(image)
    assert sum(row.roofline_cycles for row in metrics.layers) == pytest.approx(metrics.roofline_cycles, abs=5)
    assert metrics.compulsory_dram_bytes == compulsory_bytes(image) <= metrics.dram_bytes
    for row in metrics.layers:
        assert (
            row.utilisation == pytest.approx(row.mac_cycles / row.predicted_cycles, abs=1e-3) and row.utilisation <= 1
        )
        assert row.dram_cycles == pytest.approx(row.dram_bytes / 8, abs=0.5)


FIGURES = Performance(
    2,
    100_000_000,
    4000,
    2800,
    0.0125,
    0.04,
    50_000.0,
    5000,
    900,
    100,
    300,
    0,
    800,
    7000,
    3000,
    1.5,
    (
        Layer("conv0", "conv", 4000, 3000, 2000, 0.6667, 500, 63, 2000, 6000, "DRAM", "GLB", "resident"),
        Layer("fc1", "fc", 1000, 990, 500, 0.5051, 200, 25, 800, 4000, "GLB", "DRAM", "in a ring"),
    ),
)
TABLE = """\
layer    kind   MACs  predicted  MAC bound  utilisation  DRAM bytes  DRAM cycles  GLB bytes  ifmap  ofmap  filters
conv0    conv  4,000      3,000      2,000       66.7 %         500           63      6,000  DRAM   GLB    resident
fc1      fc    1,000        990        500       50.5 %         200           25      4,000  GLB    DRAM   in a ring
network        5,000      4,000      2,500       62.5 %       1,000                  10,000

4,000 cycles predicted; the roofline of the network is 2,800 cycles
schedule: 1.25 % above its lower bound
0.040 ms for 2 images at 100 MHz, 50,000.0 images a second
DRAM 1,000 bytes, 300 of them commands; 1.250 times the compulsory 800
energy 1.50 uJ, if no MAC is zero-skipped"""


def test_text() -> None:
    assert str(FIGURES) == TABLE
    assert "0.040 ms for an image at" in str(replace(FIGURES, images=1))
    assert "times the compulsory 800; 250 more without codes\n" in str(replace(FIGURES, saved_by_codes=250))


def test_files() -> None:
    rows = list(csv.DictReader(io.StringIO(FIGURES.csv())))
    assert [(row["name"], row["macs"], row["filters"]) for row in rows] == [
        ("conv0", "4000", "resident"),
        ("fc1", "1000", "in a ring"),
    ]
    read = json.loads(FIGURES.json())
    assert Performance(**read | {"layers": tuple(Layer(**layer) for layer in read["layers"])}) == FIGURES


def test_keys_are_documented() -> None:
    section = (ROOT / "docs" / "reference" / "summary.md").read_text().partition("## Summary of a compilation")[2]
    keys = [*Performance.__annotations__, *Layer.__annotations__]
    assert [key for key in keys if f"`{key}`" not in section] == []
