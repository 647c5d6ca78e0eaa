# SPDX-License-Identifier: Apache-2.0
"""The reasons of slow layers, of layers with a known limit, on the RTL; and suggestions for them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.folder import network_of
from eyrie.compiler.network import compile_network
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.performance import performance
from eyrie.measure import suggestions as suggestions_module
from eyrie.measure.dataset.layers import KINDS, Shape, draw, model
from eyrie.measure.layer_shapes import alone, narrower, shape_of
from eyrie.measure.on_rtl import on_rtl
from eyrie.measure.suggestions import changed_configurations, suggestions
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime import folders, programs
from eyrie.runtime.metrics import metrics
from eyrie.runtime.reasons.slow import is_slow
from tests.commands.commands import eyrie

KNOWN = {  # a layer, its limit, and a part of the reason
    "three channels": (
        Shape("convolution", 32, 32, 3, 64, 3, 3, padding="same"),
        "padding",
        "its 3 ifmap channels fill 3 of 4",
    ),
    "one column": (Shape("convolution", 98, 3, 32, 96, 3, 3), "filter port", "since the ofmap is 1 pixel wide"),
    "maps in DRAM": (Shape("pointwise", 48, 48, 8, 48), "memory-bound", "and quantisation parameters have 816."),
    "late ifmap": (Shape("separable", 24, 24, 32, 32, 3, 3, padding="same"), "late data", "waited for a transfer"),
    "vector pass": (Shape("logistic", 64, 64, 3, 3), "vector pass", "Its 3 channels fill 3 of 8 in the words."),
    "matrix": (Shape("fully_connected", 1, 1, 2048, 128), "memory-bound", "The DRAM port limits this layer."),
}


def written(shape: Shape, path: Path) -> Path:
    path.write_bytes(model(np.random.default_rng(0), shape))
    return path


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_limit(name: str, tmp_path: Path, seed: int) -> None:
    shape, limit, text = KNOWN[name]
    compiled = compile_parts(written(shape, tmp_path / "layer.tflite"))
    [run], wrong = on_rtl(compiled.network, tmp_path / "net", seed)
    assert not wrong
    [row] = metrics(run.image, run.runs[0]["counters"], run.runs[0]["passes"], run.prediction)["layers"]
    assert row["limit"] == limit, row["reason"]
    assert text in row["reason"]
    assert is_slow(row) == (name != "matrix")


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(programs, "PROGRAMS", tmp_path / "programs")
    return tmp_path / "build"


def cycles(path: Path, config: AcceleratorConfig, images: int = 1) -> int:
    """The predicted cycles of a network of one layer, compiled apart from the suggestions."""
    [layer] = performance(compile_network(path, config, images=images)).layers
    return layer.predicted_cycles


def test_suggestions_are_predictions(build: Path, tmp_path: Path) -> None:
    """Each has the cycles of a compilation of its own; changes that are not worthwhile are left out."""
    shape = Shape("convolution", 98, 3, 33, 96, 3, 3)
    path = written(shape, tmp_path / "layer.tflite")
    [found] = suggestions(path, network_of(compile_network(path)))
    before = cycles(path, DEFAULT)
    expected = {
        f"{name} {value:,}": (before, cycles(path, replace(DEFAULT, **{name: value})))
        for name, value in {
            "rows": 9,
            "cols": 16,
            "glb_bank_words": 2048,
            "psum_words": 256,
            "bus_words": 2,
            "filter_lanes": 2,
        }.items()
    }
    expected["2 images a run"] = before, round(cycles(path, DEFAULT, 2) / 2)
    wide, narrow = (
        performance(compile_network(written(each, tmp_path / "one.tflite"))).cycles
        for each in (shape, replace(shape, C=32))
    )
    expected["32 instead of 33 ifmap channels, layer alone"] = wide, narrow
    worthwhile = {change: each for change, each in expected.items() if each[1] <= 0.9 * each[0]}
    [(name, told)] = found.items()
    assert name == "conv0"
    assert {each["change"]: (each["before"], each["predicted_cycles"]) for each in told} == worthwhile
    assert "filter_lanes 2" in worthwhile and "glb_bank_words 2,048" not in worthwhile
    gains = [each["predicted_cycles"] / each["before"] for each in told]
    assert gains == sorted(gains)


def test_a_fast_layer_has_no_suggestions(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(Shape("pointwise", 32, 32, 64, 64), tmp_path / "layer.tflite")
    monkeypatch.setattr(suggestions_module, "_changed", lambda *_: iter(()))
    assert suggestions(path, network_of(compile_network(path))) == [{}]


def test_changed_configurations() -> None:
    changes = dict(changed_configurations(replace(DEFAULT, multipliers=1, rows=15, cols=10, glb_banks=16)))
    larger = "cols 16, multipliers 4, glb_bank_words 2_048, psum_words 256, bus_words 2, filter_lanes 2"
    assert ", ".join(changes).replace("2,048", "2_048") == larger
    assert changes["cols 16"].cols == 16 and changes["cols 16"].rows == 15
    largest = replace(DEFAULT, glb_banks=8, glb_bank_words=8192)  # 512 KiB
    assert "glb_bank_words 16,384" not in dict(changed_configurations(largest))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in ("convolution", "pointwise", "fully_connected")])
def test_the_shape_of_a_layer(kind: str, seed: int, tmp_path: Path) -> None:
    """A layer that is built again from its image has its MACs."""
    rng, known = np.random.default_rng(seed), 0
    for _ in range(6):
        drawn = replace(draw(rng, kind), dilation=1)
        [step] = compile_network(written(drawn, tmp_path / "layer.tflite")).image.steps
        if shape := shape_of(step):
            known += 1
            [again] = compile_network(written(shape, tmp_path / "again.tflite")).image.steps
            assert (again.ifmap, again.ofmap, again.macs) == (step.ifmap, step.ofmap, step.macs)
    assert known > 2


def test_narrower_shapes() -> None:
    shape = Shape("convolution", 8, 8, 20, 17, 3, 3)
    assert dict(narrower(shape)) == {
        "16 instead of 20 ifmap channels, layer alone": replace(shape, C=16),
        "16 instead of 17 ofmap channels, layer alone": replace(shape, M=16),
    }
    assert not list(narrower(Shape("convolution", 8, 8, 3, 16, 3, 3)))
    assert [changed for _, changed in narrower(Shape("depthwise", 8, 8, 20, 20, 3, 3))] == [
        Shape("depthwise", 8, 8, 16, 16, 3, 3)
    ]
    assert alone(replace(shape, C=16), DEFAULT) < alone(shape, DEFAULT)


def test_a_profile_with_suggestions(build: Path, tmp_path: Path) -> None:
    path = written(Shape("pointwise", 96, 1, 32, 96), tmp_path / "layer.tflite")
    ended = eyrie("profile", path, "--suggest")
    assert ended.returncode == 0, ended.stderr
    [row] = json.loads((build / "profile" / "summary.json").read_text())["layers"]
    assert row["suggestions"] and is_slow(row)
    page = (build / "profile" / "report.html").read_text()
    for each in row["suggestions"]:
        line = f"{each['change']}: {each['predicted_cycles']:,} cycles predicted instead of {each['before']:,}"
        assert f"    {line}\n" in ended.stdout and f"<li>{line}</li>" in page
    over = f"{row['cycles'] / row['roofline_cycles']:.2f} times its roofline"
    assert f"pointwise0: {row['cycles']:,} cycles, {over}: {row['limit']}. " in ended.stdout and over in page
