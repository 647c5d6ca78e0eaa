# SPDX-License-Identifier: Apache-2.0
"""The conversion of a float model to an int8 model by calibration images."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node

from eyrie.compiler.files import whole_file
from eyrie.compiler.frontend.extra import require
from eyrie.compiler.frontend.pytorch.names import names_of
from eyrie.compiler.frontend.pytorch.regions import whole
from eyrie.compiler.frontend.tflite.writer import written
from eyrie.compiler.ir.graph import Graph
from eyrie.model.errors import InputError
from eyrie.pytorch.tensors import array_of, fixed_tensors

AT_ONCE = 32  # images of a calibration step


def quantized(model: nn.Module, images: Tensor) -> nn.Module:
    """Return the int8 model of a float model, with the same inputs and outputs.

    `images` are [N, ...], as the model takes them. Scales are calibrated on their activations. Raise InputError, with
    one line, if `images` is empty.
    """
    from eyrie.pytorch.quantizer import EyrieQuantizer

    steps = require("torchao.quantization.pt2e.quantize_pt2e", "pytorch")
    if len(images) < 1:
        raise InputError("no images to calibrate with")
    model = model.eval()
    example = images[:2] if len(images) > 1 else torch.cat([images, images])
    with torch.no_grad():
        exported = torch.export.export(model, (example,), dynamic_shapes=({0: torch.export.Dim.AUTO},)).module()
        prepared = steps.prepare_pt2e(exported, EyrieQuantizer())
        for part in images.split(AT_ONCE):
            prepared(part)
        return steps.convert_pt2e(prepared)


def to_tflite(model: nn.Module, images: Tensor, path: str | Path) -> None:
    """Write a float model as int8 `.tflite`, whose inputs and outputs are int8; `images` are as in `quantized`.

    Raise InputError, with one line, if TensorFlow Lite does not have an operator.
    """
    contents = written(graph_of_model(quantized(model, images), images[:1]), type(model).__name__)
    with whole_file(path) as file:
        file.write(contents)


def graph_of_model(model: nn.Module, image: Tensor) -> Graph:
    """Return the Graph of a whole int8 model, with the names of the float model; `image` is [1, ...].

    Raise InputError, with one line, if an operator is unknown.
    """
    found: list[tuple[GraphModule, dict[Node, np.ndarray]]] = []

    def backend(module: GraphModule, inputs: list[Tensor]) -> Callable:
        found.append((module, {node: array_of(tensor) for node, tensor in fixed_tensors(module, inputs).items()}))
        return module.forward

    torch.compiler.reset()
    with torch.no_grad():
        torch.compile(model, backend=backend, fullgraph=True)(image)
    [(module, known)] = found
    return whole(module, known, names_of(model) if isinstance(model, GraphModule) else {})
