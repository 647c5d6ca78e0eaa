# SPDX-License-Identifier: Apache-2.0
"""Why a network is not compiled."""

from eyrie.model.errors import InputError


class CompileError(InputError):
    """What is asked for and cannot be done; the message is one line: where, what, and what to do about it.

    what           the message without the remedy
    layer          the group or operator that it is about, None: no single one
    demand, bound  what that needs and what there is, None where it is no matter of numbers
    remedy         what to do, "" where nothing helps
    """

    def __init__(
        self,
        what: str,
        *,
        layer: str | None = None,
        demand: int | None = None,
        bound: int | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(f"{what}: {remedy}" if remedy else what)
        self.what, self.layer, self.demand, self.bound, self.remedy = what, layer, demand, bound, remedy


class DoesNotFit(CompileError):
    """The GLB or the PEs have no room."""


class Unsupported(CompileError):
    """The network has a combination that the accelerator does not run."""


class InternalError(RuntimeError):
    """What a stage of the compiler has made contradicts itself: a fault of its own, whose message says where."""
