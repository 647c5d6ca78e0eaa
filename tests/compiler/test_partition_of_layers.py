# SPDX-License-Identifier: Apache-2.0
"""Chains and branches of layers whose maps and filters are larger than the GLB, on small configurations of all numbers
of sets: executed command by command they give what the golden model gives, and what is rejected fits with what the
rejection asks for."""

from collections import Counter
from math import prod
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Separable
from eyrie.compiler.ir.nest import ONE
from eyrie.compiler.network import compile_network
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.model.config import MAX_GLB_WORDS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.passes import PassTrace
from eyrie.testing.samples import scale, scaled
from eyrie.training.tflite_writer import Tensor
from tb.net.random_branches import draw_inputs, expected_outputs
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.rejections import TOO_LARGE, with_room
from tests.compiler.test_performance import check_bytes

COUNT = scaled(40, least=6)
SEARCH_ITERATIONS = 8
MOST_MACS = 4_000_000  # of a layer
MOST_REJECTED = 0.03
FEW = 4  # of a few dozen may be rejected where that is the share of many
KINDS = ("convolution", "pointwise", "depthwise", "separable", "separable")
FILTERS = (8, 16, 24, 32, 64, 96, 128, 256, 512)
SEEN = (
    "filters again",
    "filters again, in slices",
    "slices of channels",
    "halves",
    "odd blocks",
    "packed",
    "stripes",
    "held",
    "three sets or more",
)


def random_config(rng: np.random.Generator) -> AcceleratorConfig:
    """With a GLB of 16 to 64 KiB."""
    return AcceleratorConfig(
        rows=int(rng.choice([3, 6, 6, 9, 12, 15])),
        cols=int(rng.choice([4, 8, 8, 16])),
        glb_bank_words=int(rng.choice([256, 384, 512, 768, 1024])),
        bus_words=int(rng.integers(1, 3)),
        multipliers=int(rng.choice([1, 4, 4])),
    )


