# SPDX-License-Identifier: Apache-2.0
"""C programs on the driver, linked with the simulated accelerator: the bundled network, drawn ones, every error."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.image import Image
from eyrie.model.config import DEFAULT
from eyrie.model.encoding import ErrorCode
from eyrie.model.functional_simulator import FunctionalSimulator, ProgramError
from eyrie.model.status import ERROR_TEXTS
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.programs import compiled
from eyrie.runtime.soc.c_programs import CLASSIFY, Setting, call, link
from eyrie.testing.demo_net import demo_input
from tb.net.faults import FAULTS, Faulty, draw_fault, list_beyond_memory, list_outside_window
from tb.sim.driven_runs import FAULTS as FAULTS_PROGRAM
from tb.sim.driven_runs import run
from tests.runtime.driven_networks import every_layout, packed

BASE, MEMORY = 3 << 20, 8 << 20
WINDOW = (BASE, BASE + 2 * MEMORY)  # goes beyond the memory, as far as the faults of tb/net/faults.py
REJECTED = (list_outside_window, list_beyond_memory)  # by the driver, which says where the list begins


@pytest.mark.regress  # a demo on the same RTL, and random networks through the driver, are in every run
def test_classifies_pictures(seed: int, tmp_path: Path) -> None:
    """The example program: the photo, and drawn noise."""
    folder = compiled(MODEL)
    noise = np.random.default_rng(seed).integers(-128, 128, (1, 32, 32, 3)).astype(np.int8)
    pictures = np.concatenate([demo_input()[None], noise])
    pictures.tofile(tmp_path / "pictures.bin")
    program = link(CLASSIFY, folder, Image.load(folder).config, tmp_path)
    said = call(program, folder / "image.bin", tmp_path / "pictures.bin", setting=Setting(seed))
    logits = tflite.load(MODEL).run_images(pictures).reshape(len(pictures), -1)
    assert said.splitlines() == [
        f"{n}: class {row.argmax()}, outputs {' '.join(map(str, row))}" for n, row in enumerate(logits)
    ]


def test_random_networks(seed: int, tmp_path: Path) -> None:
    """Run after run with other inputs, anywhere in the memory, with interrupts and without."""
    rng = np.random.default_rng(seed)
    for number, driven in enumerate(every_layout(rng)):
        driven.image.save(folder := tmp_path / str(number), "")
        runs = [driven, driven.with_inputs(rng), driven.with_inputs(rng)]
        base = 64 * int(rng.integers(1 << 25))
        config = replace(DEFAULT, dram_latency=int(rng.integers(5, 100)), dram_interval=int(rng.choice([1, 2])))
        setting = Setting(seed, config, base, 4 << 20, polls=number % 2 == 1)
        done = run(folder, [each.inputs for each in runs], folder, setting)
        for got, each in zip(done.outputs, runs, strict=True):
            for name, expected in each.outputs.items():
                np.testing.assert_array_equal(got[name], expected)


def outcome(faulty: Faulty) -> tuple[ErrorCode, int]:
    """What the functional simulator says of a program."""
    program = faulty.program
    memory = np.zeros(MEMORY, np.uint8)
    memory[program.base :][: len(program.contents)] = program.contents
    try:
        FunctionalSimulator(memory, DEFAULT, program.window).run(program.start)
    except ProgramError as error:
        return error.code, error.address
    return ErrorCode.NONE, 0


def test_every_error(seed: int, tmp_path: Path) -> None:
    """The driver says code, text and place of each error, resets the accelerator, and the next run is right; so after a
    memory that does not answer for a while."""
    rng = np.random.default_rng(seed)
    network = packed(rng).network
    folder, image = tmp_path / "net", network.image
    image.save(folder, "")
    faults = [draw_fault(rng, network, MEMORY, plant, code, WINDOW) for plant, code in FAULTS if plant not in REJECTED]
    assert {fault.code for fault in faults} == set(ErrorCode) - {
        ErrorCode.NONE,
        ErrorCode.CODED_WEIGHTS,
    }  # without a decoder
    files = []
    for number, fault in enumerate(faults):
        files.append(tmp_path / f"fault{number}.bin")
        fault.program.contents.tofile(files[-1])
    network.values.tofile(tmp_path / "input.bin")
    program = link(FAULTS_PROGRAM, folder, image.config, tmp_path)
    said = call(
        program,
        folder / "image.bin",
        tmp_path / "input.bin",
        tmp_path / "output.bin",
        *files,
        setting=Setting(seed, base=BASE, window=2 * MEMORY, memory=MEMORY),
    ).splitlines()
    for fault, line in zip(faults, said[:-1], strict=True):
        code, address = outcome(fault)
        got, at, place, text = line.split(maxsplit=3)
        about = f"{fault.program.about}: {line}"
        assert (int(got), text) == (code, ERROR_TEXTS[code]) and code == fault.code, about
        assert int(at) in (address, *fault.later), about
        behind = (int(at) - fault.program.start) // 8
        assert int(place) == (behind if 8 * behind < image.program.bytes else 2**32 - 1), about
    assert said[-1] == "the memory does not answer, and the accelerator waits for it, all right"
    outputs = np.fromfile(tmp_path / "output.bin", np.int8).reshape(-1, *network.golden.shape)
    assert len(outputs) == len(said)
    for output in outputs:
        np.testing.assert_array_equal(output, network.golden)
