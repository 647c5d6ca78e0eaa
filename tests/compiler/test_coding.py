# SPDX-License-Identifier: Apache-2.0
"""Coded constants: programs of an accelerator with a decoder give the same outputs, with fewer bytes."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler import pipeline
from eyrie.compiler.assembly.commands import from_text, to_text
from eyrie.compiler.cost.predict import DRAM_BYTES, predict, timed
from eyrie.compiler.emit import coding
from eyrie.compiler.emit.coding import SLOWER, WORTH
from eyrie.compiler.emit.schedule import emit
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Transfer, assemble, disassemble, encoded
from eyrie.compiler.performance import performance
from eyrie.compiler.results import Built
from eyrie.model.config import CODED, AcceleratorConfig
from eyrie.model.encoding import CODE_LANES
from eyrie.model.functional_simulator import FunctionalSimulator, ProgramError
from eyrie.model.status import ERROR_TEXTS
from eyrie.model.weight_codes import BUFFER_BITS, UNIT_BITS
from eyrie.model.word import WORD_BITS
from eyrie.runtime.bundled import SMALL_CONFIG
from eyrie.runtime.soc.runs import RunFailed, on_rtl
from eyrie.testing.samples import scaled
from tests.compiler import test_networks
from tests.compiler.test_networks import check, compiled, draw_images, late_network, network

SMALL = AcceleratorConfig.load(SMALL_CONFIG)  # has a decoder; benches share its model
NETWORKS = scaled(20)
MORE = 20  # seeds from which networks may be drawn until one has coded weights
TOO_MANY = CODE_LANES * (BUFFER_BITS + UNIT_BITS) // WORD_BITS + 1  # words


@pytest.fixture(autouse=True)
def narrow_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights as those of trained networks."""

    def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
        return np.clip(np.rint(rng.normal(0, rng.uniform(1, 20), shape)), -127, 127).astype(np.int8)

    monkeypatch.setattr(test_networks, "weights", normal)


def coded_loads(stages: Built) -> list[Transfer]:
    commands = stages.schedule.commands
    return [command for command in commands if isinstance(command, Transfer) and command.coded]


def networks(
    seed: int, path: Path, config: AcceleratorConfig, objective: str = "cycles"
) -> Iterator[tuple[int, np.random.Generator, Built]]:
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        path.write_bytes((network, late_network)[number % 2](rng)[0])
        if stages := compiled(path, config, draw_images(rng), objective):
            yield number, rng, stages


@pytest.mark.parametrize("config", [CODED, replace(CODED, bus_words=2), replace(CODED, glb_bank_words=256)])
def test_outputs_are_the_golden_ones(config: AcceleratorConfig, seed: int, tmp_path: Path) -> None:
    ran = 0
    for number, rng, stages in networks(seed, tmp_path / "net.tflite", config, "bytes"):
        check(stages, rng, f"network {number}")
        ran += bool(coded_loads(stages))
    assert ran > NETWORKS // 3


def test_bytes_are_fewer(seed: int, tmp_path: Path) -> None:
    """Constants lie where they do without a decoder; the prediction counts what the functional simulator moves."""
    path, fewer = tmp_path / "net.tflite", 0
    for _, _, stages in networks(seed, path, CODED):
        loads = coded_loads(stages)
        assert sum(load.coded for load in loads) <= WORTH * sum(load.words for load in loads)
        simulator = FunctionalSimulator(stages.image.dram.copy(), CODED)
        simulator.run(stages.image.program.address)
        predicted = predict(stages.image).counters
        for name in ("DRAM_WRITE_BYTES", "GLB_LOAD_BYTES", "GLB_STORE_BYTES"):
            assert predicted[name] == simulator.counters[name], name
        moved = simulator.counters["DRAM_READ_BYTES"] - simulator.counters["COMMAND_BYTES"]
        assert predicted["DRAM_READ_BYTES"] - predicted["COMMAND_BYTES"] == moved
        assert performance(stages).saved_by_codes == 8 * sum(load.words - load.coded for load in loads)
        fewer += bool(loads)
    assert fewer


def test_a_wide_dram_is_faster_without_codes(seed: int, tmp_path: Path) -> None:
    """The decoder makes no more words in a cycle than a port of 128 bits brings."""
    for _, _, stages in networks(seed, tmp_path / "net.tflite", replace(CODED, bus_words=2)):
        assert not coded_loads(stages)
    path, half = tmp_path / "net.tflite", replace(CODED, bus_words=2, dram_interval=2)  # of the pace
    assert any(coded_loads(stages) for more in range(MORE) for _, _, stages in networks(seed + more, path, half))


