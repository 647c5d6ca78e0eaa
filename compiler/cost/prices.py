# SPDX-License-Identifier: Apache-2.0
"""What energy costs: the constants of the published baseline, so that figures compare."""

PJ_PER_MAC = 2  # a MAC that is not zero-skipped
PJ_PER_GLB_BYTE = 10
PJ_PER_DRAM_BYTE = 200
LEAKAGE_W = 50e-6


def energy_by_level(macs: int, glb_bytes: int, dram_bytes: int, cycles: int, clock_hz: int) -> dict[str, float]:
    """In uJ; macs: without the zero-skipped ones."""
    return {
        "multipliers": macs * PJ_PER_MAC * 1e-6,
        "GLB": glb_bytes * PJ_PER_GLB_BYTE * 1e-6,
        "DRAM": dram_bytes * PJ_PER_DRAM_BYTE * 1e-6,
        "leakage": LEAKAGE_W * cycles / clock_hz * 1e6,
    }


def energy_uj(macs: int, glb_bytes: int, dram_bytes: int, cycles: int, clock_hz: int) -> float:
    """Of all levels."""
    return sum(energy_by_level(macs, glb_bytes, dram_bytes, cycles, clock_hz).values())
