# SPDX-License-Identifier: Apache-2.0
"""Estimates of Vela, Arm's compiler for Ethos-U accelerators.

Vela (PyPI: ethos-u-vela) runs as a program, because it needs other versions of its libraries than Eyrie. System
configuration and memory mode are the defaults that Vela chooses for an accelerator; an estimate names them.
"""

import csv
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from eyrie.measure.trials import ending
from eyrie.model.errors import InputError
from eyrie.runtime.simulator.processes import process

PROGRAM, PACKAGE = "vela", "ethos-u-vela"
ACCELERATORS = ("ethos-u55-256", "ethos-u85-256")


@dataclass(frozen=True)
class Estimate:
    """An estimate, by the keys of summary.json (docs/reference/summary.md)."""

    system_config: str
    memory_mode: str
    clock_hz: int
    cycles: int
    npu_cycles: int
    latency_ms: float
    weights_memory: str
    feature_maps_memory: str
    off_chip_bytes: int
    off_chip_bytes_per_cycle: float


def located(program: str | None) -> str | None:
    """Return the path of a program that the user names, or else of Vela if it is installed.

    Raise InputError if the named program does not exist.
    """
    found = shutil.which(program or PROGRAM)
    if program and not found:
        raise InputError(f"{program}: no program: install {PACKAGE}, or leave out --vela")
    return found


def version_of(program: str) -> str:
    """Raise InputError, with one line, if the program is not Vela."""
    said = _said(program, "--version").strip()
    if not re.fullmatch(r"\d+(\.\w+)+", said):
        raise InputError(f"{program}: has no version, so it is not Vela: install {PACKAGE}, or leave out --vela")
    return said


def estimated(program: str, model: Path, accelerator: str, folder: Path) -> dict:
    """Return the estimate for a model. Vela writes its files into the folder.

    Raise InputError, with one line, if Vela fails or its summary cannot be read.
    """
    _said(program, f"--accelerator-config={accelerator}", f"--output-dir={folder}", str(model.absolute()))
    try:
        [summary] = folder.glob("*_summary_*.csv")
        [row] = csv.DictReader(summary.read_text().splitlines())
        return asdict(_estimate(row))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{program}: its summary of {model} cannot be read ({error}): use {PACKAGE} 5.2.0") from error


def _estimate(row: dict[str, str]) -> Estimate:
    """Return the estimate in a summary, which has bandwidths in GiB/s."""
    clock, memory = float(row["core_clock"]), re.sub("[ -]", "_", row["weights_storage_area"].lower())
    return Estimate(
        system_config=row["system_config"],
        memory_mode=row["memory_mode"],
        clock_hz=round(clock),
        cycles=round(float(row["cycles_total"])),
        npu_cycles=round(float(row["cycles_npu"])),
        latency_ms=round(1000 * float(row["inference_time"]), 4),
        weights_memory=row["weights_storage_area"],
        feature_maps_memory=row["feature_map_storage_area"],
        off_chip_bytes=round(float(row["dram_total_bytes"]) + float(row["off_chip_flash_total_bytes"])),
        off_chip_bytes_per_cycle=round(float(row[f"{memory}_bandwidth"]) * 2**30 / clock, 2),
    )


def _said(program: str, *arguments: str) -> str:
    """Run the program and return its output. Raise InputError, with its last line, if it fails."""
    try:
        with process(
            [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as child:
            said, _ = child.communicate()
    except OSError as error:
        raise InputError(
            f"{program}: cannot be run ({error.strerror}): install {PACKAGE}, or leave out --vela"
        ) from error
    if child.returncode:
        last = (said.strip().splitlines() or [""])[-1]
        raise InputError(f"{program} {arguments[-1]}: {ending(child.returncode)}: {last}")
    return said
