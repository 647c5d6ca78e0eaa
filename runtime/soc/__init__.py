# SPDX-License-Identifier: Apache-2.0
"""The simulated SoC: the Verilated accelerator with its DRAM and a C interface (soc.h), the driver, and runs of
compiled networks.
"""
