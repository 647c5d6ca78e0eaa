# SPDX-License-Identifier: Apache-2.0
"""Co-simulation: the RTL and the functional simulator run the same program and are compared.

After each pass, the ofmap words and their addresses are compared by their signature (runtime/soc/soc.sv). After each
run, all DRAM bytes are compared, and the counters that do not depend on timing. The functional simulator runs twice,
with two contents of the GLB before the run, to find the values that depend on old words of the GLB. These are not
compared.
"""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.artefact.network import AcceleratorSubgraph
from eyrie.compiler.ir.image import Image
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.runtime.back_end import AcceleratorBackEnd, AcceleratorRun
from eyrie.runtime.back_ends.functional import reported_errors
from eyrie.runtime.soc.driver import Soc
from eyrie.runtime.soc.runs import RunFailed, named_on_rtl

_FILLS = (np.uint64(0), ~np.uint64(0))  # GLB contents before a run


class Mismatch(RunFailed):
    """The RTL and the functional simulator differ. The message names the first pass."""


class Cosim(AcceleratorBackEnd):
    """The RTL and the functional simulator, compared."""

    about = "the RTL and the functional simulator, compared after each pass"

    def run_program(self, program: AcceleratorSubgraph, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
        """Raise Mismatch, with one line, if they differ, RunFailed or InputError if one of them cannot run it."""
        image, memories = program.image, list[np.ndarray]()

        def keep(soc: Soc) -> None:
            memories.append(soc.memory[: image.dram.nbytes].copy())

        with reported_errors(program.place):
            expected = [_expected(image, image.with_inputs(values)) for values in image.runs(inputs)]
        done = named_on_rtl(image, inputs, self.seed, at_end=keep)
        for number, (wanted, run, memory) in enumerate(zip(expected, done.runs, memories, strict=True)):
            if found := _difference(image, wanted, run, memory):
                raise Mismatch(f"{program.place}: run {number}: {found}")
        return done


@dataclass(frozen=True)
class _Expected:
    """A run on the functional simulator. signatures: of passes, None if they depend on old words of the GLB; settled:
    bool for each byte of the memory, whether it does not depend on them
    """

    signatures: list[int | None]
    memory: np.ndarray
    settled: np.ndarray
    counters: dict[str, int]


def _expected(image: Image, memory: np.ndarray) -> _Expected:
    (signatures, one), (others, other) = (_simulated(image, memory, fill) for fill in _FILLS)
    kept = [mine if mine == theirs else None for mine, theirs in zip(signatures, others, strict=True)]
    return _Expected(kept, one.dram, one.dram == other.dram, one.counters)


def _simulated(image: Image, memory: np.ndarray, fill: np.uint64) -> tuple[list[int], FunctionalSimulator]:
    signatures = list[int]()
    simulator = FunctionalSimulator(
        memory.copy(), image.config, observe=lambda trace: signatures.append(trace.signature)
    )
    simulator.glb[:] = fill
    simulator.run(image.program.address)
    return signatures, simulator


def _difference(image: Image, expected: _Expected, run: dict, memory: np.ndarray) -> str:
    """Return the first difference of a run on the RTL, "" if there is none."""
    if len(run["passes"]) != len(expected.signatures):
        return f"the RTL has {len(run['passes'])} passes, the functional simulator {len(expected.signatures)}"
    steps = image.step_of_pass
    for number, (wanted, ended) in enumerate(zip(expected.signatures, run["passes"])):
        if wanted is not None and ended["signature"] != wanted:
            return (
                f"pass {number}, of layer {image.steps[steps[number]].name}, is the first whose ofmap differs: the "
                f"signature is 0x{ended['signature']:016x} on the RTL, 0x{wanted:016x} on the functional simulator"
            )
    differs = np.flatnonzero((memory != expected.memory) & expected.settled)
    if differs.size:
        return f"no pass differs, but {differs.size} bytes of DRAM do, the first at 0x{differs[0]:08x}"
    return _other_counter(expected.counters, run["counters"])


def _other_counter(expected: dict[str, int], measured: dict[str, int]) -> str:
    """Compare the counters. The RTL fetches commands ahead, so that their bytes are not compared."""
    for name, value in expected.items():
        commands = (counters["COMMAND_BYTES"] if name == "DRAM_READ_BYTES" else 0 for counters in (expected, measured))
        wanted, found = (count - less for count, less in zip((value, measured[name]), commands))
        if name != "COMMAND_BYTES" and wanted != found:
            return f"no pass differs, but {name} is {found} on the RTL, {wanted} on the functional simulator"
    return ""
