# SPDX-License-Identifier: Apache-2.0
"""Machines as callers name them."""

from collections.abc import Mapping
from os import PathLike

from eyrie.model.config import DEFAULT, MachineConfig

Machine = MachineConfig | Mapping[str, int] | str | PathLike | None


def machine_of(machine: Machine) -> MachineConfig:
    """None: the default one; names and numbers; or a JSON file of these. Raises InputError in one line."""
    if machine is None or isinstance(machine, MachineConfig):
        return machine or DEFAULT
    return MachineConfig.of(machine) if isinstance(machine, Mapping) else MachineConfig.load(machine)
