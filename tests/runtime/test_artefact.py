# SPDX-License-Identifier: Apache-2.0
"""Compiled networks as files: loading imports no stage of the compiler and keeps all contents."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie.compiler.artefact import files
from eyrie.compiler.folder import save
from eyrie.compiler.parts import compile_parts
from eyrie.model.errors import InputError
from eyrie.runtime.back_end import BackEnd
from eyrie.runtime.back_ends import BACK_ENDS, back_end_class
from eyrie.runtime.inputs import random_inputs
from tests.commands.commands import assert_rejected
from tests.commands.commands import eyrie as command
from tests.compiler.test_partition import image_classifier
from tests.runtime import damages

STAGES = ("frontend", "passes", "plan", "target", "emit", "cost", "assembly", "c")
LOADED = """
import json, sys
import numpy as np
from eyrie.compiler.artefact import files
network = files.load(sys.argv[1])
if len(sys.argv) > 2:
    from eyrie.runtime.back_ends import back_end_class
    inputs = [np.zeros((1, *tensor.shape), tensor.dtype) for tensor in network.inputs]
    back_end_class(sys.argv[2])().run(network, inputs)
print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module", params=["split", "whole"])
def folder(request: pytest.FixtureRequest, seed: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    model = image_classifier() if request.param == "split" else damages.branch(np.random.default_rng(seed))
    (folder / "net.tflite").write_bytes(model)
    assert command("compile", folder / "net.tflite", "-o", folder / "net").returncode == 0
    return folder / "net"


@pytest.mark.parametrize("back_end", ["", "functional", "golden"])
def test_loading_imports_no_stage_of_the_compiler(back_end: str, folder: Path) -> None:
    """Neither does a run on the functional simulator, nor one of the golden model."""
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, folder, *filter(None, [back_end])], capture_output=True, text=True, check=True
    )
    modules = json.loads(ended.stdout)
    assert "eyrie.compiler.artefact.files" in modules
    assert not [name for name in modules if name.startswith(tuple(f"eyrie.compiler.{stage}" for stage in STAGES))]
    assert not [name for name in modules if "litert" in name or name in ("tflite_micro", "PIL", "matplotlib")]


def test_a_loaded_network_is_saved_as_it_was(folder: Path, tmp_path: Path) -> None:
    save(files.load(folder), tmp_path / "again")
    assert damages.files(tmp_path / "again") == damages.files(folder)


def test_all_back_ends_agree(folder: Path, seed: int) -> None:
    network = files.load(folder)
    inputs = random_inputs(network.whole_graph(), 2, seed)
    golden = back_end_class("golden")().run(network, inputs).outputs
    for name in BACK_ENDS:
        made = back_end_class(name)(seed).run(network, inputs)
        assert made.network is network
        for output, expected in zip(made.outputs, golden, strict=True):
            np.testing.assert_array_equal(output, expected, name, strict=True)


def test_a_folder_in_the_library(folder: Path, tmp_path: Path, seed: int) -> None:
    session, model = eyrie.load(folder, back_end="functional"), eyrie.load(folder.with_suffix(".tflite"), back_end="c")
    assert (session.inputs, session.outputs) == (model.inputs, model.outputs)
    values = {port.name: np.ones(port.shape, port.dtype) for port in session.inputs}
    for name, output in session(values).items():
        assert np.array_equal(output, model(values)[name]) and np.array_equal(output, session.golden(values)[name])
    assert session.profile().predicted_cycles == model.profile().predicted_cycles > 0
    with pytest.raises(InputError, match="a compiled network has its configuration: leave out config"):
        eyrie.load(folder, config={"rows": 3})


def test_names() -> None:
    assert eyrie.BACK_ENDS == BACK_ENDS == ("c", "cosim", "functional", "golden", "rtl")
    for name in BACK_ENDS:
        assert issubclass(back_end_class(name), BackEnd) and back_end_class(name).about
    with pytest.raises(InputError, match="unknown back end 'chip': choose from c, cosim, functional, golden, rtl"):
        back_end_class("chip")


def test_a_program_that_was_written_by_hand_has_no_golden_model(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(image_classifier())
    network = compile_parts(tmp_path / "net.tflite").network.programs[0]
    save(files.CompiledNetwork.of_program(network.image), tmp_path / "net")
    np.save(tmp_path / "x.npy", np.zeros((4, 4, 1), np.int8))
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    assert command("run", tmp_path / "net", "--input", x, "--output", y, "--back-end=functional").returncode == 0
    ended = command("run", tmp_path / "net", "--input", x, "--output", y, "--back-end=golden")
    assert_rejected(ended, "eyrie run: the program was not compiled from a model: run it on rtl, functional or cosim")