def draw_network(rng: np.random.Generator) -> bytes:
    """Of one to four layers: large maps of few channels, or small maps of many."""
    net, kind = TfliteBuilder("large"), rng.choice(["image", "wide", "deep"])
    most, channels = {"image": (80, (1, 3, 4)), "wide": (56, (16, 32, 64, 96)), "deep": (12, (128, 256, 512))}[kind]
    shape = *rng.integers(most // 4, most + 1, 2).tolist(), int(rng.choice(channels))
    maps = [net.input("image", (1, *shape), INPUT)]
    for n in range(int(rng.integers(1, 5))):
        kind = "convolution" if len(maps) == 1 and shape[2] < 8 else str(rng.choice(KINDS))
        maps.append(_layer(rng, net, f"layer{n}", maps[-1], kind))
        alike = [each for each in maps[1:-1] if each.shape == maps[-1].shape]
        if alike and rng.random() < 0.7:
            out = Quant(float(rng.uniform(0.05, 0.2)), int(rng.integers(-128, 128)))
            kind = str(rng.choice(["ADD", "ADD", "SUB", "MUL"]))
            maps.append(net.binary(kind, f"join{n}", maps[-1], alike[rng.integers(len(alike))], out))
    x = maps[-1]
    if x.shape[1] == x.shape[2] and prod(x.shape[1:3]) <= 1024 and rng.random() < 0.5:
        x = net.average_pool("pool", x, x.shape[1], 1)
    return net.build([x])


def _layer(rng: np.random.Generator, net: TfliteBuilder, name: str, x: Tensor, kind: str) -> Tensor:
    channels, size, stride = x.shape[3], int(rng.choice([2, 3, 3])), int(rng.choice([1, 1, 2]))
    relu, out = int(rng.choice([0, 1, 6])), Quant(0.05, int(rng.choice([-128, rng.integers(-128, 128)])))
    if kind in ("depthwise", "separable"):
        constants = weights(rng, 1, size, size, channels), scales(rng, channels), bias(rng, channels)
        x = net.depthwise(f"{name}/depthwise", x, *constants, Quant(0.05, -128), stride=stride, relu=relu)
        if kind == "depthwise":
            return x
    if kind != "convolution":
        size = stride = 1
    pixels = prod(x.shape[1:3]) // stride**2
    fitting = [each for each in (*FILTERS, channels) if each * pixels * size**2 * channels <= MOST_MACS] or [8]
    count = channels if channels in fitting and rng.random() < 0.4 else int(rng.choice(fitting))
    constants = weights(rng, count, size, size, channels), scales(rng, count), bias(rng, count)
    return net.conv(name, x, *constants, out, stride=stride, relu=relu)


def seen(stages: Built) -> set[str]:
    """How a network is done."""
    segments, groups = stages.plan.segments, stages.plan.groups
    nests = [segment.nest for segment in segments]
    again = {nest.tilings != (ONE,) for nest in nests if nest.refetch and len(nest.tilings) == 1}
    what = {
        "filters again": False in again,
        "filters again, in slices": True in again,
        "slices of channels": any(nest.tilings[0].channels > 1 and len(nest.tilings) == 1 for nest in nests),
        "slices of channels, then of filters": any(nest.tilings[0].channels > 1 and not nest.lead for nest in nests),
        "halves": sum(isinstance(group, Separable) for group in stages.groups)
        > sum(isinstance(group, Separable) for group in groups),
        "odd blocks": any(
            step.mapping.blocks.pixels * step.group.window.stride[1] % 2 and step.mapping.blocks.columns > 1
            for step in stages.steps
            if not isinstance(step.group, Elementwise) and step.mapping.mode != ArrayMode.CONVOLUTION
        ),
        "packed": any(group.source.packed for group in groups),
        "stripes": any(nest.lead and len(nest.tilings) > 1 for nest in nests),
        "held": any(segment.beside > segment.fetched for segment in segments),
        "three sets or more": stages.config.sets > 2,
    }
    return {name for name, there in what.items() if there}


def check(stages: Built, rng: np.random.Generator, about: str) -> None:
    """The outputs are the golden model's, the bytes of all layers the accelerator's."""
    image = stages.image
    inputs = draw_inputs(image, rng)
    traces: list[PassTrace] = []
    simulator = FunctionalSimulator(image.with_inputs(inputs), stages.config, observe=traces.append)
    simulator.run(image.program.address)
    outputs, golden = image.outputs_in(simulator.dram), expected_outputs(stages.graph, inputs)
    about += f" on {stages.config}:\n{dumped(stages, 'groups')}\n{dumped(stages, 'segments')}"
    assert outputs.keys() == golden.keys()
    for name, values in golden.items():
        assert np.array_equal(outputs[name], values), about
    check_bytes(stages, simulator, traces)


def with_the_remedy(path: Path, config: AcceleratorConfig, failure: DoesNotFit) -> Built | None:
    """Compiled with what a rejection asks for; None where no accelerator has it."""
    too_large = TOO_LARGE.fullmatch(str(failure))
    if too_large:
        assert failure.demand == int(too_large[2]) > failure.bound == int(too_large[3]) == config.glb_bytes
    else:
        assert str(failure).endswith("use a larger GLB or more effort"), failure
    words = failure.demand // 8 * 101 // 100 if too_large else 2 * config.glb_words
    return (
        compile_network(path, with_room(config, 8 * words), search_iterations=SEARCH_ITERATIONS)
        if words <= MAX_GLB_WORDS
        else None
    )


def test_large_layers_fit_small_configurations(seed: int, tmp_path: Path) -> None:
    path, found, rejected = tmp_path / "net.tflite", Counter(), []
    number = -1
    wanted = set(SEEN) if scale() >= 1 else set()  # a few networks hardly hold everything
    while (number := number + 1) < COUNT or not found.keys() >= wanted:
        assert number < 10 * COUNT, f"never seen: {wanted - found.keys()}"
        rng = np.random.default_rng([seed, number])
        path.write_bytes(draw_network(rng))
        config, about = random_config(rng), f"network {number} of seed {seed}"
        try:
            stages = compile_network(path, config, search_iterations=SEARCH_ITERATIONS)
        except DoesNotFit as failure:
            rejected.append(f"{about}: {failure}")
            stages = with_the_remedy(path, config, failure)
        if stages:
            check(stages, rng, about)
            found.update(seen(stages))
    assert len(rejected) <= max(FEW, MOST_REJECTED * number), "\n".join(rejected)
