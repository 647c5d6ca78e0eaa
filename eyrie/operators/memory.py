# SPDX-License-Identifier: Apache-2.0
"""Allocations in the accelerator's window of DRAM."""

from eyrie.operators.status import OperatorError, Status

STEP = 64  # bytes: alignment of networks


class Memory:
    """Offsets of allocations, by first fit."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken: dict[int, int] = {}  # bytes by offset, in order

    def take(self, size: int) -> int | None:
        """Allocate `size` bytes; return the offset, or None if no free range is large enough."""
        begin = 0
        for offset, taken in self._taken.items():
            if offset - begin >= size:
                break
            begin = -(-(offset + taken) // STEP) * STEP
        if begin + size > self.size:
            return None
        self._taken = dict(sorted((self._taken | {begin: size}).items()))
        return begin

    def give(self, offset: int) -> None:
        self.check(offset, 0, "free")
        del self._taken[offset]

    def check(self, offset: int, size: int, what: str) -> None:
        """Raise OperatorError unless an allocation of at least `size` bytes begins at `offset`."""
        if type(offset) is not int:
            raise OperatorError(Status.BAD_ARGUMENT, f"{what}: {offset!r} is no offset: give what malloc gave")
        if offset not in self._taken:
            raise OperatorError(Status.BAD_POINTER, f"{what}: 0x{offset:x} is no allocation: give what malloc gave")
        if self._taken[offset] < size:
            raise OperatorError(
                Status.BAD_POINTER,
                f"{what}: {size} bytes are needed, {self._taken[offset]} are "
                f"allocated at 0x{offset:x}: allocate as many as its descriptor says",
            )
