# SPDX-License-Identifier: Apache-2.0
"""Programs that are written for LiteRT or onnxruntime run on Eyrie with one more line."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter as Litert

from eyrie.litert import Interpreter
from eyrie.model.errors import InputError
from eyrie.model.interpreters import run
from eyrie.model.operators.reference import Reference
from eyrie.onnxruntime import InferenceSession, NodeArg
from tests.commands.small_nets import separable
from tests.compiler.streaming_nets import FRAME, streaming

PROGRAM = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
{line}

interpreter = Interpreter(model_path=sys.argv[1], experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
interpreter.allocate_tensors()
[source], [made] = interpreter.get_input_details(), interpreter.get_output_details()
values = np.random.default_rng(1).integers(-128, 128, source["shape"]).astype(source["dtype"])
interpreter.set_tensor(source["index"], values)
interpreter.invoke()
print(interpreter.get_tensor(made["index"]).tolist(), type(interpreter).__module__)
"""


def test_a_program_for_litert(seed: int, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(separable(np.random.default_rng(seed)))
    said = []
    for line in (
        "",
        "from functools import partial; from eyrie.litert import Interpreter; "
        "Interpreter = partial(Interpreter, back_end='functional')",
    ):
        (tmp_path / "program.py").write_text(PROGRAM.format(line=line))
        command = [sys.executable, tmp_path / "program.py", tmp_path / "net.tflite"]
        said.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.rsplit(maxsplit=1))
    (wanted, theirs), (found, ours) = said
    assert found == wanted and (theirs, ours) == ("ai_edge_litert.interpreter", "eyrie.litert.interpreter")


def test_the_methods_of_litert(seed: int) -> None:
    """Details, views, signatures, other batches, variables and errors."""
    rng = np.random.default_rng(seed)
    model = separable(rng)
    ours, theirs = Interpreter(model_content=model, num_threads=2, back_end="functional"), Litert(model_content=model)
    theirs.allocate_tensors()
    for mine, other in (
        (ours.get_input_details(), theirs.get_input_details()),
        (ours.get_output_details(), theirs.get_output_details()),
    ):
        assert str(mine) == str(other)
    [source], [made] = ours.get_input_details(), ours.get_output_details()
    values = rng.integers(-128, 128, (3, *source["shape"][1:])).astype(np.int8)
    wanted = np.concatenate(
        [outputs[0] for outputs in run(Reference.MICRO, model, [[value[None]] for value in values])]
    )
    ours.tensor(source["index"])()[...] = values[:1]
    ours.invoke()
    assert (ours.get_tensor(made["index"]) == wanted[:1]).all()
    ours.resize_tensor_input(source["index"], values.shape)
    ours.allocate_tensors()
    ours.set_tensor(source["index"], values)
    ours.invoke()
    assert (ours.get_tensor(made["index"]) == wanted).all()
    for call, message in (
        (lambda: ours.set_tensor(source["index"], values[0]), "is int8 of"),
        (lambda: ours.get_tensor(10_000), "only inputs and outputs of the model have values"),
        (lambda: ours.resize_tensor_input(source["index"], (1, 2, 3, 4)), "only a batch of 1 can be resized"),
        (lambda: ours.get_signature_runner("nosuch"), "signature nosuch: choose from"),
        (lambda: Interpreter(), "give either model_path or model_content"),
        (lambda: Interpreter(model_content=b"text"), "valid Flatbuffer"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_variables_of_litert(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = streaming(rng)
    frames = rng.integers(-128, 128, (4, *FRAME)).astype(np.int8)
    wanted = [outputs[0] for outputs in run(Reference.MICRO, model, [[frame] for frame in frames])]
    interpreter = Interpreter(model_content=model, back_end="golden")
    [source], [made] = interpreter.get_input_details(), interpreter.get_output_details()
    for _ in range(2):
        for frame, expected in zip(frames, wanted, strict=True):
            interpreter.set_tensor(source["index"], frame)
            interpreter.invoke()
            assert (interpreter.get_tensor(made["index"]) == expected).all()
        interpreter.reset_all_variables()


def test_onnxruntime_may_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    from eyrie.onnxruntime import InferenceSession as imported

    assert imported is InferenceSession
    with pytest.raises(ImportError, match="onnxruntime"):
        from eyrie.onnxruntime import SessionOptions  # noqa: F401


def test_a_session_of_onnxruntime(seed: int, tmp_path: Path) -> None:
    """It takes what `eyrie.load` takes; tests/extras/test_onnx.py runs an ONNX file."""
    rng = np.random.default_rng(seed)
    model = separable(rng)
    (tmp_path / "net.tflite").write_bytes(model)
    values = rng.integers(-128, 128, (2, 8, 8, 3)).astype(np.int8)
    wanted = np.concatenate(
        [outputs[0] for outputs in run(Reference.MICRO, model, [[value[None]] for value in values])]
    )
    for given in (tmp_path / "net.tflite", model):
        session = InferenceSession(given, None, providers=["CPUExecutionProvider"], back_end="functional")
        [source], [made] = session.get_inputs(), session.get_outputs()
        assert source == NodeArg("image", [1, 8, 8, 3], "tensor(int8)") and session.get_providers()
        assert (session.run(None, {source.name: values[:1]})[0] == wanted[:1]).all()
        assert (session.run([made.name], {source.name: values})[0] == wanted).all()
    with pytest.raises(InputError, match="unknown output 'nosuch': choose from logits"):
        session.run(["nosuch"], {source.name: values})
