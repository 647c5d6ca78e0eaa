# SPDX-License-Identifier: Apache-2.0
"""Where programs of the operator library in C come from: tables, functions, a simulated SoC's command."""

import ctypes
import shlex
from pathlib import Path

import numpy as np
import pytest

from eyrie.operators.requests import read_request
from eyrie.runtime.soc.c_programs import COMPILE
from eyrie.runtime.soc.driver import U32
from tests.runtime.operator_library import NO_BIAS, Compiler, Programs, build
from tests.runtime.operators_on_model import OnModel, Relu, activated, operator, tensors


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(tmp_path_factory.mktemp("requests"))


def test_what_does_not_compile(library: ctypes.CDLL, compiler: Compiler) -> None:
    """The compiler's reason is the message."""
    handle = OnModel(library, compiler.programs)
    source, made = tensors(handle, (1, 1, 1, 200_000), (1, 1, 1, 1))
    filters = handle.filters(np.zeros((1, 1, 1, 200_000), np.int8), np.ones(1, np.float32))
    assert operator(handle, "fully_connected", source, filters, U32(NO_BIAS), made) == "NOT_SUPPORTED"
    assert "FULLY_CONNECTED" in handle.message and "\n" not in handle.message


def test_tables(library: ctypes.CDLL, compiler: Compiler, seed: int) -> None:
    """Programs that were made ahead of time: one is taken by its key; one of other tensors, of another configuration,
    or damaged is rejected, and without it the key is the message."""
    handle = OnModel(library, None)
    relu = Relu(handle, np.random.default_rng(seed))
    assert relu.give() == "NOT_COMPILED"
    key = handle.message.encode()
    assert key.startswith(b"activation input0=4,4,8,3ca3d70a,0 output=4,4,8,3ca3d70a,0 function=RELU alpha=00000000 ")
    other = OnModel(library, compiler.programs)
    for shape in ((1, 4, 4, 8), (1, 5, 4, 8)):
        assert Relu(other, np.random.default_rng(seed), shape).give() == "OK"
    image, wrong = (compiler.images[asked] for asked in (key, key.replace(b"=4,4,8", b"=5,4,8")))
    for program, spoil, given, ended in (
        (image, lambda network: None, "OK", "OK"),
        (wrong, lambda network: None, "BAD_NETWORK", "OK"),
        (image, lambda network: network.sizes.__setitem__(0, 9), "OK", "OTHER_CONFIGURATION"),
        (image, lambda network: setattr(network, "crc", 0), "OK", "OTHER_IMAGE"),
        (image, lambda network: setattr(network, "program", 4), "OK", "BAD_NETWORK"),
    ):
        made = compiler.program(key, program)
        spoil(made.network.contents)
        table = Programs(ctypes.pointer(made), 1)
        linked = OnModel(library, table)
        relu = Relu(linked, np.random.default_rng(seed))
        assert relu.give() == given
        assert linked.synchronize() == ended
        if (given, ended) == ("OK", "OK"):
            relu.check()


def test_programs_on_demand(library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A simulated SoC's programs: compiled once for all handles, by a command that leaves what it was asked for."""

    def handle() -> OnModel:
        return OnModel(library, library.eyrie_linked_programs().contents)

    monkeypatch.setenv("SOC_COMPILE", COMPILE)
    monkeypatch.setenv("SOC_REQUESTS", str(tmp_path))
    for _ in range(2):
        relu = Relu(handle(), np.random.default_rng(seed), (1, 2, 7, 9))
        assert relu.give() == "OK", relu.handle.message
        relu.check()
        monkeypatch.setenv("SOC_COMPILE", "false")
    [asked] = tmp_path.iterdir()
    one = handle()
    assert activated(one, *tensors(one, (1, 3, 7, 9), (1, 3, 7, 9))) == "NOT_COMPILED"
    monkeypatch.setenv("SOC_COMPILE", "echo no such compiler; false")
    assert activated(one, *tensors(one, (1, 3, 7, 9), (1, 3, 7, 9))) == "NOT_COMPILED"
    assert one.message == "no such compiler"
    monkeypatch.setenv("SOC_REQUESTS", str(tmp_path / "nowhere"))
    assert activated(one, *tensors(one, (1, 3, 7, 9), (1, 3, 7, 9))) == "NOT_COMPILED"
    assert one.message == "no request can be written to SOC_REQUESTS" and [*tmp_path.iterdir()] == [asked]
    monkeypatch.delenv("SOC_COMPILE")
    assert activated(one, *tensors(one, (1, 3, 7, 9), (1, 3, 7, 9))) == "NOT_COMPILED"
    assert one.message.startswith("activation input0=3,7,9,")


def test_what_the_command_rejects(library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line is the message; of a request that is damaged, too."""
    handle = OnModel(library, library.eyrie_linked_programs().contents)
    keep = f'cp "$1" {tmp_path / "kept"}; {COMPILE} "$1"'
    monkeypatch.setenv("SOC_COMPILE", f"sh -c {shlex.quote(keep)} sh")
    monkeypatch.setenv("SOC_REQUESTS", str(tmp_path))
    source, made = tensors(handle, (1, 1, 1, 200_000), (1, 1, 1, 1))
    filters, bias = handle.filters(np.zeros((1, 1, 1, 200_000), np.int8), np.ones(1)), handle.bias(np.ones(1, np.int32))
    assert operator(handle, "fully_connected", source, filters, U32(bias), made) == "NOT_SUPPORTED"
    assert handle.message.startswith("eyrie operators: operator #0 FULLY_CONNECTED"), handle.message
    [kept] = tmp_path.iterdir()
    contents = kept.read_bytes()
    assert read_request(kept).key == contents.partition(b"\n")[0].decode()
    for damaged in (contents[:-1], contents[:-1] + b"\1", contents.replace(b"scales=1", b"scales=2", 1)):
        kept.write_bytes(damaged)
        with pytest.raises(ValueError, match="kept: is no request, or damaged: give a file "):
            read_request(kept)
