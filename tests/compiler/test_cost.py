# SPDX-License-Identifier: Apache-2.0
"""The cost model without the RTL: its bytes are the functional simulator's, its energy that of the
published prices.

tb/net/cost_tests.py holds its cycles, and the GLB bytes of every client, to the RTL.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost import predict as predict_module
from eyrie.compiler.cost.predict import layer_costs, predict
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.cost.shares import held_cycles
from eyrie.compiler.cost.timing import array
from eyrie.compiler.cost.timing.array import PassTimes
from eyrie.compiler.cost.timing.banks import Banks
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.compiler.cost.timing.shorten import Shortened, shortened
from eyrie.compiler.cost.traffic import FETCH_AHEAD, FETCH_WORDS
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.compiler.ir.program import Transfer
from eyrie.compiler.network import compile_network, compile_whole
from eyrie.compiler.results import Built, Imported, reached
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import Counter, Stream
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.operators import NormalizationDescriptor, graphs
from eyrie.operators.descriptors import TensorSetting
from eyrie.testing.demo_net import demo_network
from eyrie.testing.samples import scaled
from tb.net.random_layers import Layer, compile_layer
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_networks import network

NETWORKS = scaled(20)
MOVED = ("DRAM_WRITE_BYTES", "GLB_LOAD_BYTES", "GLB_STORE_BYTES", "GLB_OFMAP_BYTES")


def compiled(seed: int, number: int, path: Path, config: AcceleratorConfig = DEFAULT) -> Image | None:
    """A random network's image; None if the compiler rejects it."""
    model, _ = network(np.random.default_rng([seed, number]))
    path.write_bytes(model)
    try:
        return compile_network(path, config, search_iterations=8).image
    except ValueError:
        return None


@pytest.mark.parametrize("config", [DEFAULT, AcceleratorConfig(bus_words=2, filter_lanes=2)], ids=["1", "2"])
def test_bytes_are_those_of_the_command_level_model(seed: int, tmp_path: Path, config: AcceleratorConfig) -> None:
    images = [compiled(seed, number, tmp_path / "net.tflite", config) for number in range(NETWORKS)]
    images = [image for image in images if image]
    assert len(images) > NETWORKS // 2
    for image in images:
        run = FunctionalSimulator(image.dram.copy(), config)
        run.run(image.program.address)
        cost = predict(image)
        for name in MOVED:
            assert cost.counters[name] == run.counters[name], name
        loaded = run.counters["DRAM_READ_BYTES"] - run.counters["COMMAND_BYTES"]
        assert cost.counters["DRAM_READ_BYTES"] - cost.counters["COMMAND_BYTES"] == loaded
        assert 0 <= cost.counters["COMMAND_BYTES"] - run.counters["COMMAND_BYTES"] <= 8 * FETCH_AHEAD * FETCH_WORDS
        assert len(cost.passes) == run.counters["PASSES"]


