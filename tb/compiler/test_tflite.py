# SPDX-License-Identifier: Apache-2.0
"""The importer: what it refuses, and how it says so."""

from collections.abc import Callable
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from compiler.frontend import tflite
from compiler.frontend.file import ImportFailure
from tb.compiler.test_groups import Net
from tb.scripts.small_nets import separable


def change(model: bytes, edit: Callable[[schema.ModelT], None]) -> bytes:
    parsed = schema.ModelT.InitFromPackedBuf(model, 0)
    edit(parsed)
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(parsed.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def tensor(model: schema.ModelT, operator: int, end: str = "inputs", number: int = 0) -> schema.TensorT:
    graph = model.subgraphs[0]
    return graph.tensors[getattr(graph.operators[operator], end)[number]]


def set_shape(operator: int, end: str, shape: list[int]) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(tensor(model, operator, end), "shape", shape)


def set_scale(value: float) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(tensor(model, 0).quantization, "scale", [value])


def set_option(operator: int, name: str, value: int) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(model.subgraphs[0].operators[operator].builtinOptions, name, value)


def drop_options(model: schema.ModelT) -> None:
    model.subgraphs[0].operators[2].builtinOptions = None


def shorten_filters(model: schema.ModelT) -> None:
    buffer = model.buffers[tensor(model, 0, "inputs", 1).buffer]
    buffer.data = buffer.data[:-4]


# Of the small separable network: conv, pad, depthwise, pointwise, average, logits.
EDITS: dict[str, tuple[Callable[[schema.ModelT], None], str]] = {
    "rank": (set_shape(0, "inputs", [1, 2, 8, 8, 3]),
             "operator #0: tensor image is 1 x 2 x 8 x 8 x 3, must be 1 x H x W x C"),
    "wide": (set_shape(0, "inputs", [1, 8, 4096, 3]),
             "operator #0: tensor image is 1 x 8 x 4096 x 3, must be 1 x H x W x C, at most 1 x 4095 x "),
    "channels": (set_shape(0, "inputs", [1, 8, 8, 4]),
                 "operator #0: filters of 16 x 3 x 3 x 3 do not go with a map of 8 x 8 x 4 and one of "),
    "map": (set_shape(0, "outputs", [1, 4, 4, 16]), "operator #0: makes a map of 8 x 8, its output is 4 x 4"),
    "scale": (set_scale(float("nan")), "operator #0: a scale is positive and finite, got nan"),
    "stride": (set_option(0, "strideW", 2), "operator #0: strides 1 and 2 differ"),
    "dilation": (set_option(0, "dilationWFactor", 2), "operator #0: dilation is not supported"),
    "no options": (drop_options,
                   "damaged TensorFlow Lite file: operator #2 DEPTHWISE_CONV_2D lacks a part or has one"),
    "short constant": (shorten_filters, "operator #0: a constant of 16 x 3 x 3 x 3 has 428 bytes, needs 432"),
    "two graphs": (lambda model: model.subgraphs.append(model.subgraphs[0]), "2 subgraphs, one is supported"),
}


@pytest.mark.parametrize("what", EDITS)
def test_refused(what: str, seed: int, tmp_path: Path) -> None:
    edit, message = EDITS[what]
    path = tmp_path / "net.tflite"
    path.write_bytes(change(separable(np.random.default_rng(seed)), edit))
    with pytest.raises(ImportFailure) as caught:
        tflite.load(path)
    assert str(caught.value).startswith(f"{path}: {message}"), caught.value
    assert "\n" not in str(caught.value)


def test_batch_refused(seed: int, tmp_path: Path) -> None:
    path = Net(seed, (4, 6, 8, 8)).conv("c", 3).write(tmp_path)
    with pytest.raises(ImportFailure) as caught:
        tflite.load(path)
    assert str(caught.value) == (f"{path}: operator #0: tensor image is 4 x 6 x 8 x 8, a batch of 4: "
                                 "convert the model with a batch of 1")


def test_names_print_in_one_line(seed: int, tmp_path: Path) -> None:
    path = Net(seed).conv("two\nlines", 3).write(tmp_path)
    assert tflite.load(path).output.name == "two?lines"
