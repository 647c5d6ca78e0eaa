# SPDX-License-Identifier: Apache-2.0
"""The choice of nodes of an FX graph that become Graphs for the accelerator.

A unit is a QUANTIZE with the float operators before it, back to the DEQUANTIZEs of their inputs. Units that share an
operator are one unit. A unit is supported if it becomes a Graph that the accelerator runs. Regions are maximal convex
sets of supported units; their inputs and outputs are int8.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import TypeGuard

import numpy as np
import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from eyrie.compiler.frontend.pytorch.aliases import changed_in_place
from eyrie.compiler.frontend.pytorch.call import Batch, short
from eyrie.compiler.frontend.pytorch.operators import changes_nothing
from eyrie.compiler.frontend.pytorch.read import codes_of, network_of
from eyrie.compiler.frontend.qdq import graph_of
from eyrie.compiler.frontend.qdq.maps import map_axes
from eyrie.compiler.ir.failure import CompileError, Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Unknown

Obstacle = Callable[[Graph], str]  # the reason why the accelerator does not run a Graph, "" if it does
DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor"
QUANTIZE = "quantized_decomposed::quantize_per_tensor"
NOT_QUANTISED = "it is not between int8 values"


@dataclass(frozen=True, eq=False)
class Region:
    """Nodes that become one Graph.

    nodes: in order, with the DEQUANTIZEs of constants; taken, made: its inputs and outputs, which have codes
    """

    nodes: tuple[Node, ...]
    taken: tuple[Node, ...]
    made: tuple[Node, ...]
    graph: Graph

    @property
    def maps(self) -> frozenset[int]:
        """Return the numbers of axes of inputs and outputs that have channels last."""
        return map_axes(map(short, self.nodes))

    @property
    def outside(self) -> tuple[Node, ...]:
        """Return the inputs of the nodes from outside, with constants, in the order of their first use."""
        inside = set(self.nodes)
        return tuple(dict.fromkeys(each for node in self.nodes for each in node.all_input_nodes if each not in inside))


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of a graph. reasons: for each operator that is in no region, the reason"""

    regions: tuple[Region, ...]
    reasons: Mapping[Node, str]


def is_a(node: object, name: str) -> TypeGuard[Node]:
    return (
        isinstance(node, Node) and isinstance(node.target, torch._ops.OpOverload) and node.target._schema.name == name
    )


def is_a_dequantize(node: Node) -> bool:
    """Return whether a node dequantises, by a scale or by one for each channel."""
    return node.op == "call_function" and "::dequantize_per_" in getattr(node.target, "_schema", node).name


def regions_of(module: GraphModule, constants: Mapping[Node, np.ndarray], obstacle: Obstacle) -> Regions:
    """Return the regions of a module.

    constants: values of nodes that are the same in every run; obstacle: the reason why a unit is not supported. The
    function changes `module`: DEQUANTIZEs, and operators on constants, get one reader each, and a QUANTIZE that repeats
    the scale of its input goes.
    """
    return of_module(module, constants).found(obstacle)


def _without_idle(module: GraphModule, changed: Collection[Node]) -> None:
    for node in list(module.graph.nodes):
        source: object = node.args[0] if is_a(node, QUANTIZE) and node.args[0] not in changed else None
        while isinstance(source, Node) and changes_nothing(source):
            source = source.args[0]
        if is_a(source, DEQUANTIZE) and source.args[1:] == node.args[1:]:
            codes = source.all_input_nodes[0]
            node.replace_all_uses_with(codes)
            while node is not codes and not node.users:
                unread, node = node, node.all_input_nodes[0]
                module.graph.erase_node(unread)


def _one_reader_each(module: GraphModule, constants: Mapping[Node, np.ndarray], changed: Collection[Node]) -> None:
    """Copy DEQUANTIZEs, and operators on constants, so that each has one reader."""
    fixed = _of_constants(module, constants)
    for node in reversed(list(module.graph.nodes)):
        if (node in fixed or is_a_dequantize(node)) and node not in changed:
            for reader in list(node.users)[1:]:
                with module.graph.inserting_after(node):
                    copy = module.graph.node_copy(node)
                reader.replace_input_with(node, copy)
    module.graph.lint()


