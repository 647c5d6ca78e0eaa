# SPDX-License-Identifier: Apache-2.0
"""A mapped module: its gates, registers, memories and instances, from yosys's JSON."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from eyrie.model.errors import InputError
from eyrie.runtime.synthesis.library import Library

Json = dict  # a result of json.load
CLOCK = "clk_i"  # of every memory


@dataclass
class Netlist:
    """The netlist of a module. Nets are small numbers; 0 stands for all constants.

    cells           type -> count, without instances of modules
    source, target  for each input of a gate: its net, and the net of the gate's output
    starts, ends    (net, label) of the output pins and input pins of registers and memories
    children        (name, module, port -> nets) of the instances; memories: the modules among them that are memories
    ports           name -> (direction, nets)
    """

    name: str
    size: int
    ports: dict[str, tuple[str, np.ndarray]]
    cells: Counter
    source: np.ndarray
    target: np.ndarray
    starts: list[tuple[int, str]]
    ends: list[tuple[int, str]]
    children: list[tuple[str, str, dict[str, np.ndarray]]]
    memories: list[str]
    netnames: Json = field(repr=False)

    @cached_property
    def names(self) -> dict[int, str]:
        """Return the best name of each net: the designer's before a tool's, then the shortest."""
        return _names(self.netnames)


def _names(netnames: Json) -> dict[int, str]:
    found: dict[int, tuple[bool, bool, int, str]] = {}
    for name, entry in netnames.items():
        hidden = bool(entry.get("hide_name")) or "$" in name
        for index, bit in enumerate(entry["bits"]):
            if isinstance(bit, int):
                label = name if len(entry["bits"]) == 1 else f"{name}[{index}]"
                key = (hidden, not name.endswith("_q"), len(name), label)
                if bit not in found or key < found[bit]:
                    found[bit] = key
    return {bit: key[-1] for bit, key in found.items() if not key[0]}


def nets(bits: list) -> np.ndarray:
    """Return the nets of a port or pin; constants are 0."""
    return np.array([bit if isinstance(bit, int) else 0 for bit in bits], np.int64)


def read(modules: Json, library: Library, memories: dict[str, int]) -> dict[str, Netlist]:
    """Read the netlists of all modules that are neither memories nor cells.

    Raise InputError if the library does not have a cell.
    """
    return {
        name: _read(name, module, modules, library, memories)
        for name, module in modules.items()
        if name not in memories and name not in library.areas
    }


def _read(name: str, module: Json, modules: Json, library: Library, memories: dict[str, int]) -> Netlist:
    found = Netlist(
        name,
        _size(module),
        {port: (entry["direction"], nets(entry["bits"])) for port, entry in module["ports"].items()},
        Counter(),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
        [],
        [],
        [],
        [],
        module["netnames"],
    )
    edges: list[tuple[int, int]] = []
    for key, cell in module["cells"].items():
        kind = cell["type"]
        if kind in memories:
            found.memories.append(kind)
            _add_memory(found, key, cell, modules[kind]["ports"])
        elif kind in library.areas:
            found.cells[kind] += 1
            _add_cell(found, edges, key, cell, library.registers.get(kind))
        elif kind in modules:
            found.children.append((key, kind, {port: nets(bits) for port, bits in cell["connections"].items()}))
        else:
            raise InputError(
                f"{name}: {key} is a {kind}, which is not in {library.name}: only synchronous logic can be mapped"
            )
    if edges:
        found.source, found.target = np.array(edges, np.int64).T
    return found


def _size(module: Json) -> int:
    """Return the largest number of a net, plus one."""
    entries = [*module["ports"].values(), *module["netnames"].values()]
    used = [bit for entry in entries for bit in entry["bits"] if isinstance(bit, int)]
    used += [
        bit
        for cell in module["cells"].values()
        for bits in cell["connections"].values()
        for bit in bits
        if isinstance(bit, int)
    ]
    return max(used, default=0) + 1


def _add_memory(found: Netlist, key: str, cell: Json, ports: Json) -> None:
    for port, bits in cell["connections"].items():
        if port != CLOCK:
            points = found.starts if ports[port]["direction"] == "output" else found.ends
            points += [(int(net), f"{key}.{port}[{index}]") for index, net in enumerate(nets(bits))]


def _add_cell(found: Netlist, edges: list[tuple[int, int]], key: str, cell: Json, clock: str | None) -> None:
    """Add a cell to the netlist; `clock` is the clock pin of a register, None for a gate."""
    pins = {port: bits[0] for port, bits in cell["connections"].items() if isinstance(bits[0], int)}
    outputs = [bit for port, bit in pins.items() if cell["port_directions"][port] == "output"]
    inputs = [bit for port, bit in pins.items() if cell["port_directions"][port] == "input" and port != clock]
    if clock is None:
        edges += [(source, target) for target in outputs for source in inputs]
        return
    label = next((found.names[bit] for bit in outputs if bit in found.names), key)
    found.starts += [(bit, label) for bit in outputs]
    found.ends += [(bit, label) for bit in inputs]
