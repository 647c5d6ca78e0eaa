# SPDX-License-Identifier: Apache-2.0
"""One operator of a file as a model of its own, for an interpreter."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.compiler.frontend.tflite.reader import Reader

CALLERS = ("CALL", "IF", "WHILE")  # their options name other subgraphs


@dataclass(frozen=True)
class Cut:
    """A model of one operator. Its tensors have numbers in it.

    taken, made  its inputs and outputs; kept: its variables
    sources      the tensors of the file, by number
    """

    data: bytes
    taken: tuple[int, ...]
    made: tuple[int, ...]
    kept: tuple[int, ...]
    sources: tuple[int, ...]


def cut(reader: Reader, operator: schema.OperatorT, name: str) -> Cut:
    """Return the model of an operator."""
    model = reader.model
    whole = name in CALLERS
    buffers = list(model.buffers) if whole else [schema.BufferT()]
    numbers: dict[int, int] = {-1: -1}
    tensors: list[schema.TensorT] = []
    sources = _once(operator.inputs, operator.outputs, operator.intermediates)
    for index in sources:
        numbers[index] = len(tensors)
        tensors.append(_copied(reader, index, buffers))
    alone = copy.copy(operator)
    for side in ("inputs", "outputs", "intermediates"):
        if (listed := getattr(operator, side)) is not None:
            setattr(alone, side, [numbers[int(index)] for index in listed])
    made, main = schema.ModelT(), schema.SubGraphT()
    alone.opcodeIndex = operator.opcodeIndex if whole else 0
    made.operatorCodes = model.operatorCodes if whole else [model.operatorCodes[operator.opcodeIndex]]
    main.name, main.tensors, main.operators = "main", tensors, [alone]
    taken = _once(alone.inputs)
    kept = [number for number in taken if tensors[number].isVariable]
    main.inputs = [number for number in taken if number not in kept and buffers[tensors[number].buffer].data is None]
    main.outputs = _once(alone.outputs)
    made.version, made.subgraphs, made.buffers = model.version, [main, *(model.subgraphs[1:] if whole else [])], buffers
    return Cut(packed(made), tuple(main.inputs), tuple(main.outputs), tuple(kept), tuple(sources))


def _once(*sides: Iterable[int] | None) -> list[int]:
    """Return the indices that are a tensor's, each once."""
    indices = [int(index) for side in sides if side is not None for index in side]
    return [index for index in dict.fromkeys(indices) if index >= 0]


def _copied(reader: Reader, index: int, buffers: list[schema.BufferT]) -> schema.TensorT:
    """Return a tensor whose constant is in `buffers`."""
    made = copy.copy(reader.raw(index))
    data = reader.data(index)
    if index in reader.known:
        data = np.frombuffer(np.ascontiguousarray(reader.known[index]).tobytes(), np.uint8)
    if index in reader.corrected:
        made.shape, made.shapeSignature = list(reader.corrected[index]), None
    made.buffer = 0
    if len(data):
        made.buffer = len(buffers)
        buffers.append(schema.BufferT())
        buffers[-1].data = data
    return made
