# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC: the Verilated accelerator with its DRAM behind a C interface (soc.h), the driver on it, and
runs of compiled networks."""
