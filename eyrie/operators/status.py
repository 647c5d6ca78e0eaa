# SPDX-License-Identifier: Apache-2.0
"""The status of a call of the operator library."""

from enum import IntEnum

from eyrie.model.errors import InputError


class Status(IntEnum):
    OK = 0
    BAD_ARGUMENT = 1  # an invalid number, or an array of another type or shape
    BAD_DESCRIPTOR = 2  # destroyed, not set, or descriptors that do not match
    BAD_POINTER = 3  # no allocation, one that is too small, or an output that overlaps an input
    NO_MEMORY = 4  # the window of the DRAM is full
    NOT_SUPPORTED = 5  # the accelerator cannot run the operator
    ACCELERATOR_ERROR = 6  # the accelerator stopped; it is reset, and the stream's later operators did not run
    CLOSED = 7  # the handle is destroyed


class OperatorError(InputError):
    """A status other than OK. The message is one line."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status
