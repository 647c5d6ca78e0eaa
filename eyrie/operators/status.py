# SPDX-License-Identifier: Apache-2.0
"""How a call of the operator library ends."""

from enum import IntEnum

from eyrie.model.errors import InputError


class Status(IntEnum):
    OK = 0
    BAD_ARGUMENT = 1  # a number that means nothing, an array of another type or shape
    BAD_DESCRIPTOR = 2  # destroyed, not set, or descriptors that do not go together
    BAD_POINTER = 3  # no allocation, one that is too small, or an output that overlaps what is read
    NO_MEMORY = 4  # the DRAM's window has no room
    NOT_SUPPORTED = 5  # the accelerator cannot run the operator
    ACCELERATOR_ERROR = 6  # the accelerator stopped; it is reset, and the stream's later operators did not run
    CLOSED = 7  # the handle is destroyed


class OperatorError(InputError):
    """Any status but OK; the message is one line."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
