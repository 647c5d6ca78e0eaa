# SPDX-License-Identifier: Apache-2.0
"""The errors of compilation."""

from eyrie.model.errors import InputError


class CompileError(InputError):
    """A request that the compiler cannot fulfil; the message is one line: place, cause, and remedy.

    what           the message without the remedy
    layer          the fused operator or the operator concerned, None if it is no single one
    result         the tensor that it makes, None if it is not known
    demand, bound  the size needed and the size available, None if the cause is not a size
    remedy         the action to take, "" if no action helps
    """

    def __init__(
        self,
        what: str,
        *,
        layer: str | None = None,
        result: str | None = None,
        demand: int | None = None,
        bound: int | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(f"{what}: {remedy}" if remedy else what)
        self.what, self.layer, self.result, self.remedy = what, layer, result, remedy
        self.demand, self.bound = demand, bound


class DoesNotFit(CompileError):
    """A network that does not fit into the GLB or the PEs."""


class Unsupported(CompileError):
    """A network with a combination that the accelerator does not support."""


class ModelImportError(CompileError):
    """A model that cannot be read, or that has a part that the accelerator does not support."""


class InternalError(RuntimeError):
    """An inconsistent result of a compiler stage: a fault of the compiler. The message has the place."""
