# SPDX-License-Identifier: Apache-2.0
"""NumPy's view of the memory behind axi_dram."""

import ctypes

import numpy as np
from cocotb.handle import LogicArrayObject

SOURCES = ("tb/sim/dram.cpp",)  # what a Bench with axi_dram needs beside SystemVerilog


def view(pointer: LogicArrayObject, bytes_: int) -> np.ndarray:
    """The memory as bytes, shared with the simulation; `pointer` is axi_dram's pointer_o.

    The memory exists from time 0 on, but only after the first evaluation is its address known.
    """
    address = int(pointer.value)
    assert address, "the memory's address is not known before the first clock edge"
    return np.ctypeslib.as_array((ctypes.c_uint8 * bytes_).from_address(address))
