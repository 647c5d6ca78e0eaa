# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/asm.py: what is assembled runs on the RTL, as a model's folder does."""

import re
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost.predict import predict
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.image import Image
from eyrie.runtime.networks import named_on_model
from eyrie.runtime.soc.runs import named_on_rtl
from tests.commands.commands import assert_rejected, eyrie
from tests.compiler.assembly_sources import examples, fully_connected, mixed, write

CYCLES = 1.1  # times the prediction, of so short a program


def assembled(source: Path) -> Path:
    folder = source.parent / "net"
    ended = eyrie("asm", source, "-o", folder)
    assert ended.returncode == 0, ended.stderr
    return folder


def test_the_command(tmp_path: Path) -> None:
    source = write(tmp_path, examples()[1])
    folder = assembled(source)
    printed = eyrie("asm", folder, "--disassemble").stdout
    assert printed.startswith(f"image {folder}\nload ") and printed.endswith("\nend\n")
    assert_rejected(eyrie("asm", source), "eyrie asm: no task: ")
    assert_rejected(eyrie("asm", tmp_path / "no.s", "-o", folder), f"eyrie asm: {tmp_path / 'no.s'}: cannot be read")
    source.write_text("halt\n")
    assert_rejected(eyrie("asm", source, "-o", folder), f"eyrie asm: {source}:1:1: unknown statement 'halt'")


def test_two_layers_on_the_rtl(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    both = fully_connected(rng, tmp_path)
    folder = assembled(both.source)
    np.save(tmp_path / "x.npy", rng.integers(-128, 128, (1, 1, 1024)).astype(np.int8))
    ended = eyrie("run", folder, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    assert ended.returncode == 0, ended.stderr
    golden = tflite.load(both.model).run_images(np.load(tmp_path / "x.npy")[None])
    assert np.array_equal(np.load(tmp_path / "y.npy").ravel(), golden.ravel())
    cycles = int(re.search(r"([\d,]+) cycles a run", ended.stdout)[1].replace(",", ""))
    assert 1 / CYCLES < cycles / predict(Image.load(folder)).cycles < CYCLES


@pytest.mark.parametrize("text", [examples()[1], mixed()], ids=["commands", "layers and commands"])
def test_commands_on_the_rtl(text: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    folder = assembled(write(tmp_path, text))
    image = Image.load(folder)
    inputs = {name: rng.integers(-128, 128, (2, 4, 4, 8)).astype(np.int8) for name in image.inputs}
    on_rtl = named_on_rtl(image, inputs).outputs
    for name, values in named_on_model(image, inputs).items():
        assert len(np.unique(values)) > 5 and np.array_equal(on_rtl[name], values)
