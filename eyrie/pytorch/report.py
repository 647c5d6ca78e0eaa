# SPDX-License-Identifier: Apache-2.0
"""What ran where."""

import json
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
from eyrie.runtime.session import Session


@dataclass(frozen=True)
class OnAccelerator:
    """A region of a graph.

    operators  those of PyTorch by name, without QUANTIZE and DEQUANTIZE: how many
    macs       MACs of weights for one image
    cycles     that the cost model expects for one image
    host       operators that the accelerator does not run together with the others: place and name
    """

    name: str
    nodes: tuple[str, ...]
    operators: Mapping[str, int]
    macs: int
    cycles: int
    host: tuple[str, ...]


@dataclass(frozen=True)
class InPyTorch:
    """An operator that was left to PyTorch. name: of its node."""

    name: str
    operator: str
    reason: str


@dataclass(frozen=True)
class Report:
    """Of one graph."""

    regions: tuple[OnAccelerator, ...]
    rest: tuple[InPyTorch, ...]

    def __str__(self) -> str:
        lines = []
        for region in self.regions:
            count = sum(region.operators.values())
            lines.append(
                f"machine  {region.name:12} {count:3} operators {region.macs:13,} MACs "
                f"{region.cycles:11,} cycles  {_counted(region.operators)}"
            )
            lines += [f"         host: {name}" for name in region.host]
        reasons: dict[str, list[str]] = {}
        for each in self.rest:
            reasons.setdefault(each.reason, []).append(each.name)
        lines += [f"PyTorch  {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        return "\n".join(lines)


def report_of(
    module: GraphModule, placed: Iterable[tuple[str, Region, Session]], reasons: Mapping[Node, str]
) -> Report:
    """placed: regions by name; reasons: why a node is in none."""
    rest = tuple(
        InPyTorch(node.name, short(node), reasons[node])
        for node in module.graph.nodes
        if node in reasons and _computes(node)
    )
    return Report(tuple(_on_accelerator(*each) for each in placed), rest)


def _on_accelerator(name: str, region: Region, session: Session) -> OnAccelerator:
    nodes = [node for node in region.nodes if _computes(node)]
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in session.folders if folder]
    macs = sum(node.macs for node in session.graph.nodes)
    return OnAccelerator(
        name,
        tuple(node.name for node in nodes),
        dict(Counter(short(node) for node in nodes)),
        macs,
        sum(summary["cycles"] for summary in summaries),
        session.host,
    )


def _computes(node: Node) -> bool:
    return node.target is not getitem and "quantize_per_" not in short(node)


def _counted(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in operators.items())


_REPORTS: list[tuple[Report, list[weakref.ref[Tensor]]]] = []


def keep(report: Report, tensors: Iterable[Tensor]) -> None:
    """tensors: of the model that the graph is of."""
    _REPORTS.append((report, [weakref.ref(tensor) for tensor in tensors]))


def reports(model: nn.Module) -> list[Report]:
    """Of all graphs that have been compiled of a model, the last one at the end: it has one for each form of its
    inputs, and for each part where PyTorch breaks it. `model`: what torch.compile was given, or gave. Raises
    InputError, in one line, where there are none."""
    own = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
    found = [report for report, tensors in _REPORTS if any(id(ref()) in own for ref in tensors)]
    if not found:
        raise InputError("nothing of this model has been compiled: call what torch.compile gave once")
    return found


def report(model: nn.Module) -> Report:
    """The last one of `reports`."""
    return reports(model)[-1]