def test_no_program_is_slower(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without codes, the program of the same plan is not clearly faster."""
    monkeypatch.setattr(pipeline, "LONG", np.inf)
    for _, _, stages in networks(seed, tmp_path / "net.tflite", CODED):
        plain = emit(stages.plan, stages.placed, stages.steps, CODED)
        assert predict(stages.image).cycles <= SLOWER * timed(CODED, plain.commands).cycles
        assert bool(coded_loads(stages)) == any(area.used for area in stages.areas)


def test_a_program_that_is_slower_with_codes_has_none(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if any codes were slower. For the other objectives they remain."""
    monkeypatch.setattr(pipeline, "LONG", np.inf)
    monkeypatch.setattr(coding, "SLOWER", 0)
    for _, _, stages in networks(seed, tmp_path / "net.tflite", CODED):
        assert not coded_loads(stages)
        assert performance(stages).saved_by_codes == 0
        assert all("not" in line for line in pipeline.dumped(stages, "codes").splitlines())
    assert any(coded_loads(found[2]) for found in networks(seed, tmp_path / "net.tflite", CODED, "energy"))


def test_commands_come_back(seed: int, tmp_path: Path) -> None:
    """From their text and from their words."""
    found = 0
    for _, _, stages in networks(seed, tmp_path / "net.tflite", CODED):
        commands = stages.schedule.commands
        assert from_text(to_text(commands)) == commands and disassemble(assemble(commands)) == commands
        found += bool(coded_loads(stages))
    assert found


def damaged(stages: Built, rng: np.random.Generator) -> Image:
    """Return a network with a flipped bit in a coded constant, or in the lengths of a CODED."""
    image, loads = stages.image, coded_loads(stages)
    load = loads[rng.integers(len(loads))]
    dram = image.dram.copy()
    if rng.random() < 0.7:
        at = load.dram_address + int(rng.integers(8 * load.coded))
    else:
        address, places = image.program.address, list[int]()
        for found, words in encoded(stages.schedule.commands):
            if isinstance(found[0], Transfer) and found[0].coded:
                places += [address + 8 * n + lane for n in range(3, len(words)) for lane in range(8)]
            address += 8 * len(words)
        at = int(rng.choice(places))
    dram[at] ^= 1 << int(rng.integers(8))
    return replace(image, dram=dram)


def outputs_of(image: Image, run: dict[str, np.ndarray], start: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs that the functional simulator gives; start: what the GLB holds."""
    window = np.zeros(DRAM_BYTES, np.uint8)  # of the simulated SoC
    window[: image.dram.size] = image.with_inputs(run)
    simulator = FunctionalSimulator(window, SMALL)
    simulator.glb[:] = start
    simulator.run(image.program.address)
    return image.results([image.outputs_in(simulator.dram)], image.images)


def test_damaged_weights_on_the_rtl(seed: int, tmp_path: Path) -> None:
    """The RTL gives the outputs of the functional simulator, or stops with its error. Damaged filters may multiply
    words that the program never writes: such outputs are anything."""
    rng, seen = np.random.default_rng(seed), set[bool]()
    stages = next(found[2] for found in networks(seed, tmp_path / "net.tflite", SMALL) if coded_loads(found[2]))
    values = rng.integers(-128, 128, (stages.image.images, *stages.image.input_map.shape)).astype(np.int8)
    starts = rng.integers(0, 1 << 64, (2, SMALL.glb_words), np.uint64)
    for _ in range(scaled(100, least=12)):
        image = damaged(stages, rng)
        [run] = image.runs(image.named(values))
        try:
            expected, other = (outputs_of(image, run, start) for start in starts)
        except ProgramError as error:
            seen.add(False)
            with pytest.raises(RunFailed, match=ERROR_TEXTS[error.code]):
                on_rtl(image, values)
            continue
        found = on_rtl(image, values).outputs
        if all(np.array_equal(expected[name], other[name]) for name in expected):
            seen.add(True)
            assert all(np.array_equal(expected[name], found[name]) for name in expected)
    assert seen == {False, True}


def longer(stages: Built) -> Built:
    """Return a network with a coded LOAD, the last of its CODED, of more words too many than all lanes can hold."""
    commands, image = list(stages.schedule.commands), stages.image
    coded = [isinstance(each, Transfer) and each.coded > 0 for each in commands]
    number = next(n for n, (each, behind) in enumerate(pairwise(coded)) if each and not behind)
    commands[number] = replace(commands[number], coded=commands[number].coded + TOO_MANY)
    dram = image.dram.copy()
    words = assemble(commands).view(np.uint8)
    dram[image.program.address :][: words.size] = words
    return replace(stages, image=replace(image, dram=dram))


def test_the_rtl_decodes_and_finds_a_wrong_length(seed: int, tmp_path: Path) -> None:
    """Cycles are near to the prediction. A chunk with more words than its weights need stops functional simulator and
    RTL with the same error."""
    _, rng, stages = next(found for found in networks(seed, tmp_path / "net.tflite", SMALL) if coded_loads(found[2]))
    image = stages.image
    values = rng.integers(-128, 128, (image.images, *image.input_map.shape)).astype(np.int8)
    run = on_rtl(image, values)
    [output] = run.outputs.values()
    np.testing.assert_array_equal(output, stages.graph.run_images(values))
    measured, predicted = run.runs[0]["counters"], predict(image)
    assert abs(predicted.cycles - measured["CYCLES"]) <= max(64, 0.03 * measured["CYCLES"])
    assert predicted.dram_bytes == measured["DRAM_READ_BYTES"] + measured["DRAM_WRITE_BYTES"]
    damaged = longer(stages).image
    with pytest.raises(ProgramError, match="CODED_WEIGHTS"):
        FunctionalSimulator(damaged.dram.copy(), SMALL).run(damaged.program.address)
    with pytest.raises(RunFailed, match="a chunk of coded weights is not as long as its weights"):
        on_rtl(damaged, values)
