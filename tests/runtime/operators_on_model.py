# SPDX-License-Identifier: Apache-2.0
"""The operator library in C on an accelerator that the functional simulator executes, and small calls of it."""

import ctypes

import numpy as np

from eyrie.model.encoding import Register
from eyrie.model.status import Control
from tests.runtime.driver_library import Modelled
from tests.runtime.operator_library import FUNCTIONS, Handle, Programs, Tensor
from tests.runtime.test_operators import SCALE, drawn

WINDOW = 1 << 20


class Resetting(Modelled):
    """after_reset: what STATUS reads from a reset on, if it is not None."""

    after_reset: int | None = None

    def _write(self, context: int, address: int, value: int) -> None:
        super()._write(context, address, value)
        if address == Register.CONTROL and value & Control.SOFT_RESET and self.after_reset is not None:
            self.status = self.after_reset


class OnModel(Handle):
    """A handle on an accelerator that the functional simulator executes."""

    def __init__(self, library: ctypes.CDLL, programs: Programs | None, window: int = WINDOW) -> None:
        self.modelled = Resetting(3 << 16, window)
        super().__init__(library, self.modelled.platform, programs)


class Relu:
    """A RELU of a drawn tensor."""

    def __init__(self, handle: OnModel, rng: np.random.Generator, shape: tuple[int, ...] = (1, 4, 4, 8)) -> None:
        self.handle, self.values = handle, drawn(rng, *shape)
        self.descriptor = handle.descriptor("activation", FUNCTIONS.index("RELU"), 0.0)
        self.source, self.made = handle.put(self.values, SCALE), handle.tensor(shape, SCALE)

    def give(self, stream: object = None) -> str:
        return self.handle.call(
            "activation", stream or self.handle.stream, *map(ctypes.byref, (self.descriptor, self.source, self.made))
        )

    def check(self) -> None:
        np.testing.assert_array_equal(self.handle.get(self.made, self.values.shape), np.maximum(self.values, 0))


def tensors(handle: OnModel, *shapes: tuple[int, ...], scale: float = SCALE) -> list[Tensor]:
    return [handle.tensor(shape, scale) for shape in shapes]


def operator(handle: OnModel, name: str, *arguments: object) -> str:
    """A call on the handle's own stream; structures go by their places."""
    return handle.call(
        name, handle.stream, *(ctypes.byref(one) if isinstance(one, ctypes.Structure) else one for one in arguments)
    )


def activated(handle: OnModel, source: Tensor, made: Tensor) -> str:
    return operator(handle, "activation", handle.descriptor("activation", FUNCTIONS.index("RELU"), 0.0), source, made)
