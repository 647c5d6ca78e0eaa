# SPDX-License-Identifier: Apache-2.0
"""The simulated board: the Verilated machine with its DRAM behind a C interface (board.h), the driver on it, and runs
of compiled networks."""
