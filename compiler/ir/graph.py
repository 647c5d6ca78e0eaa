# SPDX-License-Identifier: Apache-2.0
"""The network as imported: tensors and operators, in an order in which they can be executed."""

from dataclasses import dataclass, field

import numpy as np

from model.operators import convolution, movement, pooling
from model.operators.quantization import Quantization, Requantization


@dataclass(frozen=True)
class Tensor:
    """An activation: shape [H, W, C] of one image, int8, quantised per tensor."""

    name: str
    shape: tuple[int, int, int]
    quantization: Quantization

    @property
    def zero_point(self) -> int:
        return self.quantization.zero_point


@dataclass(frozen=True)
class Node:
    """One operator.

    op       conv2d, depthwise_conv2d, fully_connected, average_pool2d, max_pool2d, add or pad
    where    its place in the model, for messages
    filters  int8, TFLite's layout: [M, R, S, C], [R, S, C] (depthwise) or [M, C] (fully connected)
    bias     int32 [M], not folded
    kernel   rows, columns; pads: top, bottom, left, right
    limits   multiplier, shift, zero point and clamp of the result
    """

    op: str
    where: str
    inputs: tuple[Tensor, ...]
    output: Tensor
    filters: np.ndarray | None = None
    bias: np.ndarray | None = None
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    limits: Requantization | None = None


@dataclass(frozen=True)
class Graph:
    """A chain of operators from one input to one output."""

    nodes: tuple[Node, ...] = field(default=())

    @property
    def input(self) -> Tensor:
        return self.nodes[0].inputs[0]

    @property
    def output(self) -> Tensor:
        return self.nodes[-1].output

    def __str__(self) -> str:
        rows = (
            f"{node.where:4} {node.op:17} {_shape(node.inputs[0])} -> {_shape(node.output)}"
            f"  kernel {node.kernel[0]}x{node.kernel[1]} stride {node.stride} "
            f"pads {' '.join(map(str, node.pads))}"
            for node in self.nodes
        )
        return "\n".join(rows)

    def run(self, images: np.ndarray) -> dict[str, np.ndarray]:
        """All tensors by name, for int8 images [N, H, W, C]: the golden model of the network."""
        values = {self.input.name: images}
        for node in self.nodes:
            values[node.output.name] = execute(node, [values[tensor.name] for tensor in node.inputs])
        return values


def _shape(tensor: Tensor) -> str:
    return "x".join(str(n) for n in tensor.shape)


def execute(node: Node, inputs: list[np.ndarray]) -> np.ndarray:
    """One operator on int8 [N, H, W, C]."""
    x, zero_point = inputs[0], node.inputs[0].zero_point
    if node.op == "conv2d":
        return convolution.conv2d(x, node.filters, node.bias, zero_point, node.limits, node.stride, node.pads)
    if node.op == "depthwise_conv2d":
        return convolution.depthwise_conv2d(x, node.filters, node.bias, zero_point, node.limits, node.stride, node.pads)
    if node.op == "fully_connected":
        flat = x.reshape(len(x), -1)
        result = convolution.fully_connected(flat, node.filters, node.bias, zero_point, node.limits)
        return result[:, None, None, :]
    if node.op == "average_pool2d":
        return pooling.average_pool2d(x, node.kernel, node.stride, node.pads)
    if node.op == "pad":
        top, bottom, left, right = node.pads
        return movement.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), zero_point)
    raise ValueError(f"{node.where}: no golden model of {node.op}")
