# SPDX-License-Identifier: Apache-2.0
"""Energy by level, by the prices of compiler/prices.py."""

from compiler.prices import LEAKAGE_W, PJ_PER_DRAM_BYTE, PJ_PER_GLB_BYTE, PJ_PER_MAC


def by_level(worked: int, glb_bytes: int, dram_bytes: int, cycles: int, clock_hz: int) -> dict[str, float]:
    """uJ; worked: multiplications not gated."""
    return {"multipliers": worked * PJ_PER_MAC * 1e-6, "GLB": glb_bytes * PJ_PER_GLB_BYTE * 1e-6,
            "DRAM": dram_bytes * PJ_PER_DRAM_BYTE * 1e-6, "leakage": LEAKAGE_W * cycles / clock_hz * 1e6}
