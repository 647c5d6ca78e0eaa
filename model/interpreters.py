# SPDX-License-Identifier: Apache-2.0
"""The two interpreters of `.tflite` models: LiteRT and tflite-micro, with their reference kernels.

`run_litert` and `run_micro` take model bytes and inputs, and return all outputs. `Apart` runs them in another process,
because a model can end the process of its interpreter. All raise Rejected for a model that an interpreter does not run.
"""

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock
from typing import TypeVar

import numpy as np

from eyrie.model.errors import InputError
from eyrie.model.operators.reference import Reference

MICRO_ARENA_BYTES = 1 << 26  # for maps of 4 Mi values; unused bytes take no memory
Result = TypeVar("Result")
Shape = tuple[int, ...]
Values = Sequence[np.ndarray]
Ends = tuple[Sequence[int], Sequence[int]]  # the tensors, by number, that are set before a run and read after it


class Rejected(InputError):
    """An interpreter does not run a model; the message is its reason, in one line."""


class Litert:
    """A model in LiteRT with its reference kernels (never XNNPACK, which rounds otherwise).

    ends: the model's inputs and outputs by default; variables may be among them, too
    """

    def __init__(self, model: bytes, ends: Ends | None = None) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self._interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        self._interpreter.allocate_tensors()
        details = self._interpreter.get_input_details(), self._interpreter.get_output_details()
        both = ends or tuple([each["index"] for each in side] for side in details)
        self._set, self._read = both[0], both[1]

    def shapes(self) -> list[Shape | None]:
        """Return the shapes of the outputs, None for one that is known after a run only."""
        return [self._shape(index) for index in self._read]

    def _shape(self, index: int) -> Shape | None:
        try:
            return self._interpreter.get_tensor(index).shape
        except ValueError:  # it has no memory yet
            return None

    def run(self, inputs: Values) -> list[np.ndarray]:
        for index, value in zip(self._set, inputs, strict=True):
            self._interpreter.set_tensor(index, value)
        self._interpreter.invoke()
        return [np.asarray(self._interpreter.get_tensor(index)) for index in self._read]


class Micro:
    """A model in tflite-micro. It gives access to the model's inputs and outputs only."""

    def __init__(self, model: bytes, ends: Ends | None = None) -> None:
        from ai_edge_litert import schema_py_generated as schema
        from tflite_micro.python.tflite_micro import runtime

        self._interpreter = runtime.Interpreter.from_bytes(model, arena_size=MICRO_ARENA_BYTES)
        self._outputs = range(schema.Model.GetRootAs(model).Subgraphs(0).OutputsLength())

    def shapes(self) -> list[Shape | None]:
        return [tuple(self._interpreter.get_output_details(number)["shape"]) for number in self._outputs]

    def run(self, inputs: Values) -> list[np.ndarray]:
        for number, value in enumerate(inputs):
            self._interpreter.set_input(value, number)
        self._interpreter.invoke()
        return [np.array(self._interpreter.get_output(number)) for number in self._outputs]


INTERPRETERS: dict[Reference, type[Litert] | type[Micro]] = {Reference.LITERT: Litert, Reference.MICRO: Micro}


def run(reference: Reference, model: bytes, runs: Sequence[Values], ends: Ends | None = None) -> list[list[np.ndarray]]:
    """Return the outputs of each of `runs`, one after the other in one interpreter. Raise Rejected."""
    with _rejecting():
        interpreter = INTERPRETERS[reference](model, ends)
        return [interpreter.run(inputs) for inputs in runs]


def shapes(reference: Reference, model: bytes, ends: Ends | None = None) -> list[Shape | None]:
    """Return the shapes of a model's outputs, None for those that are known after a run only. Raise Rejected."""
    with _rejecting():
        return INTERPRETERS[reference](model, ends).shapes()


@contextmanager
def _rejecting() -> Iterator[None]:
    """Turn an error of an interpreter into Rejected, with its reason in one line, without the interpreter's places."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise Rejected(re.sub(r"^\S+\.cc:\d+ |\.?Node number \d+ .*", "", line).strip()) from error


def run_litert(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    return run(Reference.LITERT, model, [inputs])[0]


def run_micro(model: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    return run(Reference.MICRO, model, [inputs])[0]


RUN = {Reference.LITERT: run_litert, Reference.MICRO: run_micro}


# ---- In another process ----


class Apart:
    """The functions `run` and `shapes` in another process. Any number of threads may call them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: Popen[bytes] | None = None

    def forget(self) -> None:
        """Take no notice of the process: after a fork, it is the parent's."""
        self._lock, self._process = Lock(), None

    def run(
        self, reference: Reference, model: bytes, runs: Sequence[Values], ends: Ends | None = None
    ) -> list[list[np.ndarray]]:
        return self._result(run, reference, model, runs, ends)

    def shapes(self, reference: Reference, model: bytes, ends: Ends | None = None) -> list[Shape | None]:
        return self._result(shapes, reference, model, ends)

    def _result(self, function: Callable[..., Result], *arguments: object) -> Result:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = _started()
            to, back = self._process.stdin, self._process.stdout
            assert to and back
            try:
                pickle.dump((function, arguments), to)
                to.flush()
                answer = pickle.load(back)
            except (EOFError, OSError, pickle.UnpicklingError) as error:
                self._process.kill()
                self._process.wait()
                raise Rejected("it ended its process") from error
        if isinstance(answer, Rejected):
            raise answer
        return answer


APART = Apart()
os.register_at_fork(after_in_child=APART.forget)


def _started() -> "Popen[bytes]":
    """Start a process that has this one's search path, without the folder in which it runs."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment,
    )


def serve() -> None:
    """Answer requests until there are no more. Interpreters may print, so that standard output is not theirs."""
    back = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = function(*arguments)
        except Rejected as rejection:
            answer = rejection
        pickle.dump(answer, back)
        back.flush()
