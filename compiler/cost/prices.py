# SPDX-License-Identifier: Apache-2.0
"""Energy per access: the constants of the published baseline, so that figures compare; docs/concepts/cost.md has the
sources."""

from collections.abc import Mapping

from eyrie.model.encoding import glb_read_bytes, glb_write_bytes

PJ_PER_MAC = 2  # a MAC that is not zero-skipped
PJ_PER_GLB_BYTE = 10
PJ_PER_DRAM_BYTE = 200
PJ_PER_DECODED_BYTE = 11
LEAKAGE_W = 50e-6

PICOJOULES = {
    "multipliers": PJ_PER_MAC,
    "GLB": PJ_PER_GLB_BYTE,
    "DRAM": PJ_PER_DRAM_BYTE,
    "weight decoder": PJ_PER_DECODED_BYTE,
}  # by level


def accesses(counters: Mapping[str, int]) -> dict[str, int]:
    """Return the accesses by level: MACs, otherwise bytes. Counters without ZERO_SKIPPED have no zero-skipped MAC."""
    return {
        "multipliers": counters["MACS"] - counters.get("ZERO_SKIPPED", 0),
        "GLB": glb_read_bytes(counters) + glb_write_bytes(counters),
        "DRAM": counters["DRAM_READ_BYTES"] + counters["DRAM_WRITE_BYTES"],
        "weight decoder": counters["DECODED_BYTES"],
    }


def energy_by_level(counters: Mapping[str, int], cycles: int, clock_hz: int) -> dict[str, float]:
    """In uJ."""
    dynamic = {level: count * PICOJOULES[level] * 1e-6 for level, count in accesses(counters).items()}
    return dynamic | {"leakage": LEAKAGE_W * cycles / clock_hz * 1e6}


def energy_uj(counters: Mapping[str, int], cycles: int, clock_hz: int) -> float:
    """Of all levels."""
    return sum(energy_by_level(counters, cycles, clock_hz).values())
