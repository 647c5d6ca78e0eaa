# SPDX-License-Identifier: Apache-2.0
"""The elaborated accelerator: equal modules, the number of instances of each, and memories.

A design is yosys's JSON of an elaborated hierarchy in which every instance has a module of its own, named
`module$path.of.instance`. Equal modules become one, so that each is synthesised once.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from eyrie.model.errors import InputError

Json = dict  # a result of json.load

_SET = format(1, "032b")  # an attribute that holds
MEMORY_BITS = 1024  # from which on an instance of rtl/tech counts as a memory
_REGISTERS = "dff"  # in the type of every word-level register: $dff, $adffe, $aldff, $sdff, ...


@dataclass
class Design:
    """Modules without duplicates.

    modules    name -> yosys's JSON. The name is from the source, with .2, .3, ... if parameters or constants differ
    instances  module -> how many instances the accelerator has
    memories   module -> bits, for modules that count as memory
    """

    top: str
    modules: dict[str, Json]
    instances: Counter
    memories: dict[str, int] = field(default_factory=dict)


def source_name(name: str) -> str:
    """Return the name of a module in the source: `fifo` for `fifo$eyrie.u_dma.u_fifo` and for `fifo.3`."""
    return name.split("$")[0].split(".")[0]


def merged(modules: dict[str, Json], top: str) -> Design:
    """Return the design without duplicates. Modules that differ only in names and dead logic become one."""
    names: dict[str, str] = {}  # module of the hierarchy -> module that represents it
    known: dict[str, str] = {}  # digest -> module that represents it
    variants: Counter = Counter()
    kept: dict[str, Json] = {}

    def visit(name: str) -> str:
        if name not in names:
            module = modules[name]
            inner = {cell["type"]: visit(cell["type"]) for cell in module["cells"].values() if cell["type"] in modules}
            digest = _digest(module, inner)
            if digest not in known:
                source = source_name(name)
                variants[source] += 1
                known[digest] = source if variants[source] == 1 else f"{source}.{variants[source]}"
                cells = {
                    key: cell | {"type": inner.get(cell["type"], cell["type"])} for key, cell in module["cells"].items()
                }
                kept[known[digest]] = module | {"cells": cells}
            names[name] = known[digest]
        return names[name]

    visit(top)
    return Design(names[top], kept, _instances(kept, names[top]))


def _instances(modules: dict[str, Json], top: str) -> Counter:
    """Count the instances of each module in `top`, itself included."""
    counts: Counter = Counter()
    left = [top]
    while left:
        name = left.pop()
        counts[name] += 1
        left += [cell["type"] for cell in modules[name]["cells"].values() if cell["type"] in modules]
    return counts


def _drivers(cells: Json) -> dict[int, str]:
    """Return the cell that drives each bit."""
    return {
        bit: name
        for name, cell in cells.items()
        for port, bits in cell["connections"].items()
        if cell["port_directions"].get(port) != "input"
        for bit in bits
        if isinstance(bit, int)
    }


def _digest(module: Json, inner: dict[str, str]) -> str:
    """Return a digest that is equal for modules with equal logic, whatever the names and the order of their cells.

    Every bit has one driver. A walk from the outputs to their drivers, port by port, therefore meets the cells of equal
    modules in the same order. Logic that no output depends on is left out.
    """
    cells = module["cells"]
    drivers = _drivers(cells)
    writers: dict[str, list[str]] = {}  # of a memory
    for name, cell in cells.items():
        if "MEMID" in cell["parameters"] and cell["type"] in ("$memwr_v2", "$meminit_v2"):
            writers.setdefault(cell["parameters"]["MEMID"], []).append(name)
    numbers: dict[int | str, int | str] = {bit: bit for bit in ("0", "1", "x", "z")}
    met: dict[str, int] = {}
    memory_numbers: dict[str, int] = {}
    records: list = []
    work: deque[str] = deque()

    def number(bits: list) -> list:
        for bit in bits:
            if bit not in numbers:
                numbers[bit] = len(numbers)
                if bit in drivers:
                    work.append(drivers[bit])
        return [numbers[bit] for bit in bits]

    def parameters(cell: Json) -> list:
        found = dict(cell["parameters"])
        memory = found.get("MEMID")
        if memory is not None:
            if memory not in memory_numbers:
                memory_numbers[memory] = len(memory_numbers)
                held = module["memories"][memory.removeprefix("\\")]
                records.append([held["width"], held["size"], held["start_offset"]])
                work.extend(sorted(writers.get(memory, []), key=lambda name: cells[name]["parameters"]["PORTID"]))
            found["MEMID"] = memory_numbers[memory]
        return sorted(found.items())

    def walk() -> None:
        while work:
            name = work.popleft()
            if name not in met:
                met[name] = len(met)
                cell = cells[name]
                ports = [[port, number(bits)] for port, bits in sorted(cell["connections"].items())]
                records.append([inner.get(cell["type"], cell["type"]), parameters(cell), ports])

    for port, entry in sorted(module["ports"].items()):
        records.append([port, entry["direction"], number(entry["bits"])])
    walk()
    for name in sorted(name for name, cell in cells.items() if cell["type"] in inner):
        work.append(name)
        walk()
    return hashlib.sha256(repr(records).encode()).hexdigest()


# ---- Memories ----


def find_memories(design: Design, also: tuple[str, ...] = ()) -> None:
    """Fill design.memories: modules of rtl/tech with MEMORY_BITS or more, and the modules named in `also`.

    Raise InputError, with one line, if a read is not registered, or a named module has no memory.
    """
    for name, module in design.modules.items():
        bits = memory_bits(design, name)
        tech = module["attributes"].get("src", "").startswith("rtl/tech/")
        if bits and (source_name(name) in also or (tech and bits >= MEMORY_BITS)):
            path = next(unregistered(design, name), None)
            if path is not None:
                raise InputError(
                    f"{source_name(name)}: {path[1]} depends on {path[0]} in the same cycle: what counts "
                    "as memory has registered reads"
                )
            design.memories[name] = bits
    for name in also:
        if name not in map(source_name, design.memories):
            raise InputError(f"{name}: no module of the accelerator with a memory has this name")


def memory_bits(design: Design, name: str) -> int:
    """Return the bits of the arrays in a module and in its instances."""
    module = design.modules[name]
    own = sum(memory["width"] * memory["size"] for memory in module.get("memories", {}).values())
    return own + sum(
        memory_bits(design, cell["type"]) for cell in module["cells"].values() if cell["type"] in design.modules
    )


def unregistered(design: Design, name: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of an input and an output that depends on it in the same cycle. An instance counts as a path."""
    module = design.modules[name]
    readers: dict[int, list[Json]] = {}
    for cell in module["cells"].values():
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) != "output":
                for bit in bits:
                    readers.setdefault(bit, []).append(cell)
    for port, entry in module["ports"].items():
        if entry["direction"] == "input":
            reached = _reached(entry["bits"], readers)
            for out, other in module["ports"].items():
                if other["direction"] == "output" and not reached.isdisjoint(other["bits"]):
                    yield port, out


