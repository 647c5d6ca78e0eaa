# SPDX-License-Identifier: Apache-2.0
"""Networks that the literature measures, with random weights: LeNet-5, CIFAR-10 quick, AlexNet, VGG-16, VGG-19,
ResNet-34, an LSTM.

They follow their authors' descriptions, but AlexNet lacks its normalisation, which has no int8 operator in TensorFlow
Lite: `normalized` adds it to a graph. The outputs have no meaning, but every layer uses its whole range of values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.measure.networks.mobilenets import Layers

RESNET34 = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # channels, blocks, stride of the first

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.compiler.ir.graph import Graph, Node
    from eyrie.compiler.ir.tensor import Tensor as IrTensor
    from eyrie.training.tflite_writer import Tensor


def lenet5() -> bytes:
    """Return LeNet-5 of LeCun et al., 1998, with ReLU layers and maxima instead of weighted means."""
    layers = Layers("lenet5", 32, 1, channels=1)
    x = layers.max_pool(layers.conv(layers.input, 6, 5, padding="VALID"), 2, 2)
    x = layers.max_pool(layers.conv(x, 16, 5, padding="VALID"), 2, 2)
    x = layers.fully_connected(layers.fully_connected(x, 120, relu=6), 84, relu=6)
    return layers.net.build([layers.fully_connected(x, 10)])


def cifar10_quick() -> bytes:
    """Return the network "CIFAR-10 quick" of Caffe's examples, with maxima instead of means."""
    layers = Layers("cifar10_quick", 32, 1)
    x = layers.max_pool(layers.conv(layers.input, 32, 5), 3, 2)
    x = layers.max_pool(layers.conv(x, 32, 5), 3, 2)
    x = layers.max_pool(layers.conv(x, 64, 5), 3, 2)
    return layers.net.build([layers.fully_connected(layers.fully_connected(x, 64, relu=6), 10)])


def alexnet() -> bytes:
    """Return AlexNet of Krizhevsky et al., 2012, as one column; its first layer makes 55 x 55 of 227 x 227."""
    layers = Layers("alexnet", 227, 1)
    x = layers.max_pool(layers.conv(layers.input, 96, 11, 4, padding="VALID"), 3, 2)
    x = layers.max_pool(layers.conv(x, 256, 5), 3, 2)
    x = layers.conv(layers.conv(layers.conv(x, 384, 3), 384, 3), 256, 3)
    return _classified(layers, layers.max_pool(x, 3, 2))


def normalized(graph: Graph, layers: Collection[str]) -> Graph:
    """Return a network with a local response normalisation, of AlexNet's factors, after each of some layers. These are
    inner layers, named by their outputs."""
    from eyrie.compiler.operators.normalization import LocalResponseNormalization

    operator = LocalResponseNormalization(radius=2, alpha=1e-4, beta=0.75, k=2.0)
    nodes: list[Node] = []
    results: dict[str, IrTensor] = {}
    for node in graph.nodes:
        node = replace(node, inputs=tuple(results.get(each.name, each) for each in node.inputs))
        nodes.append(node)
        if node.outputs[0].name in layers:
            made = replace(node.outputs[0], name=f"{node.outputs[0].name}/normalized")
            results[node.outputs[0].name] = made
            nodes.append(replace(node, operator=operator, inputs=node.outputs, outputs=(made,)))
    return replace(graph, nodes=tuple(nodes))


def lstm(inputs: int = 3, units: int = 400, outputs: int = 121) -> bytes:
    """Return a step of an LSTM (Gers et al., 2000), and a layer after it: from values and its states, hidden and
    cell, to values and the next states."""
    from eyrie.training.tflite_writer import Quant, TfliteBuilder

    net, rng = TfliteBuilder("lstm"), np.random.default_rng(1)
    state, cell, gate = Quant(1 / 128, 0), Quant(4 / 128, 0), Quant(1 / 256, -128)
    x, hidden, before = (
        net.input(name, (1, size), quant)
        for name, size, quant in (("x", inputs, state), ("h", units, state), ("c", units, cell))
    )

    def dense(name: str, source: Tensor, outputs: int) -> Tensor:
        weight = rng.integers(-127, 128, (outputs, source.shape[1])).astype(np.int8)
        bias = rng.integers(-2000, 2000, outputs).astype(np.int32)
        return net.fully_connected(name, source, weight, np.array([1 / 1024]), bias, Quant(4 / 128, 0))

    joined = net.concatenation("joined", [x, hidden])
    kept, added, shown = (
        net.function("LOGISTIC", name, dense(f"{name}/sums", joined, units), gate)
        for name in ("forget", "input", "output")
    )
    new = net.function("TANH", "new", dense("new/sums", joined, units), state)
    after = net.add(
        "cell", net.binary("MUL", "kept", kept, before, cell), net.binary("MUL", "added", added, new, state), cell
    )
    hidden = net.binary("MUL", "hidden", shown, net.function("TANH", "shown", after, state), state)
    return net.build([dense("y", hidden, outputs), hidden, after])


def vgg(*convolutions: int) -> bytes:
    """Return VGG of Simonyan and Zisserman, 2014, with the given number of convolutions in each of five stages."""
    layers = Layers(f"vgg{sum(convolutions) + 3}", 224, 1)
    x = layers.input
    for channels, count in zip((64, 128, 256, 512, 512), convolutions, strict=True):
        for _ in range(count):
            x = layers.conv(x, channels, 3)
        x = layers.max_pool(x, 2, 2)
    return _classified(layers, x)


def resnet34() -> bytes:
    """Return ResNet-34 of He et al., 2015."""
    layers = Layers("resnet34", 224, 1)
    x = layers.net.max_pool("pool", layers.conv(layers.input, 64, 7, 2), 3, 2, "SAME")
    for channels, blocks, first_stride in RESNET34:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            inner = layers.conv(layers.conv(x, channels, 3, stride), channels, 3, relu=0)
            shortcut = layers.conv(x, channels, 1, stride, relu=0) if x.shape != inner.shape else x
            x = layers.add(shortcut, inner, relu=6)
    return layers.classified(x)


def _classified(layers: Layers, x: Tensor) -> bytes:
    """Add two layers of 4,096 and the classes; return the network."""
    x = layers.fully_connected(layers.fully_connected(x, 4096, relu=6), 4096, relu=6)
    return layers.net.build([layers.fully_connected(x)])


CLASSICS: dict[str, Callable[[], bytes]] = {
    "lenet5": lenet5,
    "cifar10_quick": cifar10_quick,
    "alexnet": alexnet,
    "vgg16": lambda: vgg(2, 2, 3, 3, 3),
    "vgg19": lambda: vgg(2, 2, 4, 4, 4),
    "resnet34": resnet34,
    "lstm": lstm,
}
