# SPDX-License-Identifier: Apache-2.0
"""The layers of `eyrie operators`, and the measurement of each."""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.operators.pooling import Pool
from eyrie.compiler.operators.weights import Weighted
from eyrie.compiler.operators.windows import window_output
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, WORD_CHANNELS, AcceleratorConfig
from eyrie.operators import (
    ConvolutionDescriptor,
    FilterDescriptor,
    Handle,
    NormalizationDescriptor,
    PoolingDescriptor,
    TensorDescriptor,
    graphs,
)
from eyrie.operators.descriptors import FilterSetting, TensorSetting
from eyrie.runtime import progress
from eyrie.runtime.programs import compiled_operator

SEED = 1
SCALE, FILTER_SCALE, OUTPUT_SCALE = 0.02, 0.005, 0.1
NORMALIZATION = NormalizationDescriptor(radius=2, alpha=1e-4, beta=0.75, k=2.0)  # AlexNet's
WORD_VALUES = 2 * WORD_CHANNELS  # of a GLB word


@dataclass(frozen=True)
class Layer:
    """A layer. kind: convolution, pooling (maxima), fully_connected or normalization; size: of a map's side;
    channels in and out."""

    name: str
    kind: str
    size: int
    channels: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    pad: int = 0

    @property
    def input(self) -> TensorSetting:
        return TensorSetting(1, self.size, self.size, self.channels, SCALE)

    @property
    def output(self) -> TensorSetting:
        size, _ = window_output((self.size,) * 2, (self.kernel,) * 2, (self.stride,) * 2, (self.pad,) * 4)
        return TensorSetting(1, size, size, self.outputs, SCALE if self.kind == "pooling" else OUTPUT_SCALE)

    @property
    def filters(self) -> FilterSetting:
        return FilterSetting(self.outputs, self.kernel, self.kernel, self.channels, (FILTER_SCALE,))

    def graph(self, weights: np.ndarray) -> Graph:
        bias = np.zeros(self.outputs, np.int32)
        if self.kind == "convolution":
            operator = graphs.convolution(self.convolution.get(), self.input, self.filters, weights, bias)
        elif self.kind == "fully_connected":
            operator = graphs.fully_connected(self.filters, weights, bias)
        elif self.kind == "pooling":
            operator = graphs.pooling(self.pooling.get())
        else:
            operator = graphs.local_response_normalization(NORMALIZATION.get())
        return graphs.graph_of(operator, (self.input,), self.output)

    @property
    def convolution(self) -> ConvolutionDescriptor:
        return ConvolutionDescriptor(stride=(self.stride,) * 2, pads=(self.pad,) * 4)

    @property
    def pooling(self) -> PoolingDescriptor:
        return PoolingDescriptor("max", (self.kernel,) * 2, stride=(self.stride,) * 2, pads=(self.pad,) * 4)


# Tables 3.5 (names with a capital) and 4.6 of DLPlib.
LAYERS = (
    Layer("Pool1", "pooling", 55, 96, 96, 3, 2),
    Layer("Pool2", "pooling", 224, 64, 64, 2, 2),
    Layer("LRN", "normalization", 55, 96, 96),
    Layer("lrn", "normalization", 27, 256, 256),
    Layer("FC2", "fully_connected", 1, 4096, 1000),
    Layer("FC1", "fully_connected", 1, 4096, 4096),
    Layer("conv1", "convolution", 7, 512, 2048),
    Layer("conv3", "convolution", 13, 256, 384, 3, pad=1),
    Layer("conv2", "convolution", 14, 512, 512, 3, pad=1),
    Layer("Conv2", "convolution", 112, 96, 256, 3, pad=1),
    Layer("Conv1", "convolution", 112, 96, 384, 3, pad=1),
)