def _reached(bits: list, readers: dict[int, list[Json]]) -> set:
    """Return the bits that depend on some of `bits` without a register between."""
    reached, left = {bit for bit in bits if isinstance(bit, int)}, list(bits)
    while left:
        for cell in readers.get(left.pop(), []):
            if _REGISTERS in cell["type"] or cell["type"] == "$memwr_v2" or _clocked_read(cell):
                continue
            for port, outputs in cell["connections"].items():
                if cell["port_directions"].get(port) != "input":
                    new = [bit for bit in outputs if isinstance(bit, int) and bit not in reached]
                    reached.update(new)
                    left += new
    return reached


def _clocked_read(cell: Json) -> bool:
    return cell["type"] == "$memrd_v2" and int(cell["parameters"]["CLK_ENABLE"], 2) == 1


# ---- What yosys gets ----


def for_mapping(design: Design, blocks: set[str]) -> dict[str, Json]:
    """Return the modules, with memories as black boxes. Only the blocks (names of the source) are kept apart."""
    modules = {}
    for name, module in design.modules.items():
        attributes = dict(module["attributes"])
        if source_name(name) in blocks:
            attributes["keep_hierarchy"] = _SET
        kept = module | {"attributes": attributes}
        modules[name] = black_box(module) if name in design.memories else kept
    return modules


def black_box(module: Json) -> Json:
    """Return a module with the ports only, which yosys does not map."""
    attributes = module["attributes"] | {"blackbox": _SET}
    return {"ports": module["ports"], "cells": {}, "netnames": {}, "attributes": attributes}


def contents(design: Design, blocks: set[str]) -> dict[str, str]:
    """Return a digest of each module. Blocks (names of the source) and memories in a module count by their ports."""
    found: dict[str, str] = {}

    def seen_from_outside(name: str) -> str:
        own = visit(name)
        if name not in design.memories and source_name(name) not in blocks:
            return own
        ports = design.modules[name]["ports"]
        pins = sorted((port, entry["direction"], len(entry["bits"])) for port, entry in ports.items())
        return f"box {source_name(name)}{pins!r}"

    def visit(name: str) -> str:
        if name not in found:
            module = design.modules[name]
            inner = {cell["type"] for cell in module["cells"].values() if cell["type"] in design.modules}
            found[name] = _digest(module, {kind: seen_from_outside(kind) for kind in inner})
        return found[name]

    visit(design.top)
    return found
