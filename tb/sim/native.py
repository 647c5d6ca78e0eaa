# SPDX-License-Identifier: Apache-2.0
"""Runs a network on tb_top without cocotb: main.cpp drives the model, as a C++ user would.

The model is built like cocotb's, with the same optimisation, but without the VPI and without variables
visible to it: a C++ main needs neither.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.ir.feature_map import FeatureMap
from compiler.ir.image import Image
from model.config import GLB_WORD_BYTES
from model.encoding import Counter, ErrorCode, Register, counter_register
from runtime.simulator.simulate import sizes_of
from runtime.simulator.verilate import build_model
from tb.net.bench import CYCLE_LIMIT, DRAM_BYTES, LATENCY
from tb.net.host import settings
from tb.sim.dram import SOURCES

MAIN = "tb/sim/main.cpp"


@dataclass(frozen=True)
class NativeRun:
    """output: int8 [H, W, C]; seconds: wall-clock time from start to interrupt."""

    output: np.ndarray
    error: ErrorCode
    cycles: int
    seconds: float


def run(image: Image, values: np.ndarray, folder: Path, seed: int = 1) -> NativeRun:
    """Runs a network, on the machine that it was compiled for, on int8 [H, W, C]; files go to `folder`.

    Raises BuildError and SourceError, and ValueError, in one line, if the simulation failed.
    """
    model = build_model("tb_top", sizes_of("tb_top", image.machine), SOURCES, main=MAIN, assertions=False)
    dram, output = folder / "dram.bin", folder / "output.bin"
    contents = image.with_input(values)
    contents.tofile(dram)
    place = image.output_place
    size = FeatureMap(**place["layout"]).words * GLB_WORD_BYTES
    window = max(DRAM_BYTES, contents.nbytes)
    *before, start = settings(image.program, window)
    steps = [
        ("latency", LATENCY), ("memory", window), ("load", dram, contents.nbytes),
        *(("write", int(register), value) for register, value in before),
        ("run", int(start[0]), start[1], CYCLE_LIMIT),
        ("read", int(Register.ERROR_CODE)), ("read", counter_register(Counter.CYCLES)),
        ("read", counter_register(Counter.CYCLES) + 4),
        ("dump", output, place["address"], size),
    ]
    words = [str(word) for step in steps for word in step]
    # To Verilator, seed 0 is the request to choose one.
    seeds = [f"+verilator+seed+{seed + 1}", "+verilator+rand+reset+2"]
    ended = subprocess.run([str(model), *words, *seeds], capture_output=True, text=True)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        raise ValueError(f"the C++-driven simulation failed: {said[0] if said else ended.returncode}")
    seconds, error, low, high = ended.stdout.split()
    after = np.zeros(len(contents), np.uint8)
    after[place["address"] :][:size] = np.fromfile(output, np.uint8)
    return NativeRun(image.output(after), ErrorCode(int(error)), int(low) | int(high) << 32, float(seconds))
