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
from eyrie.compiler.frontend.pytorch.aliases import changed_in_place, reject_changes
from eyrie.compiler.frontend.pytorch.names import names_of
from eyrie.compiler.frontend.pytorch.operators import is_idle
from eyrie.compiler.frontend.pytorch.whole import whole
from eyrie.compiler.frontend.tflite.writer import written
from eyrie.compiler.ir.graph import Graph
from eyrie.model.errors import InputError
from eyrie.pytorch.tensors import arrays_of, fixed_tensors

AT_ONCE = 32  # images of a calibration step


def quantized(model: nn.Module, images: Tensor) -> GraphModule:
    """Return the int8 model of a float model, with the same inputs and outputs.

    `images` are [N, ...], as the model takes them. Scales are calibrated on their activations. Raise InputError, with
    one line, without images, or if the model changes a value in place that it reads
    again, or that stays for the next run.
    """
    from eyrie.pytorch.quantizer import EyrieQuantizer

    steps = require("torchao.quantization.pt2e.quantize_pt2e", "pytorch")
    _check(images)
    with torch.no_grad():
        exported = _exported(model, images[:2] if len(images) > 1 else torch.cat([images, images]))
        reject_changes(changed_in_place(exported.graph), names_of(exported))
        prepared = steps.prepare_pt2e(exported, EyrieQuantizer())
        for part in images.split(AT_ONCE):
            prepared(part)
        return steps.convert_pt2e(prepared)


def _exported(model: nn.Module, images: Tensor) -> GraphModule:
    """Return the graph of a model in evaluation, for any number of images. The model keeps its mode."""
    modes = {module: module.training for module in model.modules()}
    try:
        return torch.export.export(model.eval(), (images,), dynamic_shapes=({0: torch.export.Dim.AUTO},)).module()
    finally:
        for module, mode in modes.items():
            module.training = mode


def _check(images: Tensor) -> None:
    """Raise InputError unless these are images to calibrate with."""
    if not isinstance(images, Tensor):
        raise InputError(f"the images are {type(images).__name__}: give a tensor [N, ...]")
    if images.dim() < 1 or len(images) < 1:
        raise InputError("no images to calibrate with")
    if images.dtype != torch.float32:
        raise InputError(f"the images are {images.dtype}: give float32, and a model of float32")
    if not images.isfinite().all():
        raise InputError("the images have values that are not finite: leave them out")


def to_tflite(model: nn.Module, images: Tensor, path: str | Path) -> None:
    """Write a float model as int8 `.tflite`, whose inputs and outputs are int8; `images` are as in `quantized`.

    Raise InputError, with one line, if TensorFlow Lite does not have an operator.
    """
    int8 = quantized(model, images)
    _check_outputs(int8)
    contents = written(graph_of_model(int8, images[:1]), type(model).__name__)
    with whole_file(path) as file:
        file.write(contents)


def _check_outputs(int8: GraphModule) -> None:
    """Raise InputError unless each output is the result of an operator on the input, and is returned once."""
    [end] = int8.graph.find_nodes(op="output")
    moving = set(int8.graph.find_nodes(op="placeholder"))
    for node in int8.graph.nodes:
        moving |= {node} if moving.intersection(node.all_input_nodes) else set()
    seen: list[object] = []
    for number, output in enumerate(torch.utils._pytree.tree_leaves(end.args[0])):
        while isinstance(output, Node) and is_idle(output):
            output = output.all_input_nodes[0]
        what = "an input" if isinstance(output, Node) and output.op == "placeholder" else ""
        what = what or "returned twice" * (output in seen) or "a constant" * (output not in moving)
        if what:
            raise InputError(f"output {number} of the model is {what}: return results of operators, each once")
        seen.append(output)


def graph_of_model(model: nn.Module, image: Tensor) -> Graph:
    """Return the Graph of a whole int8 model, with the names of the float model; `image` is [1, ...].

    Raise InputError, with one line, if an operator is unknown.
    """
    found: list[tuple[GraphModule, dict[Node, np.ndarray]]] = []

    def backend(module: GraphModule, inputs: list[Tensor]) -> Callable:
        found.append((module, arrays_of(fixed_tensors(module, inputs))))
        return module.forward

    torch.compiler.reset()
    with torch.no_grad():
        torch.compile(model, backend=backend, fullgraph=True)(image)
    [(module, known)] = found
    return whole(module, known, names_of(model) if isinstance(model, GraphModule) else {})
