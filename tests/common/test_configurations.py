# SPDX-License-Identifier: Apache-2.0
"""Which configurations are legal: AcceleratorConfig and the RTL say the same, and the legal ones work."""

import re
from dataclasses import replace

import pytest

from eyrie.commands.machines import conclusion, judged, summarised
from eyrie.model.config import DEFAULT, GLB_WORDS, AcceleratorConfig, sizes
from eyrie.runtime.folders import ROOT
from eyrie.runtime.simulator.simulate import simulate
from eyrie.runtime.simulator.sources import SourceError, code, parameters
from eyrie.testing import configurations
from eyrie.testing.catalogue import find, simulation_tests
from eyrie.testing.configurations import (
    LEGAL_SHARE,
    NAMED,
    beyond,
    disagreement,
    edges,
    model_rejection,
    random_configs,
)

LIGHT = "configuration_check"  # the checks by themselves


def agree(config: dict[str, int], top: str = LIGHT) -> bool:
    """Whether an accelerator is legal; both sides have to say so."""
    assert disagreement(config, top) is None
    return model_rejection(config) is None


@pytest.mark.parametrize("name", sizes())
def test_each_edge_has_one_verdict(name: str) -> None:
    whole = {} if name != "glb_banks" else {"glb_bank_words": 1024}
    for value in edges(name):
        if name == "glb_bank_words":
            whole = {"glb_banks": 16 if value < 512 else 4}
        assert agree(whole | {name: value}), f"{name} = {value} is legal"
    for value in beyond(name):
        assert not agree({name: value}), f"{name} = {value} is not legal"


def test_edges_of_the_glb() -> None:
    for words in (GLB_WORDS[0], GLB_WORDS[-1]):
        for banks in (4, 8, 16):
            assert agree({"glb_banks": banks, "glb_bank_words": words // banks})
    for banks, words in ((4, 511), (8, 255), (16, 127), (8, 8193), (16, 4097)):
        assert not agree({"glb_banks": banks, "glb_bank_words": words})


def test_random_configurations_have_one_verdict(seed: int) -> None:
    drawn = random_configs(seed, 40)
    legal = [config for config in drawn if agree(config)]
    assert len(legal) == LEGAL_SHARE * len(drawn)
    for name, values in NAMED.items():
        if name != "glb_words":
            assert set(values) <= {config[name] for config in legal}, name
    assert {config["glb_banks"] * config["glb_bank_words"] for config in legal} >= {GLB_WORDS[0], GLB_WORDS[-1]}


@pytest.mark.parametrize(
    "config",
    [
        {"rows": 3, "cols": 2},
        {"rows": 4},
        pytest.param({"cols": 1}, marks=pytest.mark.regress),
        pytest.param({"multipliers": 2}, marks=pytest.mark.regress),
        pytest.param({"rows": 3, "cols": 17, "bus_words": 4}, marks=pytest.mark.regress),
        {"rows": 3, "bus_words": 0},
    ],
)
def test_the_whole_accelerator_has_the_same_verdict(config: dict[str, int]) -> None:
    assert agree(config, "eyrie") == (config == {"rows": 3, "cols": 2})


def test_a_disagreement_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configurations, "model_rejection", lambda config: None)
    assert disagreement({"rows": 4}, LIGHT) == "the model says None, the RTL ['ROWS = 4: must be 3, 6, 9, 12 or 15']"
    monkeypatch.setattr(configurations, "rtl_rejections", lambda config: [])
    assert disagreement({"rows": 4}, LIGHT).startswith(f"{LIGHT} is legal, and does not elaborate:\n")
    monkeypatch.setattr(configurations, "model_rejection", lambda config: "so")
    monkeypatch.setattr(configurations, "rtl_rejections", lambda config: ["so"])
    assert disagreement({}, LIGHT) == f"{LIGHT} elaborates, but so"


def test_the_top_has_these_parameters_and_hands_them_on() -> None:
    text = code(ROOT / "rtl" / "eyrie.sv")
    declared = {name: int(value) for name, value in re.findall(r"parameter int unsigned (\w+) = (\d+)", text)}
    assert declared == DEFAULT.parameters and set(parameters(LIGHT)) == set(declared)
    checked = re.search(r"configuration_check #\((.*?)\) u_configuration_check", text, re.DOTALL)[1]
    assert dict(re.findall(r"\.(\w+)\((\w+)\)", checked)) == {name: name for name in declared}


def test_every_bench_of_an_accelerator_has_a_wrapper_for_others() -> None:
    """A wrapper has the default configuration's sizes as its own defaults."""
    for bench in simulation_tests().values():
        text = code(next((ROOT / "tb").rglob(f"{bench.top}.sv"), ROOT / "rtl" / "common" / "fifo.sv"))
        declared = {name: int(value) for name, value in re.findall(r"parameter int unsigned (\w+) = (\d+)", text)}
        common = declared.keys() & DEFAULT.parameters.keys()
        assert bool(common) <= (bench.config is not None), bench.name
        assert all(declared[name] == DEFAULT.parameters[name] for name in common), bench.top


def test_a_bench_says_why_it_does_not_run() -> None:
    with pytest.raises(
        ValueError, match="^fifo0: no size of the accelerator matters to it: leave the configuration out$"
    ):
        find("fifo0").on(DEFAULT)
    with pytest.raises(
        ValueError, match="^pass2: cannot run on this configuration: a depthwise layer alone needs two PE "
    ):
        find("pass2").on(AcceleratorConfig(rows=3))
    with pytest.raises(ValueError, match="^tile0: .*: the bench's programs and model are made for a port of 1 word"):
        find("tile0").on(AcceleratorConfig(bus_words=2))
    assert find("pass6").on(AcceleratorConfig(rows=3)).config.rows == 3


def test_parameters_of_a_module() -> None:
    assert parameters("pass_tb")[:2] == ["ROWS", "COLS"] and parameters("eyrie_pkg") == []
    with pytest.raises(SourceError):
        parameters("nosuch")


@pytest.mark.regress
@pytest.mark.parametrize("number", range(3))
def test_a_random_small_accelerator_works(number: int, seed: int, tmp_path) -> None:
    drawn = random_configs(seed + number, 4, most_pes=12)
    config = next(config for config in drawn if model_rejection(config) is None)
    bench = find("pass6").on(AcceleratorConfig(**config))
    result = simulate(replace(bench, arguments={**bench.arguments, "layers": 8}), seed, target=tmp_path / "run")
    assert result["status"] == "pass", f"{config}: {result['reason']}"


def test_a_campaign_notes_what_it_found(tmp_path) -> None:
    rejected = judged(tmp_path, 1, 0, DEFAULT.as_dict() | {"rows": 4})
    assert rejected.entry["verdict"] == "rejected" and rejected.failure is None and not rejected.files
    found = [rejected.entry, {"number": 1, "config": DEFAULT.as_dict(), "verdict": "skipped"}]
    assert found[0]["reason"] == "ROWS = 4: must be 3, 6, 9, 12 or 15"
    assert summarised(found, 1)["status"] == "fail"  # nothing has run
    wrong = {"number": 2, "config": DEFAULT.as_dict(), "verdict": "wrong", "reason": "", "comparisons": 1}
    works = wrong | {"number": 3, "verdict": "works", "cycles": 5, "comparisons": 7}
    assert summarised([works], 1)["status"] == "pass" and summarised([works, wrong], 1)["status"] == "fail"
    said = "fail: 2 of 2 configurations are legal, on 1 of these all passes are right; 0 rejected, 0 skipped"
    assert conclusion(summarised([works, wrong], 1)) == said