@dataclass(frozen=True)
class Measured:
    """The measurement of a layer.

    cycles: counted by the accelerator; clocked: from the first register write to the end of the stream; match: True if
    the output equals the golden model's; None if the layer did not run.
    """

    name: str
    bounds: dict[str, int]
    predicted: int
    cycles: int | None = None
    clocked: int | None = None
    match: bool | None = None

    @property
    def summary(self) -> dict:
        """Return the entry in summary.json."""
        bound = max(self.bounds, key=lambda name: self.bounds[name])
        took = self.clocked or self.predicted
        return {
            "name": self.name,
            "roofline_cycles": self.bounds[bound],
            "bound": bound,
            "predicted_cycles": self.predicted,
            "cycles": self.cycles,
            "clocked_cycles": self.clocked,
            "match": self.match,
            "compiled_share": round(self.cycles / took, 4) if self.cycles else None,
            "roofline_share": round(self.bounds[bound] / took, 4),
        }


def bounds_of(graph: Graph, config: AcceleratorConfig = DEFAULT) -> dict[str, int]:
    """Return lower bounds of the cycles of a single layer.

    The bounds are by its MACs, by the DRAM port (weights, quantisation parameters and feature maps), and by the words
    of an elementwise operation (one word of each operand a cycle, two words of a window).
    """
    [node] = graph.nodes
    constants = (
        sum(array.nbytes for array in (node.operator.filters, node.operator.bias))
        if isinstance(node.operator, Weighted)
        else 0
    )
    maps = sum(prod(tensor.shape) for tensor in (*graph.inputs, *graph.outputs))
    words = 0 if isinstance(node.operator, Weighted) else node.elements / WORD_VALUES
    words /= 2 if isinstance(node.operator, Pool) else 1
    cycles = {
        "multipliers": node.macs / config.total_multipliers,
        "DRAM": (constants + maps) / (GLB_WORD_BYTES * config.bus_words),
        "words": words,
    }
    return {name: round(value) for name, value in cycles.items()}


def measured(layer: Layer, most_cycles: int) -> Measured:
    """Predict a layer on random values; run it if the prediction is at most `most_cycles`."""
    rng = np.random.default_rng(SEED)
    values = rng.integers(-128, 128, layer.input.shape).astype(np.int8)
    weights = rng.integers(-127, 128, layer.filters.shape).astype(np.int8)
    graph = layer.graph(weights)
    predicted, bounds = _predicted(compiled_operator(graph, graph.nodes[0].operator.name.lower())), bounds_of(graph)
    if predicted > most_cycles:
        return Measured(layer.name, bounds, predicted)
    with progress.task(f"simulating {layer.name}"), Handle() as handle:
        made = _run(handle, layer, values, weights)
        [ran] = handle.stream.ran
    golden = graph.run(values)[graph.output.name].reshape(made.shape)
    return Measured(
        layer.name, bounds, _predicted(ran.folder), ran.cycles, ran.clocked, bool(np.array_equal(made, golden))
    )


def _predicted(folder: Path) -> int:
    return json.loads((folder / "summary.json").read_text())["cycles"]


def _run(handle: Handle, layer: Layer, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Run the layer and return the output; the stream of the handle knows the operators that ran."""
    descriptors = [TensorDescriptor(*of.shape, of.scale) for of in (layer.input, layer.output)]
    source, output = [(of, handle.malloc(of.get().bytes)) for of in descriptors]
    handle.copy_to(source[1], values, source[0])
    if layer.kind == "pooling":
        handle.pooling(layer.pooling, source, output)
    elif layer.kind == "normalization":
        handle.local_response_normalization(NORMALIZATION, source, output)
    else:
        descriptor = FilterDescriptor(*layer.filters.shape, layer.filters.scales)
        filters = descriptor, handle.malloc(layer.filters.bytes)
        handle.copy_to(filters[1], weights, descriptor)
        if layer.kind == "convolution":
            handle.convolution(layer.convolution, source, filters, None, output)
        else:
            handle.fully_connected(source, filters, None, output)
    return handle.copy_from(output[1], output[0])
