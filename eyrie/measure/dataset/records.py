# SPDX-License-Identifier: Apache-2.0
"""The records of the data set: layer, configuration, mapping and schedule; cycles on the RTL; predictions."""

from pathlib import Path

import numpy as np

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.parts import Compiled, compile_parts
from eyrie.measure import Entry
from eyrie.measure.campaigns.task import Result, Task
from eyrie.measure.dataset.layers import KINDS, draw, model
from eyrie.measure.on_rtl import on_rtl
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.metrics import units

# Parameters that differ from the default configuration's, by the name of the configuration.
CONFIGURATIONS: dict[str, dict[str, int]] = {
    "6x8": {},
    "3x4": {"rows": 3, "cols": 4},
    "6x4": {"rows": 6, "cols": 4},
    "9x8": {"rows": 9, "cols": 8},
    "one_multiplier": {"multipliers": 1},
    "wide": {"bus_words": 2, "filter_lanes": 2},
    "glb32": {"glb_bank_words": 512},
    "glb256": {"glb_bank_words": 4096},
    "latency100": {"dram_latency": 100},
    "latency300": {"dram_latency": 300},
}
LAYERS = 10  # of a task


def tasks(count: int, seed: int) -> list[Task]:
    """Return the tasks of `count` records: each configuration and kind of layer has as many as the others."""
    names = list(CONFIGURATIONS)
    return [
        Task(
            f"records {first} to {first + LAYERS - 1}",
            records,
            {"configuration": names[number % len(names)], "seed": seed, "number": number},
            f"eyrie dataset --records {count} --seed {seed}",
        )
        for number, first in enumerate(range(0, count, LAYERS))
    ]


def records(folder: Path, configuration: str, seed: int, number: int) -> Result:
    """Return LAYERS records of a configuration, one of each kind of layer."""
    rng = np.random.default_rng([seed, number])
    kinds, found, wrong = list(KINDS), [], 0
    for index in range(LAYERS):
        own = folder / str(index)
        own.mkdir()
        entry = record(own, configuration, kinds[index % len(kinds)], rng)
        wrong += entry.pop("mismatches")
        found.append({"seed": seed, "task": number, "index": index} | entry)
    return Result(
        {"records": found, "mismatches": wrong},
        failure=f"{wrong} outputs differ from the golden model" if wrong else None,
    )


def record(folder: Path, configuration: str, kind: str, rng: np.random.Generator) -> Entry:
    """Draw a layer that fits and that the accelerator runs as a whole, run it, and return its record."""
    config = AcceleratorConfig(**CONFIGURATIONS[configuration])
    while True:
        shape = draw(rng, kind)
        path = folder / "layer.tflite"
        path.write_bytes(model(rng, shape))
        try:
            compiled = compile_parts(path, config)
        except InputError as rejection:
            if isinstance(rejection.__cause__, DoesNotFit):
                continue
            raise
        if len(compiled.performances) == 1 and not compiled.partition.host_nodes:
            break
    [part], wrong = on_rtl(compiled.network, folder / "program", int(rng.integers(1 << 31)))
    counters = part.runs[0]["counters"]
    stalls = {
        f"{unit}_{state}": cycles
        for unit, states in units(part.image, counters).items()
        for state, cycles in states.items()
    }
    return {
        **shape.entries,
        "configuration": configuration,
        **config.as_dict(),
        **mapping_of(compiled),
        **predictions(compiled),
        "cycles": counters["CYCLES"],
        **stalls,
        "dram_read_bytes": counters["DRAM_READ_BYTES"],
        "dram_write_bytes": counters["DRAM_WRITE_BYTES"],
        "mismatches": wrong,
    }


def mapping_of(compiled: Compiled) -> Entry:
    """Return mapping and schedule of the first layer with MACs, or of the first layer; and the number of passes."""
    [part] = [part for part in compiled.parts if part.stages]
    assert part.stages
    steps = part.stages.steps
    step = next((each for each in steps if each.macs), steps[0])
    blocks = step.mapping.blocks
    return {
        "mode": step.mapping.mode.name.lower(),
        "block_rows": blocks.rows,
        "block_cols": blocks.cols,
        "pixels": blocks.pixels,
        "inner": blocks.inner,
        "outer": blocks.outer,
        "tile": step.mapping.tile,
        "tiles": step.mapping.tiles,
        "filters_in": step.filters,
        "schedule": step.schedule,
        "passes": sum(len(each.passes) for each in steps),
    }


def predictions(compiled: Compiled) -> Entry:
    """Return the estimates of three models of time.

    predicted_cycles   Eyrie's cost model
    roofline_cycles    the larger of MACs and parameter bytes, layer by layer
    bottleneck_cycles  the throughput model of Timeloop (Parashar et al., ISPASS 2019, section VI): the slowest of the
                       array, the GLB and the DRAM, each at its full rate, with the bytes and MACs of the mapping
    """
    [performance] = compiled.performances
    [part] = [part for part in compiled.parts if part.stages]
    assert part.stages
    config = part.stages.config
    array = sum(step.cycles for step in part.stages.steps)
    dram = (performance.dram_read_bytes + performance.dram_write_bytes) / config.dram_bytes
    glb = (performance.glb_read_bytes + performance.glb_write_bytes) / (8 * config.glb_banks)
    return {
        "macs": performance.macs,
        "predicted_cycles": performance.cycles,
        "roofline_cycles": performance.roofline_cycles,
        "bottleneck_cycles": round(max(array, dram, glb)),
    }
