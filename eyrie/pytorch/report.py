# SPDX-License-Identifier: Apache-2.0
"""The report of a compiled model: the operators on the accelerator, on the host, and in PyTorch."""

import weakref
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import getitem

from torch import Tensor, nn
from torch.fx import GraphModule, Node

from eyrie.compiler.frontend.pytorch.call import short
from eyrie.compiler.frontend.pytorch.regions import Region
from eyrie.model.errors import InputError
from eyrie.model.messages import number_of
from eyrie.session import Session


@dataclass(frozen=True)
class OnAccelerator:
    """A region of a graph.

    operators  number of PyTorch operators by name, without QUANTIZE and DEQUANTIZE
    macs       MACs of weights for one image
    cycles     predicted cycles for one image
    host       operators that the accelerator does not run together with the others: position and name
    """

    name: str
    nodes: tuple[str, ...]
    operators: Mapping[str, int]
    macs: int
    cycles: int
    host: tuple[str, ...]


@dataclass(frozen=True)
class InPyTorch:
    """An operator that PyTorch runs. name: of its node."""

    name: str
    operator: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The report of one graph."""

    regions: tuple[OnAccelerator, ...]
    rest: tuple[InPyTorch, ...]

    def __str__(self) -> str:
        lines = []
        for region in self.regions:
            count = sum(region.operators.values())
            lines.append(
                f"accelerator {region.name:12} {number_of(count, 'operator'):>13} {region.macs:13,} MACs "
                f"{region.cycles:11,} cycles  {_counted(region.operators)}"
            )
            lines += [f"            host: {name}" for name in region.host]
        reasons: dict[str, list[str]] = {}
        for each in self.rest:
            reasons.setdefault(each.reason, []).append(each.name)
        lines += [f"PyTorch     {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        return "\n".join(lines)


def report_of(
    module: GraphModule, placed: Iterable[tuple[str, Region, Session]], reasons: Mapping[Node, str]
) -> Report:
    """Return the report; `placed` has regions by name, `reasons` why a node is in no region."""
    rest = tuple(
        InPyTorch(node.name, short(node), reasons[node])
        for node in module.graph.nodes
        if node in reasons and _computes(node)
    )
    return Report(tuple(_on_accelerator(*each) for each in placed), rest)


def _on_accelerator(name: str, region: Region, session: Session) -> OnAccelerator:
    nodes = [node for node in region.nodes if _computes(node)]
    macs = sum(node.macs for node in session.network.whole_graph().nodes)
    return OnAccelerator(
        name,
        tuple(node.name for node in nodes),
        dict(Counter(short(node) for node in nodes)),
        macs,
        session.network.predicted_cycles,
        session.network.host,
    )


def _computes(node: Node) -> bool:
    return node.target is not getitem and "quantize_per_" not in short(node)


def _counted(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in operators.items())


_REPORTS: list[tuple[Report, list[weakref.ref[Tensor]]]] = []


def keep(report: Report, tensors: Iterable[Tensor]) -> None:
    """Store a report; `tensors` belong to the model of the graph."""
    _REPORTS.append((report, [weakref.ref(tensor) for tensor in tensors]))


def reports(model: nn.Module) -> list[Report]:
    """Return the reports of all graphs that were compiled of a model, the newest last.

    A model has a graph for each form of its inputs, and for each part if PyTorch breaks it. `model` is the argument or
    the result of torch.compile. Raise InputError, with one line, if no graph was compiled.
    """
    own = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
    if not own:
        raise InputError("a model without parameters and buffers has no report")
    found = [report for report, tensors in _REPORTS if any(id(ref()) in own for ref in tensors)]
    if not found:
        raise InputError("no graph of this model has been compiled: call the result of torch.compile once")
    return found


def report(model: nn.Module) -> Report:
    """Return the last one of `reports`."""
    return reports(model)[-1]