@pytest.mark.parametrize("bus_words", [1, 2])
def test_transfers_are_known(bus_words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores come before streams that read, loads before the ofmap: where a word of a stream has got its bank, none of
    theirs may turn up later, but for a few loads while the drain goes on, and a few words of a store behind CONFIG
    words that a full queue holds up."""
    streams: dict[bool, dict[int, int]] = {False: {}, True: {}}  # banks by cycle: that are read, that are written
    late, words = {False: 0, True: 0}, {False: 0, True: 0}  # of stores, of loads
    grant, write, sweep = Banks.grant, Banks.write, Banks.sweep

    def granted(banks: Banks, cycle: int, mask: int, who: Stream, known: Callable, limit: int) -> int:
        at = grant(banks, cycle, mask, who, known, limit)
        if at < limit:
            streams[False][at] = streams[False].get(at, 0) | mask
        return at

    def written(banks: Banks, cycle: int, mask: int) -> int:
        at = write(banks, cycle, mask)
        streams[True][at] = mask
        return at

    def swept(banks: Banks, load: bool, first: int, address: int, count: int) -> None:
        sweep(banks, load, first, address, count)
        wanted = banks.loads if load else banks.stores
        late[load] += sum(
            bool(wanted[cycle] & streams[load].get(cycle, 0)) for cycle in range(first, first + count // bus_words)
        )
        words[load] += count

    image = demo_network(AcceleratorConfig(bus_words=bus_words, glb_bank_words=512))[1]
    monkeypatch.setattr(Banks, "grant", granted)
    monkeypatch.setattr(Banks, "write", written)
    monkeypatch.setattr(Banks, "sweep", swept)
    predict(image)
    assert words[True] > 100_000 and words[False] > 1000 and all(streams.values())
    assert late[False] < words[False] / 50 and late[True] < words[True] / 500


@pytest.mark.parametrize(
    ("config", "layer"),
    [
        (DEFAULT, Layer("pointwise", 2, 2, 512, 512)),
        (AcceleratorConfig(rows=3, cols=4), Layer("pointwise", 2, 2, 512, 512)),
        (DEFAULT, Layer("convolution", 16, 16, 128, 64, 3, 1)),
    ],
    ids=["two sets", "one set", "row-stationary"],
)
def test_filters_in_chunks(config: AcceleratorConfig, layer: Layer, seed: int, tmp_path: Path) -> None:
    """Each chunk waits for its load: there are as many as the pass takes, and the port has the time to bring them."""
    image = compile_layer(layer, np.random.default_rng(seed), tmp_path / "net.tflite", config).image
    assert any(isinstance(c, Transfer) and c.wait_chunks for c in image.commands)
    cost, constants = predict(image), sum(step.weight_bytes for step in image.steps)
    assert cost.cycles > max(constants // 8, cost.counters["MACS"] // config.total_multipliers)


def test_times_and_energy_hang_together(seed: int, tmp_path: Path) -> None:
    image = next(i for i in (compiled(seed, n, tmp_path / "net.tflite") for n in range(NETWORKS)) if i)
    cost = predict(image)
    assert all(p.offered < p.begun <= p.worked < p.done for p in cost.passes)
    assert all(a.done < b.done for a, b in zip(cost.passes, cost.passes[1:]))
    assert sum(layer.cycles for layer in cost.layers) == cost.passes[-1].done - 1 < cost.cycles
    assert cost.counters["MACS"] >= image.steps[-1].macs  # of others rows that nobody reads are left out
    counters, zero_skipped, clock = cost.counters, 1000, 100_000_000
    glb = sum(count for name, count in counters.items() if name.startswith("GLB_"))
    picojoules = 2 * (counters["MACS"] - zero_skipped) + 10 * glb
    picojoules += 200 * (counters["DRAM_READ_BYTES"] + counters["DRAM_WRITE_BYTES"])
    microseconds = cost.cycles / 100
    assert cost.energy_uj(clock, zero_skipped) == pytest.approx(picojoules * 1e-6 + 50e-6 * microseconds)


def test_pes_at_rest_go_on_with_the_first_that_works() -> None:
    """9 x 4 PEs, of which 4 columns of two sets take part in the second pass, the first half of these in the first."""
    first = PassTimes(offered=10, begun=11, worked=110, done=120, sets=2, columns=2)
    second = PassTimes(offered=60, begun=111, worked=210, done=230, sets=2, columns=4)
    steps = [ImageStep(name, "conv", "", "", (n,), 0, 0, 0, (1, 1, 8), (1, 1, 8)) for n, name in enumerate("ab")]
    layers = layer_costs(steps, [first, second], AcceleratorConfig(rows=9, cols=4))
    left = round((2 * 2 * 110 + 2 * 2 * 60 + 4 * 60) / 12)  # by two columns of two sets, the others, the third set
    assert [layer.cycles for layer in layers] == [left, 229 - left]


def test_a_vector_pass_holds_the_accelerator_to_its_end() -> None:
    """A vector pass between two array passes: the second array pass works in its shadow, and drains after it."""
    assert held_cycles([100, 20, 80, 50], [110, 160, 210, 260], [False, True, False, False]) == [100, 60, 40, 50]
    assert held_cycles([100, 20], [110, 400], [False, True]) == [100, 300]
    assert held_cycles([0, 90], [50, 120], [True, False]) == [50, 40]


@pytest.mark.parametrize("number", range(scaled(8)))
def test_passes_that_are_alike_take_the_same_time(
    number: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repeated times equal the followed ones, within half of the share that the RTL allows."""
    image = next(i for i in (compiled(seed, 40 * number + n, tmp_path / "net.tflite") for n in range(40)) if i)
    compare_with_passes_followed(image, monkeypatch, 0.015)


def test_vector_passes_after_a_pass_that_waits_for_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have waited for none."""
    operator = graphs.local_response_normalization(NormalizationDescriptor(2, 1e-4, 0.75, 2.0).get())
    ends = (TensorSetting(1, 55, 55, 96, scale) for scale in (0.02, 0.1))
    graph = graphs.graph_of(operator, (next(ends),), next(ends))
    compare_with_passes_followed(reached(compile_whole(Imported("lrn", graph=graph)), Built).image, monkeypatch, 0.005)


def compare_with_passes_followed(image: Image, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    repeated = predict(image)
    monkeypatch.setattr(array, "shortened", lambda shape: None)
    monkeypatch.setattr(predict_module, "structure", lambda descriptor: object())  # no pass is like another
    predict_module._timed.cache_clear()
    followed = predict(image)
    assert repeated.counters == followed.counters
    assert abs(repeated.cycles - followed.cycles) <= max(share * followed.cycles, 32)


@pytest.mark.parametrize(
    "layer",
    [
        Layer("pointwise", 10, 10, 1024, 64),
        Layer("pointwise", 7, 7, 2048, 176),
        Layer("convolution", 8, 8, 640, 32, 3),
        Layer("convolution", 6, 6, 96, 24, 5),
        Layer("fully connected", 1, 1, 8000, 8),
    ],
    ids=str,
)
def test_many_channel_groups_take_the_same_time(
    layer: Layer, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 1 %, or a few cycles, of the time with all groups followed one by one."""
    image = compile_layer(layer, np.random.default_rng(seed), tmp_path / "layer.tflite").image
    assert image
    compare_with_all_iterations(image, monkeypatch)


@pytest.mark.parametrize(("side", "channels", "filters"), [(10, 24, 576), (7, 96, 1024)])
def test_iterations_of_a_layer_with_a_lookup_table(
    side: int, channels: int, filters: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table comes as a whole, however few iterations are followed."""
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("table"), tmp_path / "net.tflite"
    constants = weights(rng, filters, 1, 1, channels), scales(rng, filters), bias(rng, filters)
    x = net.conv("conv", net.input("x", (1, side, side, channels), INPUT), *constants, Quant(0.05, -3))
    path.write_bytes(net.build([net.function("HARD_SWISH", "y", x, Quant(0.03, -120))]))
    image = compile_network(path, search_iterations=8).image
    assert image.steps[0].kind == "pointwise + table"
    compare_with_all_iterations(image, monkeypatch)


def compare_with_all_iterations(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = list[float]()

    def noted(shape: PassShape) -> Shortened | None:
        short = shortened(shape)
        followed.append((short.shape if short else shape).turns / shape.turns)
        return short

    monkeypatch.setattr(array, "shortened", noted)
    predict_module._timed.cache_clear()
    repeated = predict(image)
    assert min(followed) < 0.7
    monkeypatch.setattr(array, "shortened", lambda shape: None)
    predict_module._timed.cache_clear()
    cycles = predict(image).cycles
    assert abs(repeated.cycles - cycles) <= max(0.01 * cycles, 32)


def test_a_list_whose_end_is_decoded_with_its_last_pass(tmp_path: Path) -> None:
    """The words of the last pass and END come into reach in one step: that is no list that waits for itself."""
    image = compiled(626772, 1, tmp_path / "net.tflite")
    assert predict(image).cycles > 0


def test_prices_are_those_of_the_baseline() -> None:
    """Layer conv0 of the published baseline, whose table gives all of these but decoded bytes."""
    counters = dict.fromkeys((counter.name for counter in Counter), 0)
    counters |= {"MACS": 884736, "GLB_IFMAP_BYTES": 150400, "GLB_OFMAP_BYTES": 163840}
    counters |= {"DRAM_READ_BYTES": 7808, "DRAM_WRITE_BYTES": 32768}
    assert energy_uj(counters, 240608, 200_000_000) == pytest.approx(13.087224)
    decoded = counters | {"DECODED_BYTES": 1000, "ZERO_SKIPPED": 736}
    assert energy_uj(decoded, 240608, 200_000_000) == pytest.approx(13.087224 + 0.011 - 0.001472)
