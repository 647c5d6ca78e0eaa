# SPDX-License-Identifier: Apache-2.0
"""Gate equivalents by block of one configuration, for the records of the gate model.

A block's own gates are those outside the blocks in it, so that the blocks add up to the accelerator.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.synthesis.blocks import BLOCKS, TOP
from eyrie.runtime.synthesis.design import (
    Design,
    black_box,
    contents,
    find_memories,
    for_mapping,
    merged,
    source_name,
)
from eyrie.runtime.synthesis.jobs import run as run_jobs
from eyrie.runtime.synthesis.library import own_gates
from eyrie.runtime.synthesis.mapping import elaboration, mapping


@dataclass(frozen=True)
class GateCount:
    """Results of a synthesis: memory bits of the accelerator, and own gate equivalents of each block, all instances."""

    memory_bits: int
    gate_equivalents: dict[str, float]


def measure(folder: Path, config: AcceleratorConfig, blocks: tuple[str, ...], known: dict[str, float]) -> GateCount:
    """Synthesise blocks of a configuration as `eyrie synth --unplaced` does, in an empty folder.

    `known` has the gate equivalents of modules by their content; `measure` adds the modules that it synthesises. One
    row of a PE set stands for all three: their gates differ by 0.1 %.
    """
    run_jobs([elaboration(folder, TOP, config)], folder, 1, lambda done, what: None)
    design = merged(json.loads((folder / "elaborated.json").read_text())["modules"], TOP)
    find_memories(design)
    digests = contents(design, set(BLOCKS))
    kinds = [name for name in design.modules if source_name(name) in blocks]
    chosen = _without_twins(design, kinds)
    names = sorted(name for name in set(chosen.values()) if digests[name] not in known)
    if names:
        known |= {digests[name]: area for name, area in _mapped(folder, design, names).items()}
    found = dict.fromkeys(map(source_name, kinds), 0.0)
    for name in kinds:
        found[source_name(name)] += design.instances[name] * known[digests[chosen[name]]]
    bits = sum(design.memories[name] * design.instances[name] for name in design.memories)
    return GateCount(bits, {name: round(found[name], 1) for name in BLOCKS if name in found})


def _without_twins(design: Design, kinds: list[str]) -> dict[str, str]:
    """Return for each module the one that stands for it: the first module of its block with the same ports."""
    first: dict[tuple, str] = {}
    found = {}
    for name in kinds:
        ports = {port: len(entry["bits"]) for port, entry in design.modules[name]["ports"].items()}
        found[name] = first.setdefault((source_name(name), *sorted(ports.items())), name)
    return found


def _mapped(folder: Path, design: Design, names: list[str]) -> dict[str, float]:
    """Return the gate equivalents of modules, without the blocks in them, which are black boxes for yosys."""
    modules = for_mapping(design, set(BLOCKS))
    modules |= {
        name: black_box(modules[name]) for name in design.modules if source_name(name) in BLOCKS and name not in names
    }
    run_jobs([mapping(folder, modules, names, own_gates())], folder, 1, lambda done, what: None)
    mapped = json.loads((folder / "mapped.json").read_text())["modules"]
    areas = own_gates().areas
    return {name: sum(areas.get(cell["type"], 0) for cell in mapped[name]["cells"].values()) for name in names}
