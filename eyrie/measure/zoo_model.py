# SPDX-License-Identifier: Apache-2.0
"""One model of a zoo: compiles it, runs it, compares it with the reference; leaves FOLDER/result.json.

    python -m eyrie.measure.zoo_model [--rtl-macs N] [--c] [--config FILE] [--inputs N] [--seed N] [--input FILE]
                                      MODEL FOLDER

The result has every error. The standard streams have the progress and tracebacks.
"""

import argparse
import json
import resource
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from eyrie.compiler.artefact import files
from eyrie.compiler.c.sources import sources_of
from eyrie.compiler.command_line import whole_number
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.folder import save
from eyrie.compiler.frontend.file import format_of, load
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Malformed
from eyrie.compiler.parts import Compiled, compile_parts
from eyrie.measure.expected import outputs_by, references
from eyrie.measure.trials import Entry
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.interpreters import Rejected
from eyrie.model.messages import array, one_line
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.inputs import random_inputs, read_inputs
from eyrie.runtime.portable_c.executable import CHECKED, build_program
from eyrie.runtime.signals import clean_up_first

GOLDEN, TFLITE = "the golden model", "eyrie.compiler.frontend.tflite"


def main(arguments: list[str]) -> None:
    clean_up_first()
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rtl-macs", type=whole_number(0), default=0)
    parser.add_argument("--c", action="store_true")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--inputs", type=whole_number(1), default=1)
    parser.add_argument("--seed", type=whole_number(0), default=1)
    parser.add_argument("--input", type=Path)
    options = parser.parse_args(arguments)
    entry = Entry(options.model.name)
    try:
        judge(entry, options)
    except Exception as error:
        traceback.print_exc()
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        entry.status, entry.reason = "failed", one_line(said.strip())
    (options.folder / "result.json").write_text(json.dumps(entry.as_dict()))


def judge(entry: Entry, options: argparse.Namespace) -> None:
    """Fill an entry. Every error except a rejection and wrong outputs is raised."""
    config = AcceleratorConfig.load(options.config) if options.config else DEFAULT
    began, cpu_began = time.monotonic(), time.process_time()
    try:
        compiled = compile_parts(options.model, config)
    except Malformed:  # a stage of the compiler made it: the importer says it otherwise
        raise
    except InputError as error:
        entry.status, entry.reason = "rejected", one_line(str(error).removeprefix(f"{options.model}: "))
        return
    _note(entry, compiled, config)
    entry.compile_s = round(time.monotonic() - began, 3)
    entry.compile_cpu_s = round(time.process_time() - cpu_began, 3)
    entry.compile_peak_bytes = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(compiled)
    save(compiled.network, options.folder / "program")
    network = files.load(options.folder / "program")
    graph = network.whole_graph()
    inputs = (
        read_inputs(options.input, network.arguments)
        if options.input
        else random_inputs(graph, options.inputs, options.seed)
    )
    found = {
        GOLDEN: golden_outputs(graph, inputs),
        "the functional simulator": Functional().run(network, inputs).outputs,
    }
    if entry.macs <= options.rtl_macs:
        done = Rtl().run(network, inputs)
        found["the RTL"], entry.on_rtl = done.outputs, bool(done.accelerator)
        counters = [part.runs[0]["counters"] for part in done.accelerator]
        entry.cycles = sum(of["CYCLES"] for of in counters)
        entry.energy_uJ = round(sum(energy_uj(of, of["CYCLES"], config.clock_hz) for of in counters), 2)
        entry.dram_bytes = sum(of["DRAM_READ_BYTES"] + of["DRAM_WRITE_BYTES"] for of in counters)
    if options.c:
        try:
            sources = sources_of(load(options.model), "network")
        except Unsupported as rejection:
            entry.status, entry.reason = "rejected", one_line(f"as C: {rejection}")
            return
        found["the portable C"] = build_program([sources], options.folder / "c", (*CHECKED, "-O2")).run(inputs)
        entry.c_arena_bytes = sources.arena_bytes
    if format_of(options.model, options.model.read_bytes()).module == TFLITE:
        _compare(entry, options.model.read_bytes(), graph, inputs, found)
    else:
        _compare_with_golden(entry, found)


def _note(entry: Entry, compiled: Compiled, config: AcceleratorConfig) -> None:
    parts = compiled.performances
    entry.macs, entry.multipliers = sum(part.macs for part in parts), config.total_multipliers
    entry.cycles = entry.predicted_cycles = sum(part.cycles for part in parts)
    entry.roofline_cycles = sum(part.roofline_cycles for part in parts)
    entry.dram_bytes = sum(part.dram_bytes for part in parts)
    entry.compulsory_dram_bytes = sum(part.compulsory_dram_bytes for part in parts)
    entry.host_share = round(compiled.partition.host_share, 6)


def _compare(
    entry: Entry, model: bytes, graph: Graph, inputs: list[np.ndarray], found: dict[str, list[np.ndarray]]
) -> None:
    """Compare outputs, [N, ...] each, by the name of their simulator."""
    runs, said = [*zip(*inputs)], []
    for reference in references(graph):
        try:
            expected = [np.stack(values) for values in zip(*outputs_by(reference, model, graph, runs), strict=True)]
        except Rejected as rejection:
            said.append(f"{reference}: {rejection}")
            continue
        entry.status, entry.reference, entry.reason = "ok", str(reference), ""
        for where, outputs in found.items():
            for number, (got, wanted) in enumerate(zip(outputs, expected, strict=True)):
                _compare_output(entry, f"output {number} on {where}", got, wanted)
        return
    entry.status, entry.reason = "unchecked", one_line(f"no reference runs it: {'; '.join(said)}")


def _compare_with_golden(entry: Entry, found: dict[str, list[np.ndarray]]) -> None:
    """Compare with the golden model, for formats that define operators in real numbers and have no int8 reference."""
    entry.status, entry.reference = "ok", GOLDEN
    expected = found.pop(GOLDEN)
    for where, outputs in found.items():
        for number, (got, wanted) in enumerate(zip(outputs, expected, strict=True)):
            _compare_output(entry, f"output {number} on {where}", got, wanted)


def _compare_output(entry: Entry, where: str, got: np.ndarray, wanted: np.ndarray) -> None:
    if (got.dtype, got.size) != (wanted.dtype, wanted.size):
        raise InputError(f"{where} is {array(got)}, {entry.reference} has {array(wanted)}")
    wrong = np.flatnonzero(got.reshape(-1) != wanted.reshape(-1))
    entry.outputs += wanted.size
    entry.differences += len(wrong)
    if len(wrong) and entry.status == "ok":
        entry.status = "wrong"
        entry.reason = (
            f"{where}: {len(wrong)} of {wanted.size} values differ, the first is {got.flat[wrong[0]]}, "
            f"{wanted.flat[wrong[0]]} by {entry.reference}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
