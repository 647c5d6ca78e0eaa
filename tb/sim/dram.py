# SPDX-License-Identifier: Apache-2.0
"""NumPy's view of the memory behind axi_dram."""

import ctypes

import numpy as np
from cocotb.handle import LogicArrayObject

from eyrie.runtime.soc.library import DRAM

SLVERR, DECERR = 2, 3  # responses
SOURCES = (DRAM,)  # what a Bench with axi_dram needs beside SystemVerilog


def view(pointer: LogicArrayObject, bytes_: int, origin: int = 0) -> np.ndarray:
    """So many bytes of the memory from address `origin` on, shared with the simulation; `pointer` is axi_dram's
    pointer_o. Pages of it exist from their first access on.

    The memory exists from time 0 on, but only after the first evaluation is its address known.
    """
    address = int(pointer.value)
    assert address, "the memory's address is not known before the first clock edge"
    return np.ctypeslib.as_array((ctypes.c_uint8 * bytes_).from_address(address + origin))
