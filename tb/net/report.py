"""The figures of a network run, from the machine's counters (keys: docs/summary.md).

Energy constants are those of the published baseline: 2 pJ per multiplication that is not gated, 10 pJ per
byte of GLB access, 200 pJ per byte of DRAM access, 50 uW leakage at 200 MHz.
"""

from math import prod

from compiler.image import Image
from model.encoding import glb_read_bytes, glb_write_bytes

PJ_PER_MAC, PJ_PER_GLB_BYTE, PJ_PER_DRAM_BYTE, LEAKAGE_W = 2, 10, 200, 50e-6
BUS_BYTES = 8
TABLE_BYTES = 9  # a channel: bias, multiplier, shift


def energy_uj(macs: int, glb_bytes: int, dram_bytes: int, cycles: int, clock_hz: int) -> float:
    """macs: those that were not gated."""
    dynamic = macs * PJ_PER_MAC + glb_bytes * PJ_PER_GLB_BYTE + dram_bytes * PJ_PER_DRAM_BYTE
    return dynamic * 1e-6 + LEAKAGE_W * cycles / clock_hz * 1e6


def _step_bytes(step: dict) -> int:
    return step["weight_bytes"] + TABLE_BYTES * step["channels"]


def multipliers(image: Image) -> int:
    machine = image.map["machine"]
    return machine["rows"] * machine["cols"] * machine["multipliers"]


def roofline_cycles(image: Image) -> int:
    """Layer by layer the larger of multiplications / multipliers and compulsory bytes / bus width."""
    count = multipliers(image)
    return round(sum(max(step["macs"] / count, _step_bytes(step) / BUS_BYTES) for step in image.map["steps"]))


def compulsory_bytes(image: Image) -> int:
    """Every weight, every table entry, the input and the output once."""
    ends = sum(prod(image.map[name]["shape"]) for name in ("input", "output"))
    return ends + sum(_step_bytes(step) for step in image.map["steps"])


def _layers(image: Image, passes: list[dict]) -> list[dict]:
    """Per group: what the counters went on from the end of the pass before to the end of each of its own;
    cycles: PE cycles of its passes / PEs, the cycles after the last pass left the array being the last
    group's."""
    counts = [name for name in passes[0] if name not in ("signature", "pe_cycles")]
    pes = image.map["machine"]["rows"] * image.map["machine"]["cols"]
    before = [dict.fromkeys(counts, 0), *passes[:-1]]
    gone = [{name: now[name] - then[name] for name in counts} for then, now in zip(before, passes)]
    rows = []
    for step in image.map["steps"]:
        row = {name: sum(gone[number][name] for number in step["passes"]) for name in counts}
        cycles = round(sum(passes[number]["pe_cycles"] for number in step["passes"]) / pes)
        if step is image.map["steps"][-1]:
            cycles = passes[-1]["CYCLES"] - sum(r["cycles"] for r in rows)
        rows.append({
            "name": step["name"], "way": step["way"], "cycles": cycles, "macs": step["macs"],
            "utilisation": round(step["macs"] / (multipliers(image) * cycles), 4),
            "gated": row["GATED"],
            "dram_read_bytes": row["DRAM_READ_BYTES"],
            "dram_write_bytes": row["DRAM_WRITE_BYTES"],
            "glb_read_bytes": glb_read_bytes(row),
            "glb_write_bytes": glb_write_bytes(row),
            "counters": {name.lower(): value for name, value in row.items()},
        })
    return rows


def figures(image: Image, counters: dict[str, int], passes: list[dict]) -> dict:
    """The entries of a network run's summary."""
    macs, cycles = sum(step["macs"] for step in image.map["steps"]), counters["CYCLES"]
    glb_read, glb_write = glb_read_bytes(counters), glb_write_bytes(counters)
    dram = counters["DRAM_READ_BYTES"] + counters["DRAM_WRITE_BYTES"]
    worked = counters["MACS"] - counters["GATED"]
    return {
        "cycles": cycles,
        "macs": macs,
        "multipliers": multipliers(image),
        "utilisation": round(macs / (multipliers(image) * cycles), 4),
        "roofline_cycles": roofline_cycles(image),
        "dram_read_bytes": counters["DRAM_READ_BYTES"],
        "dram_write_bytes": counters["DRAM_WRITE_BYTES"],
        "compulsory_dram_bytes": compulsory_bytes(image),
        "glb_read_bytes": glb_read,
        "glb_write_bytes": glb_write,
        "energy_uJ": round(energy_uj(worked, glb_read + glb_write, dram, cycles, image.map["machine"]["clock_hz"]), 2),
        "counters": {name.lower(): value for name, value in counters.items()},
        "layers": _layers(image, passes),
    }
