# SPDX-License-Identifier: Apache-2.0
"""The interface between software and accelerator: the bits of CONTROL and STATUS, and the meaning of error codes."""

from enum import IntFlag

from eyrie.model.encoding import ErrorCode


class Control(IntFlag):
    """Bits written to CONTROL."""

    START = 1
    SOFT_RESET = 2
    CLEAR_INTERRUPT = 4


class Status(IntFlag):
    """Bits of STATUS."""

    BUSY = 1
    DONE = 2
    ERROR = 4
    INTERRUPT = 8
    BUS_WAITS = 16  # a transaction has not ended (docs/hardware/tiling.md)


ERROR_TEXTS = {
    ErrorCode.NONE: "no error",
    ErrorCode.ILLEGAL_COMMAND: "a word of the command list is no command",
    ErrorCode.DRAM_ADDRESS: "a transfer or the command list leaves the DRAM window, or is not whole beats of the port",
    ErrorCode.AXI_RESPONSE: "the memory answered with an error",
    ErrorCode.WATCHDOG: "no unit made progress for the number of cycles that the watchdog allows",
    ErrorCode.GLB_ADDRESS: "a transfer or a stream leaves the global buffer, or a pair of words is odd",
    ErrorCode.DESCRIPTOR: "a pass has a descriptor that the accelerator does not run",
    ErrorCode.CODED_WEIGHTS: "a chunk of coded weights is not as long as its weights",
}
