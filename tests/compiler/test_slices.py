# SPDX-License-Identifier: Apache-2.0
"""Layers whose filters or channels go in slices, and what comes with a slice: tables or depthwise words that are larger
than the GLB, and operands. Executed command by command the layers give what the golden model gives."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.nest_text import read_schedule
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built, Request
from eyrie.model.config import AcceleratorConfig
from eyrie.training.tflite_writer import VALID, Tensor
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_partition_of_layers import SEARCH_ITERATIONS, check

OUTPUT = Quant(0.05, -128)


def whole_map(rng: np.random.Generator, net: TfliteBuilder) -> Tensor:
    """A fully connected layer behind a map."""
    size, channels, filters = int(rng.integers(1, 4)), int(rng.choice([16, 32])), int(rng.choice([2048, 3072]))
    constants = weights(rng, filters, size, size, channels), scales(rng, filters), bias(rng, filters)
    x = net.input("image", (1, size, size, channels), INPUT)
    return net.conv("layer", x, *constants, OUTPUT, padding=VALID, relu=6)


def stripes(rng: np.random.Generator, net: TfliteBuilder) -> Tensor:
    """The slices of a stripe follow those of another."""
    size, channels, filters = int(rng.integers(6, 10)), int(rng.choice([8, 16])), 2048
    constants = weights(rng, filters, 1, 1, channels), scales(rng, filters), bias(rng, filters)
    return net.conv("layer", net.input("image", (1, size, size, channels), INPUT), *constants, OUTPUT)


def depthwise(rng: np.random.Generator, net: TfliteBuilder) -> Tensor:
    """Slices of channels."""
    size, channels, stride = int(rng.integers(2, 8)), int(rng.choice([1024, 1536])), int(rng.integers(1, 3))
    constants = weights(rng, 1, 3, 3, channels), scales(rng, channels), bias(rng, channels)
    x = net.input("image", (1, size, size, channels), INPUT)
    return net.depthwise("layer", x, *constants, OUTPUT, stride=stride)


def separable(rng: np.random.Generator, net: TfliteBuilder) -> Tensor:
    """Slices of channels, then of filters, both in turn."""
    size, channels, filters = int(rng.integers(2, 6)), 1024, int(rng.choice([8, 1536]))
    x = net.input("image", (1, size, size, channels), INPUT)
    x = net.depthwise(
        "depthwise", x, weights(rng, 1, 3, 3, channels), scales(rng, channels), bias(rng, channels), OUTPUT
    )
    return net.conv("layer", x, weights(rng, filters, 1, 1, channels), scales(rng, filters), bias(rng, filters), OUTPUT)


LAYERS = [(whole_map, "table"), (stripes, "table"), (depthwise, "depthwise"), (separable, "depthwise")]


@pytest.mark.parametrize(("draw", "what"), LAYERS, ids=[draw.__name__ for draw, _ in LAYERS])
def test_slices_of_constants_come_in_turn(draw, what: str, seed: int, tmp_path: Path) -> None:
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("large"), tmp_path / "net.tflite"
    path.write_bytes(net.build([draw(rng, net)]))
    config = AcceleratorConfig(glb_bank_words=256, bus_words=int(rng.integers(1, 3)))
    stages = compile_network(path, config, search_iterations=SEARCH_ITERATIONS)
    assert any(name.endswith(f".{what}") for name in in_turn(stages)), dumped(stages, "segments")
    check(stages, rng, f"seed {seed}")


def in_turn(stages: Built) -> list[str]:
    """Names of the constants of which slices come in turn."""
    return [each.name for constants in stages.placed.constants for each in constants.in_turn]


@pytest.mark.parametrize("operator", ["ADD", "SUB", "MUL"])
def test_operands_come_in_slices(operator: str, seed: int, tmp_path: Path) -> None:
    """A join rides on a layer whose source takes most of the GLB."""
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("large"), tmp_path / "net.tflite"
    size, channels = int(rng.integers(9, 11)), 128
    x = maps = net.input("image", (1, size, size, channels), INPUT)
    for name, kernel in (("first", 1), ("second", int(rng.choice([1, 3])))):
        constants = weights(rng, channels, kernel, kernel, channels), scales(rng, channels), bias(rng, channels)
        maps, x = net.conv(name, maps, *constants, OUTPUT), maps
    out = Quant(0.1, int(rng.integers(-128, 128)))
    path.write_bytes(net.build([net.binary(operator, "join", maps, x, out)]))
    stages = compile_network(
        path,
        AcceleratorConfig(glb_bank_words=256, bus_words=int(rng.integers(1, 3))),
        search_iterations=SEARCH_ITERATIONS,
    )
    last = stages.plan.segments[-1]
    assert last.nest.refetch and last.nest.tilings[-1].filters > 1 and last.groups[-1].others, dumped(
        stages, "segments"
    )
    check(stages, rng, f"seed {seed}")


SCHEDULE = """{planar}segment
  fetch input
  pass {}
segment
  pass {}
segment
  for rows by {rows}
    fetch filters
    for filters in {tiles}
      pass {}
      spill output
"""


@pytest.mark.parametrize(("kernel", "planar"), [(1, ""), (3, ""), (1, "planar: first\n")])
def test_slices_of_an_operand_that_stays_in_the_glb(kernel: int, planar: str, seed: int, tmp_path: Path) -> None:
    """By a schedule: the planner's has no slices where all feature maps fit."""
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("small"), tmp_path / "net.tflite"
    size, channels, made = int(rng.integers(4, 10)), int(rng.choice([32, 64])), []
    x = net.input("image", (1, size, size, channels), INPUT)
    for name, side in (("first", 1), ("second", 3), ("third", kernel)):
        constants = weights(rng, channels, side, side, channels), scales(rng, channels), bias(rng, channels)
        x = net.conv(name, x, *constants, OUTPUT)
        made.append(x)
    path.write_bytes(net.build([net.binary("ADD", "join", x, made[0], Quant(0.1, int(rng.integers(-128, 128))))]))
    config = AcceleratorConfig(bus_words=int(rng.integers(1, 3)))
    names = [group.name for group in compile_until("groups", Request(path, config)).groups]
    rows, tiles = int(rng.integers(1, size + 1)), int(rng.choice([2, 4]))
    schedule = tmp_path / "schedule.txt"
    schedule.write_text(SCHEDULE.format(*names, planar=planar, rows=rows, tiles=tiles))
    stages = compile_network(path, config, search_iterations=SEARCH_ITERATIONS, schedule=read_schedule(schedule))
    [operand] = stages.plan.others[-1]
    assert not operand.buffer.loaded and stages.plan.segments[-1].nest.sliced, dumped(stages, "segments")
    check(stages, rng, f"seed {seed}")
