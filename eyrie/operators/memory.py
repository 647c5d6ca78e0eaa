# SPDX-License-Identifier: Apache-2.0
"""Allocations in the accelerator's window of DRAM."""

from eyrie.operators.status import OperatorError, Status

STEP = 64  # bytes: where networks may begin


class Memory:
    """Offsets of allocations, first fit."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._taken: dict[int, int] = {}  # bytes by offset, in order

    def take(self, size: int) -> int | None:
        """The offset of so many bytes; None where there is no room."""
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
        if offset not in self._taken:
            raise OperatorError(Status.BAD_POINTER, f"0x{offset:x} is no allocation: give what malloc gave")
        del self._taken[offset]

    def check(self, offset: int, size: int, what: str) -> None:
        """Raises OperatorError unless an allocation begins there with so many bytes."""
        if offset not in self._taken:
            raise OperatorError(Status.BAD_POINTER, f"{what}: 0x{offset:x} is no allocation: give what malloc gave")
        if self._taken[offset] < size:
            raise OperatorError(
                Status.BAD_POINTER,
                f"{what}: {size} bytes are needed, {self._taken[offset]} are "
                f"allocated at 0x{offset:x}: allocate as many as its descriptor says",
            )
