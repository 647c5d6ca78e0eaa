# SPDX-License-Identifier: Apache-2.0
"""The back end "eyrie" of torch.compile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.passes.tools_common import stable_topological_sort
from torch.fx.passes.utils.fuser_utils import erase_nodes, fuse_as_graphmodule, insert_subgm

from eyrie.compiler.frontend.pytorch.regions import Region, regions_of
from eyrie.compiler.ir.failure import CompileError
from eyrie.compiler.passes.obstacle import obstacle
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.pytorch.region import OnAccelerator
from eyrie.pytorch.report import keep, report_of
from eyrie.pytorch.tensors import arrays_of, fixed_tensors
from eyrie.runtime.back_ends import back_end_class
from eyrie.runtime.configurations import Configuration, config_of
from eyrie.session import Session, session_of


@dataclass(frozen=True)
class Options:
    """The options of torch.compile(..., options={...}).

    back_end  functional: the functional simulator; rtl: the simulated RTL; cosim: both, compared; golden: the
              golden model of the Graphs; c: the Graphs as portable C
    config    the default one if None, an AcceleratorConfig, names and numbers, or a JSON file of these
    """

    back_end: str = "functional"
    config: Configuration = None

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "Options":
        """Return the options. Raise InputError, with one line, if a name or a value is unknown."""
        for name in given:
            if name not in cls.__dataclass_fields__:
                raise InputError(unknown("option", str(name), list(cls.__dataclass_fields__)))
        back_end, config = given.get("back_end", cls.back_end), given.get("config")
        back_end_class(back_end)
        if config is not None and not isinstance(config, AcceleratorConfig | Mapping | str | PathLike):
            raise InputError(f"config {config}: give an AcceleratorConfig, names and numbers, or a JSON file of these")
        return cls(str(back_end), config)

    @property
    def accelerator(self) -> AcceleratorConfig:
        return config_of(self.config)


def eyrie(
    module: GraphModule,
    example_inputs: list[Tensor],
    *,
    options: Mapping[str, object] | None = None,
    mode: str | None = None,
) -> Callable[..., tuple[Tensor, ...]]:
    """Return a graph whose regions of int8 operators run on the accelerator; PyTorch runs the rest.

    Raise InputError, with one line, if an option is invalid.
    """
    if mode not in (None, "default"):
        raise InputError(f"mode {mode} is not one of this back end's: give options")
    chosen = Options.of(options or {})
    config = chosen.accelerator
    known = fixed_tensors(module, example_inputs)
    found = regions_of(module, arrays_of(known), obstacle)
    reasons, placed = dict(found.reasons), list[tuple[str, Region, Session]]()
    for region in found.regions:
        name = f"region{len(placed)}"
        try:
            session = session_of(region.graph, f"torch-{name}", config, chosen.back_end)
        except CompileError as failure:
            reasons |= dict.fromkeys(region.nodes, failure.what)
            continue
        placed.append((name, region, session))
    report = report_of(module, placed, reasons)
    modules = [OnAccelerator(session, _taken(region, known), region.maps) for _, region, session in placed]
    for (name, region, _), on_accelerator in zip(placed, modules):
        _place(module, f"eyrie_{name}", list(region.nodes), on_accelerator)
    stable_topological_sort(module)
    module.recompile()
    keep(report, known.values())
    return module.forward


def _taken(region: Region, known: Mapping[Node, Tensor]) -> list[int | Tensor]:
    """Return the `taken` argument of the OnAccelerator module of a region."""
    return [region.taken.index(node) if node in region.taken else known[node] for node in region.outside]


def _place(module: GraphModule, name: str, nodes: list[Node], on_accelerator: OnAccelerator) -> None:
    """Replace nodes by a module."""
    inner, taken, made = fuse_as_graphmodule(module, nodes, name)
    insert_subgm(module, inner, taken, made, nodes[-1])
    setattr(module, name, on_accelerator)
    erase_nodes(module, nodes)


torch._dynamo.register_backend(eyrie, name="eyrie")
