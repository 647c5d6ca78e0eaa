# SPDX-License-Identifier: Apache-2.0
"""Tensors over banks, local and global: a network worked out by hand, and ResNet-50 by its published structure."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.study.banks import Array, Mapping, compulsory, everywhere, local, most_on_chip, propagated
from eyrie.measure.networks.resnet50 import model
from tests.commands.small_nets import Quant, TfliteBuilder, bias, scales, weights

DOCS = Path(__file__).parents[2] / "docs" / "research" / "movement.md"


@pytest.fixture(scope="module")
def resnet50() -> Graph:
    return tflite.from_bytes(model())


def residual() -> Graph:
    """4 x 4 pixels of 8 channels, two pointwise convolutions to 16, and the sum of both."""
    rng, net, out = np.random.default_rng(1), TfliteBuilder("residual"), Quant(0.1, 3)
    first = net.conv(
        "first", net.input("picture", (1, 4, 4, 8), out), weights(rng, 16, 1, 1, 8), scales(rng, 16), bias(rng, 16), out
    )
    second = net.conv("second", first, weights(rng, 16, 1, 1, 16), scales(rng, 16), bias(rng, 16), out)
    return tflite.from_bytes(net.build([net.add("total", first, second, out)]))


def test_fewer_banks_for_results_than_for_inputs() -> None:
    """Local: first goes from 4 banks to 8 for the next convolution, second from 4 banks to rows for the sum, and first
    to DRAM and back. Global: first goes from 4 banks to 8; the sum is taken as it comes, over 4."""
    graph, array = residual(), Array(rows=8, columns=4)
    assert compulsory(graph) == 128 + 8 * 16 + 16 * 16 + 256
    one, all_ = local(graph, array), everywhere(graph, array)
    assert [str(copy).split() for copy in one.copies] == [
        ["first", "256", *"channels over 4 -> channels over 8".split()],
        ["second", "256", *"channels over 4 -> rows over 4".split()],
    ]
    assert [str(copy).split() for copy in all_.copies] == [
        ["first", "256", *"channels over 4 -> channels over 8".split()]
    ]
    assert (one.off_chip, all_.off_chip) == (768 + 2 * 256, 768)
    assert propagated(graph, array) == {
        "picture": Mapping("channels", 8),
        "first": Mapping("channels", 4),
        "second": Mapping("channels", 4),
        "total": Mapping("channels", 4),
    }
    assert most_on_chip(graph) == 3 * 256


def test_as_many_banks_for_results_as_for_inputs() -> None:
    graph, array = residual(), Array(rows=8, columns=8)
    assert (local(graph, array).on_chip, everywhere(graph, array).on_chip) == (256, 0)


def test_resnet50_off_chip(resnet50: Graph) -> None:
    """By local mapping the input of a block goes to DRAM and back for the sum, and, where that is of a convolution of
    it, for the second of those that read it, and that convolution's result for the sum."""
    assert compulsory(resnet50) == 25_502_912 + 224 * 224 * 3 + 1000
    again = 0
    for pixels, width, blocks, before in (
        (56, 256, 3, 56 * 56 * 64),
        (28, 512, 4, 56 * 56 * 256),
        (14, 1024, 6, 28 * 28 * 512),
        (7, 2048, 3, 14 * 14 * 1024),
    ):
        again += 2 * (before + blocks * pixels * pixels * width)
    for array in (Array(), Array(columns=128)):
        assert local(resnet50, array).off_chip == compulsory(resnet50) + again
        assert everywhere(resnet50, array).off_chip == compulsory(resnet50)


def test_every_reader_has_its_mapping_or_a_copy(resnet50: Graph) -> None:
    array = Array()
    found = propagated(resnet50, array)
    copied = {(copy.tensor.name, copy.taken): copy.made for copy in everywhere(resnet50, array).copies}
    for node in resnet50.nodes:
        for tensor in node.activations:
            wanted = array.taken(node, tensor) or found[node.outputs[0].name]
            assert found[tensor.name] == wanted or copied[tensor.name, wanted] == found[tensor.name]
    assert all(made != taken for (_, taken), made in copied.items())


def test_page_has_the_numbers(resnet50: Graph) -> None:
    page = " ".join(DOCS.read_text().split())
    for columns in (64, 128):
        array = Array(columns=columns)
        one, all_ = local(resnet50, array), everywhere(resnet50, array)
        for before, after in ((one.on_chip, all_.on_chip), (one.off_chip, all_.off_chip)):
            assert f"{before:,} | {after:,} | {100 * (1 - after / before):.1f} %" in page
    assert f"{most_on_chip(resnet50):,} bytes on chip at once" in page
