# SPDX-License-Identifier: Apache-2.0
"""One model of a zoo: compiles it, runs it, compares it with the reference; leaves FOLDER/result.json.

    python -m scripts.zoo_model [--rtl-macs N] [--config FILE] [--inputs N] [--seed N] MODEL FOLDER

Whatever goes wrong is in the result; what went on, with tracebacks, is on the standard streams.
"""

import argparse
import json
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from compiler.command_line import whole_number
from compiler.ir.graph import Graph, Malformed, map_shape
from compiler.ir.tensor import Quantized
from compiler.performance import Performance, performance
from compiler.pipeline import Stages, compile_network
from model.config import DEFAULT, MachineConfig
from model.messages import one_line
from model.operators.reference import Reference
from runtime import figures
from runtime.networks import on_model
from runtime.signals import clean_up_first
from scripts.zoo import Entry
from tb.common.references import Refused, run_apart
from tb.net.requests import RtlRun, on_rtl


def main(arguments: list[str]) -> None:
    clean_up_first()
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rtl-macs", type=whole_number(0), default=0)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--inputs", type=whole_number(1), default=1)
    parser.add_argument("--seed", type=whole_number(0), default=1)
    options = parser.parse_args(arguments)
    entry = Entry(options.model.name)
    try:
        judge(entry, options)
    except Exception as error:
        traceback.print_exc()
        said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        entry.status, entry.reason = "failed", one_line(said.strip())
    (options.folder / "result.json").write_text(json.dumps(entry.as_dict()))


def judge(entry: Entry, options: argparse.Namespace) -> None:
    """Fills an entry. Raises whatever goes wrong beside a refusal and wrong outputs."""
    machine = MachineConfig.load(options.config) if options.config else DEFAULT
    began = time.monotonic()
    try:
        stages = compile_network(options.model, machine)
    except Malformed:  # a stage of the compiler made it: the importer says it otherwise
        raise
    except ValueError as error:
        entry.status, entry.reason = "refused", one_line(str(error).removeprefix(f"{options.model}: "))
        return
    entry.compile_s = round(time.monotonic() - began, 3)
    predicted = performance(stages)
    _note(entry, stages, predicted)
    inputs = drawn(stages.graph, options.inputs, options.seed)
    found = {"the command-level model": on_model(stages.image, inputs)}
    if predicted.macs <= options.rtl_macs:
        done = rtl_run(stages, options.folder, inputs)
        measured = figures.figures(done.image, done.runs[0]["counters"], done.runs[0]["passes"])
        entry.on_rtl, entry.cycles = True, measured["cycles"]
        entry.dram_bytes = measured["dram_read_bytes"] + measured["dram_write_bytes"]
        found["the RTL"] = done.outputs
    _compare(entry, options.model.read_bytes(), stages.graph, inputs, found)


def _note(entry: Entry, stages: Stages, predicted: Performance) -> None:
    entry.macs, entry.multipliers = predicted.macs, stages.machine.total_multipliers
    entry.cycles, entry.roofline_cycles = predicted.cycles, predicted.roofline_cycles
    entry.dram_bytes, entry.compulsory_dram_bytes = predicted.dram_bytes, predicted.compulsory_dram_bytes
    entry.host_share = 0.0


def drawn(graph: Graph, count: int, seed: int) -> np.ndarray:
    """int8 [N, H, W, C]."""
    shape = (count, *map_shape(graph.input.shape))
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def rtl_run(stages: Stages, folder: Path, inputs: np.ndarray) -> RtlRun:
    stages.image.save(folder / "program", stages.text)
    (folder / "rtl").mkdir()
    return on_rtl(folder / "rtl", folder / "program", inputs)


def references(graph: Graph) -> tuple[Reference, ...]:
    """Those that run what the golden model follows, the first that takes a network being the one to compare with."""
    tensors = [tensor for node in graph.nodes for tensor in (*node.inputs, *node.outputs)]
    unsigned = any(isinstance(tensor, Quantized) and tensor.unsigned for tensor in tensors)
    rescaled = any(node.operator.name == "RELU6" and node.inputs[0].quantization != node.outputs[0].quantization
                   for node in graph.nodes)
    return (Reference.LITERT,) if unsigned or rescaled else (Reference.MICRO, Reference.LITERT)


def _compare(entry: Entry, model: bytes, graph: Graph, inputs: np.ndarray, found: dict[str, np.ndarray]) -> None:
    """found: outputs by what computed them, int8 [N, H, W, C]."""
    runs, said = [(values.reshape(graph.input.shape),) for values in inputs], []
    for reference in references(graph):
        try:
            expected = np.stack([output for output, in run_apart(reference, model, runs)])
        except Refused as refusal:
            said.append(f"{reference}: {refusal}")
            continue
        entry.status, entry.reference, entry.reason = "ok", str(reference), ""
        for where, outputs in found.items():
            wrong = np.flatnonzero(outputs.reshape(-1) != expected.reshape(-1))
            entry.outputs += expected.size
            entry.differences += len(wrong)
            if len(wrong) and entry.status == "ok":
                at = wrong[0]
                entry.status = "wrong"
                entry.reason = (f"value {at} is {outputs.flat[at]} on {where}, {expected.flat[at]} by {reference}: "
                                f"{len(wrong)} of {expected.size} differ")
        return
    entry.status, entry.reason = "unchecked", one_line(f"no reference runs it: {'; '.join(said)}")


if __name__ == "__main__":
    main(sys.argv[1:])
