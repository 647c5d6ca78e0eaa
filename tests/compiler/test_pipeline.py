# SPDX-License-Identifier: Apache-2.0
"""The list of stages: their order, how far they run, what they leave."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost.predict import predict
from eyrie.compiler.emit import image
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.pipeline import NAMES, STAGES, dumped
from eyrie.compiler.plan import search
from eyrie.compiler.results import Request
from eyrie.model.config import DEFAULT
from tests.commands.small_nets import separable

RUN = ["import", "passes", "groups", "segments", "places", "schedule", "codes", "assemble", "image"]
MADE = {
    "import": "graph",
    "passes": "folded",
    "groups": "groups",
    "segments": "plan",
    "places": "placed",
    "schedule": "schedule",
    "codes": "areas",
    "assemble": "text",
    "image": "image",
}


@pytest.fixture
def model(seed: int, tmp_path: Path) -> Path:
    path = tmp_path / "net.tflite"
    path.write_bytes(separable(np.random.default_rng(seed)))
    return path


def test_all_stages_run_in_order(model: Path) -> None:
    seen: list[str] = []
    stages = compile_network(model, search_iterations=8, on_stage=seen.append)
    assert seen == RUN
    assert all(getattr(stages, name) is not None for name in MADE.values())
    assert len(set(NAMES)) == len(NAMES) and all(stage.about for stage in STAGES)


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("import", "import"),
        ("passes", "passes"),
        ("groups", "groups"),
        ("fusion", "groups"),
        ("segments", "places"),
        ("map", "places"),
        ("places", "places"),
        ("schedule", "schedule"),
        ("codes", "codes"),
        ("assemble", "assemble"),
        ("image", "image"),
    ],
)
def test_runs_as_far_as_asked(until: str, last: str, model: Path) -> None:
    """And prints then what a whole compilation prints."""
    seen: list[str] = []
    stages = compile_until(until, Request(model, search_iterations=8), seen.append)
    assert seen == RUN[: RUN.index(last) + 1]
    assert {name for name in MADE if hasattr(stages, MADE[name])} == set(seen)
    assert dumped(stages, until) == dumped(compile_network(model, search_iterations=8), until)


def test_segments_are_chosen_anew(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no places. The dump of the segments is of those that were placed."""
    place, rejected = search.candidates, []

    def reject_once(plan, config, search_iterations):
        if not rejected:
            rejected.append(plan.segments[0])
            raise search.Rejected(plan.segments[0])
        return place(plan, config, search_iterations)

    first = dumped(compile_network(model, DEFAULT, search_iterations=8), "segments")
    monkeypatch.setattr(search, "candidates", reject_once)
    stages = compile_until("segments", Request(model, DEFAULT, search_iterations=8))
    assert stages.planning.rejected == {rejected[0].key}
    assert rejected[0].key not in {segment.key for segment in stages.plan.segments}
    assert dumped(stages, "segments") != first


def test_unknown_stage(model: Path) -> None:
    with pytest.raises(ValueError, match="^unknown stage 'place'; did you mean 'places'\\?$"):
        compile_until("place", Request(model))


def test_more_than_addresses_can_name(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "ADDRESS_SPACE", 640)
    with pytest.raises(ValueError, match="^the network takes [0-9]+ bytes of DRAM, addresses go to 640: "):
        compile_network(model, search_iterations=8)


def test_more_memory_never_costs_cycles(model: Path) -> None:
    """Nor does a program planned for less say that it is for another configuration."""
    cycles = []
    for words in (DEFAULT.glb_bank_words, 2 * DEFAULT.glb_bank_words, 4 * DEFAULT.glb_bank_words):
        config = replace(DEFAULT, glb_bank_words=words)
        image = compile_network(model, config, search_iterations=8).image
        assert image.config == config
        cycles.append(predict(image).cycles)
    assert cycles == sorted(cycles, reverse=True)
