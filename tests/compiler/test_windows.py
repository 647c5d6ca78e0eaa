# SPDX-License-Identifier: Apache-2.0
"""Convolutions and depthwise convolutions of any window, on configurations of any number of sets: compiled and executed
command by command they give what the operators compute."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.program import Run, Transfer
from eyrie.compiler.ir.window import Window
from eyrie.compiler.pipeline import dumped
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.encoding import ArrayMode
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.passes import PassTrace
from eyrie.testing.samples import scaled
from tests.compiler.windows import Chain, compile_groups, convolution_chain, draw_chain

CHAINS = scaled(90)
MORE = 300  # chains that may be drawn until all that is wanted has come
ZERO_POINTS = "filter_zero_point", "depthwise_zero_point"
PACKED = 12  # convolutions of each number of channels
CONFIGS = (
    AcceleratorConfig(rows=3),
    AcceleratorConfig(rows=9, cols=5),
    AcceleratorConfig(rows=12),
    AcceleratorConfig(rows=15, cols=16),
    replace(DEFAULT, multipliers=1),
    replace(DEFAULT, bus_words=2, filter_lanes=2),
    replace(DEFAULT, glb_bank_words=256),
    replace(DEFAULT, filter_words=3, pixel_words=2),
)


def check(chain: Chain, config: AcceleratorConfig, rng: np.random.Generator, about: str) -> Counter:
    """Runs a chain; how it was done: modes of passes, and of those of filters with a zero point, ways, layers that are
    grouped, rings of filters, inner blocks, packed inputs and those in a ring of rows."""
    stages = compile_groups(chain.groups, config)
    image = stages.image
    values = rng.integers(-128, 128, image.input_map.shape).astype(np.int8)
    done = Counter(group.kind for group in stages.groups)
    for nest in (segment.nest for segment in stages.plan.segments):
        done["whole" if nest.whole else "refetched" if nest.refetch else "row tiles"] += 1

    def observe(trace: PassTrace) -> None:
        shape = trace.descriptor.shape
        mode = ArrayMode(shape["mode"]).name
        done.update([mode, *(f"{mode} {name}" for name in ZERO_POINTS if shape[name])])

    run = FunctionalSimulator(image.with_input(values), config, observe=observe)
    run.run(image.program.address)
    made, expected = image.output(run.dram), chain.run(values)
    assert made.shape == expected.shape and (made == expected).all(), (
        f"{about} on {config}: {(made != expected).sum()} of {made.size} differ\n{chain}\n{dumped(stages, 'map')}"
    )
    done["below"] += sum(step.mapping.blocks.below for step in stages.steps)
    source = stages.plan.read[0].layout
    assert source.packed == image.input_map.layout.packed
    done["packed"] += source.packed
    done["packed ring"] += source.packed and source.ring_rows < source.rows
    done["ring"] += sum(constants.filters_at != "resident" for constants in stages.placed.constants)
    for n, (constants, counters) in enumerate(zip(stages.placed.constants, by_layer(image), strict=True)):
        filters, ifmap = (counters[f"GLB_{name}_BYTES"] // GLB_WORD_BYTES for name in ("FILTER", "IFMAP"))
        least = max(filters / config.filter_lanes, ifmap / 2)  # the ifmap comes in pairs of words
        assert constants.cycles(stages.plan, n) >= least, f"{about} on {config}: group {n} outruns its words\n{chain}"
    return done


def test_chains_of_any_window(seed: int) -> None:
    done: Counter = Counter()
    wanted = "POINTWISE", "FUSED", "CONVOLUTION", "grouped", "whole", "row tiles", "packed"
    wanted += tuple(f"{mode} filter_zero_point" for mode in ("POINTWISE", "FUSED", "CONVOLUTION"))
    wanted += tuple(f"{mode} depthwise_zero_point" for mode in ("DEPTHWISE", "FUSED"))
    number = -1
    while (number := number + 1) < CHAINS or not all(done[way] for way in wanted):
        assert number < 10 * CHAINS + MORE, done
        rng = np.random.default_rng([seed, number])
        chain = draw_chain(rng)
        config = CONFIGS[rng.integers(len(CONFIGS))] if rng.random() < 0.5 else DEFAULT
        try:
            done += check(chain, config, rng, f"chain {number} of seed {seed}") + Counter(ran=1)
        except DoesNotFit as error:
            assert "bytes of GLB" in str(error) or "no places" in str(error), f"chain {number}: {error}\n{chain}"
    assert done["ran"] > number // 2, done


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_packed_inputs(channels: int, seed: int) -> None:
    """All pads, both strides, rows of odd numbers of pixels, whole maps and rings of rows."""
    rng, done = np.random.default_rng([seed, channels]), Counter()
    number, enough = -1, {"packed": PACKED // 2, "whole": 1, "packed ring": 1}
    while (number := number + 1) < PACKED or any(done[way] < count for way, count in enough.items()):
        assert number < 20 * PACKED, done
        kernel, stride = tuple(rng.integers(1, 4, 2).tolist()), int(rng.integers(1, 3))
        pads = tuple(int(rng.integers(0, kernel[side // 2])) for side in range(4))
        rows, cols = (size + int(rng.integers(40)) for size in kernel)
        chain = convolution_chain(
            rng, (rows, cols, channels), Window(kernel, (stride, stride), pads), int(rng.choice([1, 8, 10, 24]))
        )
        config = replace(DEFAULT, glb_bank_words=int(rng.choice([256, 1024])), bus_words=int(rng.integers(1, 3)))
        done += check(chain, config, rng, f"packed convolution {number} of seed {seed}")


@pytest.mark.parametrize("width", [12, 23, 31, 39])
def test_two_blocks_of_odd_width(width: int) -> None:
    """Ten pixels or more a row, which two columns would share as 5, 11, 15 or 19 each: one of them would begin at an
    odd column."""
    rng = np.random.default_rng(width)
    chain = convolution_chain(rng, (6, width, 16), Window((3, 3)), 8)
    assert check(chain, DEFAULT, rng, f"width {width}")["CONVOLUTION"]


@pytest.mark.parametrize(("rows", "sets"), [(6, 2), (9, 2), (12, 4), (15, 4)])
@pytest.mark.parametrize("filters", [32, 64])
def test_sets_share_filters(rows: int, sets: int, filters: int, seed: int) -> None:
    """Row-stationary on all configurations of two sets or more; what two sets do takes four about half the time."""
    rng = np.random.default_rng([seed, rows, filters])
    chain = convolution_chain(rng, (8, 16, 16), Window((3, 3), pads=(1, 1, 1, 1)), filters)
    config = AcceleratorConfig(rows=rows)
    assert check(chain, config, rng, f"{filters} filters")["CONVOLUTION"]
    cycles, two = (predict(compile_groups(chain.groups, each).image).cycles for each in (config, AcceleratorConfig()))
    assert 0.4 < cycles / two < 0.85 if sets == 4 else abs(cycles / two - 1) < 0.03, (cycles, two)


def test_windows_beyond_the_loops() -> None:
    """16,512 taps: the array counts fewer channel groups."""
    chain = convolution_chain(np.random.default_rng(1), (129, 130, 8), Window((128, 129)), 8)
    said = "^group conv0: a 128 x 129 kernel, stride 1 pads 0 0 0 0, over 8 channels goes beyond the loops of a stream"
    with pytest.raises(DoesNotFit, match=said):
        compile_groups(chain.groups)


def test_rows_that_no_window_sees() -> None:
    """They are loaded with the others, and count for their layer."""
    window = Window((1, 2), (2, 1), (2, 2, 2, 1), (1, 2))
    chain = convolution_chain(np.random.default_rng(1), (6, 13, 24), window, 168)
    image = compile_groups(chain.groups).image
    transfers = [command for command in image.commands if isinstance(command, Transfer)]
    waits = [command.wait_transfers for command in image.commands if isinstance(command, Run)]
    loaded = [number for number, transfer in enumerate(transfers, 1) if transfer.load]
    assert max(loaded) > max(waits)
    assert by_layer(image)[0]["GLB_LOAD_BYTES"] == 8 * sum(transfer.words for transfer in transfers if transfer.load)


def test_filters_that_do_not_fit(seed: int) -> None:
    """They are in the GLB chunk by chunk: a tile for all rows of blocks, or all of them again for each stripe."""
    rng = np.random.default_rng(seed)
    rows, cols, channels = (int(rng.integers(*bounds)) for bounds in ((9, 15), (9, 15), (100, 129)))
    chain = convolution_chain(rng, (rows, cols, channels), Window((3, 3), pads=(1, 1, 1, 1)), 128)
    assert chain.groups[0].weight_bytes > DEFAULT.glb_bytes
    done = check(chain, DEFAULT, rng, "a large convolution")
    assert done["ring"] and done["whole"] + done["refetched"] == 1, done
    assert (done["POINTWISE"] == 1) == done["whole"], done
