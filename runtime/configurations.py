# SPDX-License-Identifier: Apache-2.0
"""Machines as callers name them."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError

Configuration = AcceleratorConfig | Mapping[str, int] | str | PathLike | None


def config_of(config: Configuration) -> AcceleratorConfig:
    """None: the default one; names and numbers; or a JSON file of these. Raises InputError in one line."""
    if config is None or isinstance(config, AcceleratorConfig):
        return config or DEFAULT
    if not isinstance(config, Mapping | str | PathLike):
        raise InputError(f"an accelerator is names and numbers, or a JSON file, not {type(config).__name__}")
    return AcceleratorConfig.of(config) if isinstance(config, Mapping) else AcceleratorConfig.load(Path(config))
