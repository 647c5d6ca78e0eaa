# SPDX-License-Identifier: Apache-2.0
"""Synthesis of the RTL with yosys and nextpnr from PyPI (docs/research/synthesis.md)."""
