# SPDX-License-Identifier: Apache-2.0
"""Exploration of a design space: cost of models on many configurations of the accelerator."""

COSTS = ("cycles", "dram_bytes", "energy_uJ", "gate_equivalents")  # of a point: keys of its row
