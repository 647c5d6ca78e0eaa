# SPDX-License-Identifier: Apache-2.0
"""Two independent ways to run a .tflite model with TensorFlow Lite's reference kernels.

Both take model bytes and inputs, return all outputs, and raise Rejected for a model that they do not run.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from eyrie.model.operators.reference import Reference

MICRO_ARENA_BYTES = 1 << 26  # for maps of 4 Mi values; unused bytes take no memory


class Rejected(Exception):
    """The reference does not run a model; the message is its reason, in one line."""


def run_litert(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Run LiteRT's reference kernels (never XNNPACK, which rounds otherwise)."""
    try:
        interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        interpreter.allocate_tensors()
        for details, value in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(details["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]
    except (RuntimeError, ValueError) as error:
        raise Rejected(str(error).splitlines()[0]) from error


def run_micro(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Run TensorFlow Lite Micro's reference kernels."""
    from tflite_micro.python.tflite_micro import runtime

    try:
        interpreter = runtime.Interpreter.from_bytes(model, arena_size=MICRO_ARENA_BYTES)
        for index, value in enumerate(inputs):
            interpreter.set_input(value, index)
        interpreter.invoke()
        outputs = schema.Model.GetRootAs(model).Subgraphs(0).OutputsLength()
        return [np.array(interpreter.get_output(index)) for index in range(outputs)]
    except (RuntimeError, ValueError) as error:
        raise Rejected(str(error).splitlines()[0]) from error


RUN = {Reference.LITERT: run_litert, Reference.MICRO: run_micro}


def run_apart(reference: Reference, model: bytes, runs: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """Return the outputs for each of `runs`, which are tuples of inputs.

    The reference runs in a process of its own, because it can end its process.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(_run_all, reference, model, runs).result()
        except BrokenProcessPool as error:
            raise Rejected("it ended its process") from error


def _run_all(reference: Reference, model: bytes, runs: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    return [RUN[reference](model, *inputs) for inputs in runs]
