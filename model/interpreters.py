# SPDX-License-Identifier: Apache-2.0
"""The interpreters of models: LiteRT and tflite-micro with their reference kernels, onnxruntime for ONNX.

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
from typing import NamedTuple, Protocol, TypeVar

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


class End(NamedTuple):
    """Type and shape of an output. dtype: by NumPy's name; shape: None if it is known after a run only"""

    dtype: str
    shape: Shape | None


class Interpreter(Protocol):
    """A model in an interpreter."""

    def __init__(self, model: bytes, ends: Ends | None = None) -> None: ...

    def outputs(self) -> list[End]: ...

    def run(self, inputs: Values) -> list[np.ndarray]: ...


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

    def outputs(self) -> list[End]:
        types = {each["index"]: np.dtype(each["dtype"]).name for each in self._interpreter.get_tensor_details()}
        return [End(types[index], self._shape(index)) for index in self._read]

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

    def outputs(self) -> list[End]:
        details = map(self._interpreter.get_output_details, self._outputs)
        return [End(np.dtype(each["dtype"]).name, tuple(each["shape"])) for each in details]

    def run(self, inputs: Values) -> list[np.ndarray]:
        for number, value in enumerate(inputs):
            self._interpreter.set_input(value, number)
        self._interpreter.invoke()
        return [np.array(self._interpreter.get_output(number)) for number in self._outputs]


_ONNX_TYPES = {"float": "float32", "double": "float64"}  # others have NumPy's names


class OnnxRuntime:
    """An ONNX model in onnxruntime, on one core and without changes to its graph: results do not depend on the
    number of cores."""

    def __init__(self, model: bytes, ends: Ends | None = None) -> None:
        with _of_onnxruntime():
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.intra_op_num_threads = 1
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._inputs = [each.name for each in self._session.get_inputs()]

    def outputs(self) -> list[End]:
        found = []
        for each in self._session.get_outputs():
            kind = re.sub(r"^tensor\((.*)\)$", r"\1", each.type)
            sized = all(isinstance(size, int) for size in each.shape)
            found.append(End(_ONNX_TYPES.get(kind, kind), tuple(each.shape) if sized else None))
        return found

    def run(self, inputs: Values) -> list[np.ndarray]:
        with _of_onnxruntime():
            given = dict(zip(self._inputs, map(np.asarray, inputs), strict=True))
            return [np.asarray(each) for each in self._session.run(None, given)]


@contextmanager
def _of_onnxruntime() -> Iterator[None]:
    """Turn the errors of onnxruntime, which have no common class, into RuntimeError."""
    try:
        yield
    except Exception as error:
        raise RuntimeError(re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error))) from error


ONNXRUNTIME = "onnxruntime"
INTERPRETERS: dict[str, type[Interpreter]] = {
    Reference.LITERT: Litert,
    Reference.MICRO: Micro,
    ONNXRUNTIME: OnnxRuntime,
}


def run(name: str, model: bytes, runs: Sequence[Values], ends: Ends | None = None) -> list[list[np.ndarray]]:
    """Return the outputs of each of `runs`, one after the other in one interpreter of INTERPRETERS. Raise Rejected."""
    with _rejecting():
        interpreter = INTERPRETERS[name](model, ends)
        return [interpreter.run(inputs) for inputs in runs]


def outputs(name: str, model: bytes, ends: Ends | None = None) -> list[End]:
    """Return types and shapes of a model's outputs. Raise Rejected."""
    with _rejecting():
        return INTERPRETERS[name](model, ends).outputs()


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
    """The functions `run` and `outputs` in another process. Any number of threads may call them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: Popen[bytes] | None = None

    def forget(self) -> None:
        """Take no notice of the process: after a fork, it is the parent's."""
        self._lock, self._process = Lock(), None

    def run(self, name: str, model: bytes, runs: Sequence[Values], ends: Ends | None = None) -> list[list[np.ndarray]]:
        return self._result(run, name, model, runs, ends)

    def outputs(self, name: str, model: bytes, ends: Ends | None = None) -> list[End]:
        return self._result(outputs, name, model, ends)

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