def of_module(module: GraphModule, constants: Mapping[Node, np.ndarray]) -> "Finder":
    """Return the regions of a module in progress; change it as `regions_of` says."""
    changed = changed_in_place(module.graph)
    _without_idle(module, changed)
    _one_reader_each(module, constants, changed)
    return Finder(module, constants, changed)


def _is_pure(node: Node) -> bool:
    """Return whether an operator makes the same values of the same inputs, which it leaves as they are."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return node.target is getitem
    return not node.target._schema.is_mutable and torch.Tag.nondeterministic_seeded not in node.target.tags


def _of_constants(module: GraphModule, constants: Mapping[Node, np.ndarray]) -> set[Node]:
    """Return the nodes that compute constants from constants."""
    fixed: set[Node] = set()
    for node in module.graph.nodes:
        inputs, known = node.all_input_nodes, constants.keys() | fixed
        if _is_pure(node) and inputs and known.issuperset(inputs):
            fixed.add(node)
    return fixed


class Finder:
    """The search for regions. changed: values that operators change in place; no region has one"""

    def __init__(self, module: GraphModule, constants: Mapping[Node, np.ndarray], changed: Mapping[Node, Node]) -> None:
        self.module, self.constants, self.changed = module, constants, changed
        self.order = {node: number for number, node in enumerate(module.graph.nodes)}
        self.fixed = _of_constants(module, constants)
        self.reasons: dict[Node, str] = {}

    def found(self, obstacle: Obstacle) -> Regions:
        supported = self._supported(obstacle)
        regions = []
        for nodes in self._partitions(supported):
            try:
                regions.append(self.region(nodes))
            except CompileError as failure:
                self.reasons |= dict.fromkeys(nodes, failure.what)
        regions.sort(key=lambda region: self.order[region.nodes[0]])
        inside = {node for region in regions for node in region.nodes}
        reasons = {
            node: self.reasons.get(node) or NOT_QUANTISED
            for node in self.module.graph.nodes
            if node.op.startswith("call_") and node not in inside and node not in self.fixed
        }
        return Regions(tuple(regions), reasons)

    def _supported(self, obstacle: Obstacle) -> list[set[Node]]:
        """Return the units that the accelerator supports.

        A unit that it supports only together with its neighbours, such as a data-movement operator, forms one unit with
        them.
        """
        supported: list[set[Node]] = []
        failed: list[set[Node]] = []
        for unit in self._units():
            (supported if self._is_supported(unit, obstacle) else failed).append(unit)
        for unit in failed[:]:
            for together in self._together(unit, [*supported, *failed]):
                if unit in failed and self._is_supported(together, obstacle):
                    supported = [each for each in supported if not each & together] + [together]
                    failed = [each for each in failed if not each & together]
                    break
        return supported

    def _is_supported(self, unit: set[Node], obstacle: Obstacle) -> bool:
        """Return whether the accelerator runs a unit; if it does not, keep the reason."""
        try:
            self._check(self.region(unit), obstacle)
        except CompileError as failure:
            self.reasons |= {node: self.reasons.get(node, failure.what) for node in unit}
            return False
        return True

    def _together(self, unit: set[Node], units: list[set[Node]]) -> Iterator[set[Node]]:
        """Yield a unit with the units that read its values, with the units that make its inputs, and with both."""
        behind = [
            each for each in units if each is not unit and any(reader in each for node in unit for reader in node.users)
        ]
        before = [
            each
            for each in units
            if each is not unit and any(source in each for node in unit for source in node.all_input_nodes)
        ]
        for others in (behind, before, [*before, *behind]):
            if others:
                yield unit.union(*others)

    # ---- Units ----

    def _units(self) -> list[set[Node]]:
        """Return all units, in the order of their last nodes."""
        units: list[set[Node]] = []
        for node in self.module.graph.nodes:
            if is_a(node, QUANTIZE) and node not in self.fixed:
                unit = self._behind(node)
                for other in [each for each in units if each & unit]:
                    units.remove(other)
                    unit |= other
                units.append(unit)
        return units

    def _behind(self, node: Node) -> set[Node]:
        """Return a node and the nodes that it depends on, back to DEQUANTIZEs and inputs."""
        found, waiting = set(), [node]
        while waiting:
            each = waiting.pop()
            if each in found or each.op != "call_function":
                continue
            found.add(each)
            if not is_a(each, DEQUANTIZE) or each in self.fixed:
                waiting += each.all_input_nodes
        return found

    def _check(self, region: Region, obstacle: Obstacle) -> None:
        """Raise Unsupported if the accelerator does not support the region."""
        for node in region.graph.nodes:
            if isinstance(node.operator, Unknown):
                raise Unsupported(f"{node.operator.name}: {node.operator.reason}")
        if found := obstacle(region.graph):
            raise Unsupported(found)

    def region(self, nodes: set[Node], results: Sequence[Node] = ()) -> Region:
        """Return the region of nodes. results: its outputs in their order, for a whole model

        Raise CompileError if an input or output has no codes, or if it makes no Graph.
        """
        ordered = sorted(nodes, key=self.order.__getitem__)
        taken, made = list[Node](), list[Node]()
        for node in ordered:
            for each in node.all_input_nodes:
                if each not in nodes and each not in self.constants and each not in taken:
                    taken.append(each)
            if node not in self.fixed and any(reader not in nodes for reader in node.users):
                made.append(node)
        for node in (*taken, *made):
            _check_end(node)
        if not taken:
            raise Unsupported("it takes constants alone")
        if changed := [each for each in (*taken, *ordered) if each in self.changed]:
            raise Unsupported(f"{short(self.changed[changed[0]])} changes {changed[0].name} in place")
        made = list(results) or made
        batch = Batch(taken[0].meta["example_value"].shape[0])
        used = {
            each: self.constants[each] for node in ordered for each in node.all_input_nodes if each in self.constants
        }
        network = network_of(ordered, taken, made, used, self.fixed | self.constants.keys(), batch, self.order)
        return Region(tuple(ordered), tuple(taken), tuple(made), graph_of(network))

    # ---- Regions ----

    def _partitions(self, supported: list[set[Node]]) -> list[set[Node]]:
        """Return the partitions of units. To the partitioner, a unit is one node, so that it is never split."""
        blocks = [*supported, *({node} for node in self.order if not any(node in unit for unit in supported))]
        graph = torch.fx.Graph()
        block_of: dict[Node, Node] = {}
        for block in self._ordered(blocks):
            needed = {
                block_of[each]: None
                for node in sorted(block, key=self.order.__getitem__)
                for each in node.all_input_nodes
                if each not in block
            }
            made = graph.create_node("call_function", _unit if block in supported else _other, tuple(needed))
            block_of |= dict.fromkeys(block, made)

        class Support(OperatorSupportBase):
            def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
                return node.target is _unit

        partitioner = CapabilityBasedPartitioner(
            GraphModule({}, graph), Support(), allows_single_node_partition=True, skip_horizontal_fusion=True
        )
        parts = [set(partition.nodes) for partition in partitioner.propose_partitions()]
        return [{node for node, block in block_of.items() if block in part} for part in parts]

    def _ordered(self, blocks: list[set[Node]]) -> list[set[Node]]:
        """Return the blocks in dependency order. A unit that depends on itself through others is split into its nodes,
        which are then in no region."""
        waiting, done, ordered = sorted(blocks, key=self._last), set(), []
        while waiting:
            ready = next(
                (
                    block
                    for block in waiting
                    if all(each in done or each in block for node in block for each in node.all_input_nodes)
                ),
                None,
            )
            if ready is None:
                ready = next(block for block in waiting if len(block) > 1)
                waiting = sorted(
                    [*(block for block in waiting if block is not ready), *({node} for node in ready)], key=self._last
                )
                self.reasons |= dict.fromkeys(ready, "its input depends on its output")
                continue
            waiting.remove(ready)
            done |= ready
            ordered.append(ready)
        return ordered

    def _last(self, block: set[Node]) -> int:
        return max(self.order[node] for node in block)


def _unit(*needed: object) -> None:
    """Stand for a unit."""


def _other(*needed: object) -> None:
    """Stand for a node that is in no unit."""


def _check_end(node: Node) -> None:
    """Raise Unsupported if an input or output is not a tensor of codes."""
    try:
        codes_of(node)
    except Unsupported:
        of = f"of {short(node)} " if node.op == "call_function" and node.target is not getitem else ""
        raise Unsupported(f"a value {of}that is not quantised goes in or out: quantise it") from None
    if not node.meta["example_value"].dim():
        raise Unsupported("it takes a single value, without images")
