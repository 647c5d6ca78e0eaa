# SPDX-License-Identifier: Apache-2.0
"""The metrics of mapped blocks: the entries of a summary (docs/reference/summary.md) and tables in Markdown."""

from dataclasses import dataclass

from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.synthesis.blocks import BLOCKS, MULTIPLIERS, REQUANTIZERS, TOP
from eyrie.runtime.synthesis.design import Design, source_name
from eyrie.runtime.synthesis.library import Library
from eyrie.runtime.synthesis.netlist import Netlist
from eyrie.runtime.synthesis.paths import Path, between, longest

LISTED_PATHS = 40  # between blocks


@dataclass(frozen=True)
class Sizes:
    """The sizes of a module with its instances: gates and registers, register bits, memory bits, area in GE."""

    cells: int = 0
    flip_flop_bits: int = 0
    memory_bits: int = 0
    gate_equivalents: float = 0.0

    def __add__(self, other: "Sizes") -> "Sizes":
        return Sizes(
            self.cells + other.cells,
            self.flip_flop_bits + other.flip_flop_bits,
            self.memory_bits + other.memory_bits,
            self.gate_equivalents + other.gate_equivalents,
        )

    def __mul__(self, count: int) -> "Sizes":
        return Sizes(
            self.cells * count, self.flip_flop_bits * count, self.memory_bits * count, self.gate_equivalents * count
        )

    @property
    def entries(self) -> dict[str, int]:
        return {
            "cells": self.cells,
            "flip_flop_bits": self.flip_flop_bits,
            "memory_bits": self.memory_bits,
            "gate_equivalents": round(self.gate_equivalents),
        }


def chosen(text: str) -> list[str]:
    """Return the names of blocks from a text, separated by commas.

    Raise InputError, with one line, if a name is unknown.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in BLOCKS:
            raise InputError(unknown("block", name, BLOCKS))
    return names


def sizes(netlists: dict[str, Netlist], name: str, library: Library, memories: dict[str, int]) -> Sizes:
    """Return the sizes of a module."""
    netlist = netlists[name]
    total = Sizes(
        sum(netlist.cells.values()),
        sum(count for kind, count in netlist.cells.items() if kind in library.registers),
        sum(memories[kind] for kind in netlist.memories),
        sum(library.areas[kind] * count for kind, count in netlist.cells.items()),
    )
    for _, child, _ in netlist.children:
        total += sizes(netlists, child, library, memories)
    return total


def block_entries(design: Design, netlists: dict[str, Netlist], library: Library, names: list[str]) -> dict[str, dict]:
    """Return the entries of each block: of one instance (the largest if parameters differ), and the GE of all."""
    entries = {}
    for name in names:
        everywhere = all_of(design, netlists, library, (name,))
        kinds = [kind for kind in netlists if source_name(kind) == name]
        found = {kind: sizes(netlists, kind, library, design.memories) for kind in kinds}
        largest = max(kinds, key=lambda kind: found[kind].gate_equivalents)
        paths = [path for path in (longest(netlists, kind) for kind in kinds) if path]
        entries[name] = {
            "instances": sum(design.instances[kind] for kind in kinds),
            **found[largest].entries,
            "gate_equivalents_of_all": round(everywhere.gate_equivalents),
            **path_entries(max(paths, key=lambda path: path.cells, default=None)),
            "ecp5_fmax_mhz": None,
            "ecp5_reason": "not among the blocks that are placed",
        }
    return entries


def path_entries(path: Path | None) -> dict[str, object]:
    """Return the entries of a path: its cells, its start and end, and its instances."""
    if path is None:
        return {"longest_path_cells": 0, "path_start": "", "path_end": "", "path_through": []}
    return {
        "longest_path_cells": path.cells,
        "path_start": path.start,
        "path_end": path.end,
        "path_through": [list(part) for part in path.through],
    }


def all_of(design: Design, netlists: dict[str, Netlist], library: Library, names: tuple[str, ...]) -> Sizes:
    """Return the sizes of all instances of the named blocks. Raise InputError if the accelerator has no such block."""
    kinds = [kind for kind in netlists if source_name(kind) in names]
    if not kinds:
        raise InputError(f"the accelerator has no {' or '.join(names)}: runtime/synthesis/blocks.py names its modules")
    total = Sizes()
    for kind in kinds:
        total += sizes(netlists, kind, library, design.memories) * design.instances[kind]
    return total


def summary(design: Design, netlists: dict[str, Netlist], library: Library, names: list[str]) -> dict:
    """Return the entries of a summary. Entries of the whole accelerator are None unless it is among the blocks."""
    blocks = block_entries(design, netlists, library, names)
    whole: dict[str, int | None] = dict.fromkeys(("cells", "flip_flop_bits", "memory_bits", "gate_equivalents"))
    modules = {"multiplier_gate_equivalents": MULTIPLIERS, "requantizer_gate_equivalents": REQUANTIZERS}
    parts: dict[str, int | None] = dict.fromkeys(modules)
    paths: list[dict] = []
    if TOP in names:
        whole |= sizes(netlists, TOP, library, design.memories).entries
        parts |= {
            key: round(all_of(design, netlists, library, names).gate_equivalents) for key, names in modules.items()
        }
        paths = [path_entries(path) for path in between(netlists, TOP)[:LISTED_PATHS]]
    return {
        **whole,
        "longest_path_cells": max(entry["longest_path_cells"] for entry in blocks.values()),
        **parts,
        "library": library.name,
        "memories": dict(sorted(design.memories.items())),
        "blocks": blocks,
        "paths": paths,
    }


# ---- Tables ----


def markdown(found: dict) -> str:
    """Return the tables of a summary: blocks, and the longest paths between them."""
    heads = (
        "block",
        "instances",
        "kGE each",
        "kGE of all",
        "flip-flop bits",
        "memory bits",
        "longest path, cells",
        "from",
        "to",
        "ECP5 MHz",
    )
    lines = [f"| {' | '.join(heads)} |", "|---|--:|--:|--:|--:|--:|--:|---|---|--:|"]
    for name, entry in found["blocks"].items():
        mhz = entry["ecp5_fmax_mhz"]
        lines.append(
            f"| `{name}` | {entry['instances']} | {_thousands(entry['gate_equivalents'])} | "
            f"{_thousands(entry['gate_equivalents_of_all'])} | {entry['flip_flop_bits']:,} | "
            f"{entry['memory_bits']:,} | {entry['longest_path_cells']} | {_code(entry['path_start'])} | "
            f"{_code(entry['path_end'])} | {'' if mhz is None else mhz} |"
        )
    if found["gate_equivalents"] is not None:
        multipliers, requantizers = found["multiplier_gate_equivalents"], found["requantizer_gate_equivalents"]
        lines += [
            "",
            f"Gate equivalents of all multipliers {multipliers:,}, of all requantisers {requantizers:,}: "
            f"{requantizers / multipliers:.2f} times as many.",
        ]
    return "\n".join(lines)


def path_table(found: dict, count: int) -> str:
    """Return a table of the `count` longest paths between blocks."""
    lines = ["| cells | from | to | through (cells) |", "|--:|---|---|---|"]
    for entry in found["paths"][:count]:
        through = ", ".join(f"{place.rpartition('.')[2] or TOP} {cells}" for place, cells, _ in entry["path_through"])
        lines.append(
            f"| {entry['longest_path_cells']} | {_code(entry['path_start'])} | {_code(entry['path_end'])} | {through} |"
        )
    return "\n".join(lines)


def _thousands(gates: int) -> str:
    return f"{gates / 1000:,.1f}"


def _code(name: str) -> str:
    return f"`{name}`" if name else ""
