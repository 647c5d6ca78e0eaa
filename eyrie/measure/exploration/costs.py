# SPDX-License-Identifier: Apache-2.0
"""The cost of a model at a point of a design space: predicted, and measured on the RTL."""

from pathlib import Path

from eyrie.measure import Entry
from eyrie.measure.campaigns.task import Result, Task
from eyrie.measure.exploration.space import Point
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError

SEED = 1  # of the random input of a run on the RTL


def task(name: str, model: tuple[str, bytes], point: Point, again: str, on_rtl: bool = False) -> Task:
    """Return the task that finds the cost of a model: the file's name and contents. again: the command line"""
    arguments = {"model": model, "configuration": point.configuration, "options": point.options}
    return Task(f"{name}, {point.name}", measured if on_rtl else predicted, arguments, again)


def predicted(folder: Path, model: tuple[str, bytes], configuration: dict[str, int], options: Entry) -> Result:
    """Compile a model and return its predicted cost: cycles, bytes and energy, in all and by layer.

    status: "ok", or "rejected" with the reason
    """
    from eyrie.compiler.parts import compile_parts

    path = folder / model[0]
    path.write_bytes(model[1])
    try:
        compiled = compile_parts(path, AcceleratorConfig.of(configuration), **options)
    except InputError as error:
        return Result({"status": "rejected", "reason": str(error).removeprefix(f"{path}: ")})
    parts = compiled.performances
    layers = [
        {"name": layer.name, "cycles": layer.predicted_cycles, "dram_bytes": layer.dram_bytes, "macs": layer.macs}
        for part in parts
        for layer in part.layers
    ]
    return Result(
        {
            "status": "ok",
            "cycles": sum(part.cycles for part in parts),
            "roofline_cycles": sum(part.roofline_cycles for part in parts),
            "macs": sum(part.macs for part in parts),
            "dram_bytes": sum(part.dram_bytes for part in parts),
            "energy_uJ": round(sum(part.energy_uJ for part in parts), 2),
            "host_share": round(compiled.partition.host_share, 6),
            "layers": layers,
        }
    )


def measured(folder: Path, model: tuple[str, bytes], configuration: dict[str, int], options: Entry) -> Result:
    """Compile a model, run it on the RTL with a random input, and compare the outputs with the golden model."""
    from eyrie.compiler.parts import compile_parts
    from eyrie.measure.on_rtl import on_rtl

    path = folder / model[0]
    path.write_bytes(model[1])
    compiled = compile_parts(path, AcceleratorConfig.of(configuration), **options)
    parts, wrong = on_rtl(compiled.network, folder / "program", SEED)
    cycles = sum(part.runs[0]["counters"]["CYCLES"] for part in parts)
    return Result(
        {"measured_cycles": cycles, "mismatches": wrong},
        failure=f"{wrong} outputs differ from the golden model" if wrong else None,
    )
