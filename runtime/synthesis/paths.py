# SPDX-License-Identifier: Apache-2.0
"""The longest paths through a mapped netlist, counted in cells, across its modules.

The hierarchy is laid flat as arrays: a node for each net, an edge from each input of a gate to its output (weight 1)
and from an output of an instance to the net outside (weight 0). A path begins at an input, a register or a memory, and
ends at a register, a memory or an output.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from eyrie.model.errors import InputError
from eyrie.runtime.synthesis.netlist import Netlist

_NOWHERE = -(1 << 30)  # the distance of what no path reaches
_INDEX = re.compile(r"\[\d+\]")


Point = tuple[int, str, str]  # begin or end of a path: node, label, path of the instance


@dataclass(frozen=True)
class Path:
    """A path.

    cells       gates on it
    start, end  register, port or memory pin
    through     instances in turn, the cells of the path in each, and the name of the last net in it that has one
    """

    cells: int
    start: str
    end: str
    through: tuple[tuple[str, int, str], ...]


@dataclass
class _Flat:
    """A flat netlist, with a range of nodes for each instance. Node 0 stands for constants.

    first      first node of each instance
    instances  its path (empty for the top), its netlist, its own nets
    """

    nodes: int = 1
    source: list[np.ndarray] = field(default_factory=list)
    target: list[np.ndarray] = field(default_factory=list)
    weight: list[np.ndarray] = field(default_factory=list)
    starts: list[Point] = field(default_factory=list)
    ends: list[Point] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    instances: list[tuple[str, Netlist, np.ndarray]] = field(default_factory=list)

    def edges(self, source: np.ndarray, target: np.ndarray, weight: int) -> None:
        there = (source > 0) & (target > 0)
        self.source.append(source[there])
        self.target.append(target[there])
        self.weight.append(np.full(there.sum(), weight, np.int64))


def longest(netlists: dict[str, Netlist], top: str) -> Path | None:
    """Return the longest path of a module with its instances, or None if no path has a gate.

    Raise InputError for a combinational loop.
    """
    flat = _laid_out(netlists, top)
    return _Graph(flat).longest(flat.starts, [flat.ends])[0]


def between(netlists: dict[str, Netlist], top: str) -> list[Path]:
    """Return, for each pair of blocks, the longest path from one to the other; longest first.

    Instances that differ only in an index are one block. Raise InputError for a combinational loop.
    """
    flat = _laid_out(netlists, top)
    graph, ends = _Graph(flat), list(_by_block(flat.ends))
    found = [path for starts in _by_block(flat.starts) for path in graph.longest(starts, ends) if path]
    return sorted(found, key=lambda path: -path.cells)


def _by_block(points: list[Point]) -> list[list[Point]]:
    blocks: dict[str, list[Point]] = {}
    for point in points:
        blocks.setdefault(_INDEX.sub("", point[2]), []).append(point)
    return list(blocks.values())


def _laid_out(netlists: dict[str, Netlist], top: str) -> _Flat:
    flat = _Flat()
    bound = {}
    for port, (direction, bits) in netlists[top].ports.items():
        bound[port] = np.arange(flat.nodes, flat.nodes + len(bits))
        flat.nodes += len(bits)
        points = flat.starts if direction == "input" else flat.ends
        for index, node in enumerate(bound[port]):
            points.append((int(node), f"{direction} {port}" + (f"[{index}]" if len(bits) > 1 else ""), ""))
    _lay(flat, netlists, top, "", bound)
    return flat


def _lay(flat: _Flat, netlists: dict[str, Netlist], name: str, path: str, bound: dict[str, np.ndarray]) -> None:
    """Lay out an instance; `bound` has the outer nodes of its ports."""
    netlist = netlists[name]
    node = np.full(netlist.size, -1, np.int64)
    for port, (direction, bits) in netlist.ports.items():
        if direction == "input" and port in bound:
            node[bits] = bound[port]
    node[0] = 0
    own = np.flatnonzero(node < 0)
    flat.first.append(flat.nodes)
    flat.instances.append((path, netlist, own))
    node[own] = np.arange(flat.nodes, flat.nodes + len(own))
    flat.nodes += len(own)
    flat.edges(node[netlist.source], node[netlist.target], 1)
    for port, (direction, bits) in netlist.ports.items():
        if direction != "input" and port in bound:
            flat.edges(node[bits], bound[port], 0)
    flat.starts += [(int(node[net]), _join(path, label), path) for net, label in netlist.starts if net]
    flat.ends += [(int(node[net]), _join(path, label), path) for net, label in netlist.ends if net]
    for key, child, pins in netlist.children:
        _lay(flat, netlists, child, _join(path, key), {port: node[bits] for port, bits in pins.items()})


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class _Graph:
    """The edges in levels: an edge of a level leaves a node that only edges of earlier levels enter."""

    def __init__(self, flat: _Flat) -> None:
        self.flat = flat
        source, target, weight = map(np.concatenate, (flat.source, flat.target, flat.weight))
        order = np.argsort(source, kind="stable")
        source, target, weight = source[order], target[order], weight[order]
        self.levels = self._levels(source, target)
        self.edges = [(source[level], target[level], weight[level]) for level in self.levels]
        by_target = np.argsort(target, kind="stable")
        self.source, self.target, self.weight = source[by_target], target[by_target], weight[by_target]

    def _levels(self, source: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
        """Return the indices of the edges in each level; the edges are sorted by source."""
        nodes = self.flat.nodes
        begin = np.searchsorted(source, np.arange(nodes + 1))
        missing = np.bincount(target, minlength=nodes)
        ready = np.flatnonzero(missing == 0)
        done, levels = 0, []
        while len(ready):
            done += len(ready)
            counts = begin[ready + 1] - begin[ready]
            before = np.concatenate(([0], counts.cumsum()[:-1]))
            levels.append(np.repeat(begin[ready] - before, counts) + np.arange(counts.sum()))
            reached = target[levels[-1]]
            np.subtract.at(missing, reached, 1)
            ready = np.unique(reached[missing[reached] == 0])
        if done < nodes:
            place = self._place(int(np.flatnonzero(missing > 0)[0]))[0]
            raise InputError(f"a combinational loop in or after {place or 'the top'}")
        return levels

    def longest(self, starts: list[Point], groups: list[list[Point]]) -> list[Path | None]:
        """Return the longest path from any of the starts to any end of each group; None if it has no gate."""
        distance = np.full(self.flat.nodes, _NOWHERE, np.int64)
        distance[[node for node, _, _ in starts]] = 0
        for source, target, weight in self.edges:
            reached = np.flatnonzero(distance[source] >= 0)
            np.maximum.at(distance, target[reached], distance[source[reached]] + weight[reached])
        labels = {node: label for node, label, _ in starts}
        found: list[Path | None] = []
        for ends in groups:
            node, label, _ = max(ends, key=lambda end: distance[end[0]])
            found.append(self._path(distance, labels, node, label) if distance[node] > 0 else None)
        return found

    def _path(self, distance: np.ndarray, starts: dict[int, str], node: int, end: str) -> Path:
        cells, through = int(distance[node]), []
        while distance[node] > 0 or node not in starts:
            edges = np.arange(*np.searchsorted(self.target, [node, node + 1]))
            edge = int(edges[np.flatnonzero(distance[self.source[edges]] + self.weight[edges] == distance[node])[0]])
            if self.weight[edge]:
                through.append(self._place(node))
            node = int(self.source[edge])
        groups: list[list] = []
        for place, name in reversed(through):
            if not groups or groups[-1][0] != place:
                groups.append([place, 0, ""])
            groups[-1][1] += 1
            groups[-1][2] = name or groups[-1][2]
        return Path(cells, starts[node], end, tuple((place, number, name) for place, number, name in groups))

    def _place(self, node: int) -> tuple[str, str]:
        """Return the path of the instance that has a node, empty for the top, and the node's name there, if any."""
        index = bisect_right(self.flat.first, node) - 1
        if index < 0:
            return "", ""
        path, netlist, own = self.flat.instances[index]
        return path, netlist.names.get(int(own[node - self.flat.first[index]]), "")
