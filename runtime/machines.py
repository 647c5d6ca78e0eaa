# SPDX-License-Identifier: Apache-2.0
"""Machines as callers name them."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from eyrie.model.config import DEFAULT, MachineConfig
from eyrie.model.errors import InputError

Machine = MachineConfig | Mapping[str, int] | str | PathLike | None


def machine_of(machine: Machine) -> MachineConfig:
    """None: the default one; names and numbers; or a JSON file of these. Raises InputError in one line."""
    if machine is None or isinstance(machine, MachineConfig):
        return machine or DEFAULT
    if not isinstance(machine, Mapping | str | PathLike):
        raise InputError(f"a machine is names and numbers, or a JSON file, not {type(machine).__name__}")
    return MachineConfig.of(machine) if isinstance(machine, Mapping) else MachineConfig.load(Path(machine))
