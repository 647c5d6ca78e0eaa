# SPDX-License-Identifier: Apache-2.0
"""LiteRT's interpreter with the external delegate."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from eyrie.litert import delegate
from eyrie.litert.external import library
from eyrie.model.errors import InputError
from eyrie.model.interpreters import run
from eyrie.model.operators.reference import Reference
from eyrie.testing.tflite_builder import Builder
from tests.commands.small_nets import separable
from tests.compiler.streaming_nets import FRAME, streaming


def delegated(path: Path, **options: object) -> Interpreter:
    interpreter = Interpreter(str(path), experimental_delegates=[delegate(path, **options)])
    interpreter.allocate_tensors()
    return interpreter


def outputs(interpreter: Interpreter, values: np.ndarray) -> np.ndarray:
    [source], [made] = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(source["index"], values)
    interpreter.invoke()
    return interpreter.get_tensor(made["index"])


@pytest.fixture
def net(tmp_path: Path, seed: int) -> Path:
    path = tmp_path / "net.tflite"
    path.write_bytes(separable(np.random.default_rng(seed)))
    return path


@pytest.mark.parametrize(
    "options", [{"back_end": "functional"}, {"back_end": "c"}, {"back_end": "golden", "config": {"rows": 3, "cols": 4}}]
)
def test_outputs(net: Path, seed: int, options: dict) -> None:
    """The back end runs all nodes: LiteRT's own kernels would round differently."""
    rng = np.random.default_rng(seed + 1)
    ours = delegated(net, **options)
    theirs = Interpreter(str(net), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    theirs.allocate_tensors()
    assert [each["op_name"] for each in ours._get_ops_details()][-1] == "DELEGATE"
    for values in rng.integers(-128, 128, (4, 1, 8, 8, 3)).astype(np.int8):
        assert (outputs(ours, values) == outputs(theirs, values)).all()


def test_variables(seed: int, tmp_path: Path) -> None:
    """Each delegate keeps the values of its own. The model has a second graph, which gives them their start values."""
    rng = np.random.default_rng(seed)
    model = streaming(rng)
    (tmp_path / "net.tflite").write_bytes(model)
    frames = rng.integers(-128, 128, (4, *FRAME)).astype(np.int8)
    wanted = [made[0] for made in run(Reference.MICRO, model, [[frame] for frame in frames])]
    both = [delegated(tmp_path / "net.tflite", back_end="golden") for _ in range(2)]
    for frame, expected in zip(frames, wanted, strict=True):
        for interpreter in both:
            assert (outputs(interpreter, frame) == expected).all()


def test_no_outputs(tmp_path: Path) -> None:
    """Each invocation waits for the server."""
    net = Builder()
    source, made = net.tensor((1, 4)), net.tensor((1, 4))
    net.operator("RELU", [source], [made])
    (tmp_path / "net.tflite").write_bytes(net.pack([source], []))
    interpreter = delegated(tmp_path / "net.tflite", back_end="golden")
    for _ in range(2000):
        interpreter.invoke()


def test_a_forked_process(net: Path) -> None:
    interpreter, values = delegated(net, back_end="golden"), np.zeros((1, 8, 8, 3), np.int8)
    wanted = outputs(interpreter, values)
    if (child := os.fork()) == 0:
        try:
            outputs(interpreter, values)
        except RuntimeError as error:
            os._exit(0 if "was forked: make a delegate in each process" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert (outputs(interpreter, values) == wanted).all()


def test_rejected(net: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown back end 'nosuch'"):
        delegate(net, back_end="nosuch")
    with pytest.raises(InputError, match="nosuch.tflite: "):
        delegate(tmp_path / "nosuch.tflite", back_end="golden")
    with pytest.raises(InputError, match="rows"):
        delegate(net, config={"rows": 0})
    other = tmp_path / "other.tflite"
    other.write_bytes(streaming(np.random.default_rng(1)))
    with pytest.raises(RuntimeError, match="option model: another model"):
        Interpreter(str(net), experimental_delegates=[delegate(other, back_end="golden")])
    other.write_bytes(separable(np.random.default_rng(2**40)))  # another one of the same structure
    with pytest.raises(RuntimeError, match="option model: another model"):
        Interpreter(str(net), experimental_delegates=[delegate(other, back_end="golden")])
    once = delegate(net, back_end="golden")
    first = Interpreter(str(net), experimental_delegates=[once])
    for path in (net, other):
        with pytest.raises(RuntimeError, match="a delegate is for one interpreter"):
            Interpreter(str(path), experimental_delegates=[once])
    first.resize_tensor_input(first.get_input_details()[0]["index"], (2, 8, 8, 3))
    with pytest.raises(RuntimeError, match=r"input .* was resized"):
        first.allocate_tensors()


def test_options_of_other_programs(net: Path) -> None:
    """A program that loads the library itself gets its errors from the library."""
    from ai_edge_litert.interpreter import load_delegate

    for options, message in (
        ({}, "give the option model"),
        ({"model": net, "nosuch": 1}, "choose options from model, back_end, config and python"),
        ({"model": net, "python": "nosuch"}, "option python: nosuch: No such file"),
        ({"model": net, "config": "{", "python": sys.executable}, "option config: is no JSON"),
        ({"model": net, "python": "true"}, "the process of eyrie.litert.server has ended"),
    ):
        with pytest.raises(ValueError, match=message):
            load_delegate(str(library()), options)


def test_a_killed_server(net: Path) -> None:
    interpreter = delegated(net, back_end="golden")
    [server] = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if os.fsencode(net) in _read(path) and b"eyrie.litert.server" in _read(path)
    ]
    os.kill(server, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"eyrie.litert.server has ended"):
        outputs(interpreter, np.zeros((1, 8, 8, 3), np.int8))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # the process has ended
