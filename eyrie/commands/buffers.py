# SPDX-License-Identifier: Apache-2.0
"""Run a model on a memory hierarchy that a file describes: tiles, bytes and cycles of each operator.

    eyrie buffers MODEL [--hierarchy FILE] [--config FILE] [--double-buffering] [--run] [-o FILE]

The description is a file such as data/configurations/*.buffers; without one it is the hierarchy of Eyrie's own array.
docs/howto/buffers.md documents the format.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_file, write_all
from eyrie.compiler.frontend.file import load, read_model
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.runtime import progress

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.compiler.buffers.network import Compiled
    from eyrie.compiler.ir.graph import Graph

SEED = 1  # of the inputs of --run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="MODEL", help="int8 .tflite or .onnx model")
    parser.add_argument(
        "--hierarchy", type=file_name, metavar="FILE", help="description of a memory hierarchy (the array's)"
    )
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="JSON file with accelerator parameters of the array"
    )
    parser.add_argument(
        "--double-buffering", action="store_true", help="load a tile while the previous one is computed"
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="execute the tiles on random inputs, with all checks, and compare with the golden model",
    )
    parser.add_argument(
        "-o", "--output", type=file_name, metavar="FILE", help="file for the description of the hierarchy"
    )


def run(options: argparse.Namespace) -> int:
    if options.hierarchy and options.config:
        raise InputError("--config is for the array: leave out --hierarchy or --config")
    read_model(options.model)
    if options.output:
        check_file(options.output)
    from eyrie.compiler.buffers import description
    from eyrie.compiler.buffers.array import array_tree
    from eyrie.compiler.buffers.network import compiled

    tree = (
        description.load(options.hierarchy)
        if options.hierarchy
        else array_tree(AcceleratorConfig.load(options.config) if options.config else DEFAULT)
    )
    graph = load(options.model)
    with about(options.model):
        found = compiled(graph, tree, options.double_buffering)
    if options.output:
        write_all(options.output.parent, {options.output.name: description.text_of(tree).encode()})
    if not options.quiet:
        print(found)
    return _run(found, graph) if options.run else 0


def _run(found: Compiled, graph: Graph) -> int:
    """Run the tiles on random inputs; return 1 if an output differs from the golden model's."""
    import numpy as np

    from eyrie.model.operators.quantization import from_uint8
    from eyrie.runtime.inputs import random_inputs

    inputs = [from_uint8(value[0]) if value.dtype == np.uint8 else value[0] for value in random_inputs(graph, 1, SEED)]
    with progress.task("running"):
        made, golden = found.run(*inputs), graph.run(*inputs)
    same = all(np.array_equal(value, golden[tensor.name]) for tensor, value in zip(graph.outputs, made, strict=True))
    print("match" if same else "NO match: the outputs are not the golden model's")
    return not same
