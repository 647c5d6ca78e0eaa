# SPDX-License-Identifier: Apache-2.0
"""The ways in which a caller can name a configuration."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError

Configuration = AcceleratorConfig | Mapping[str, int] | str | PathLike | None


def config_of(config: Configuration) -> AcceleratorConfig:
    """Return the configuration for None (the default), a mapping of names to numbers, or the path of a JSON file.

    Raise InputError, with one line, if it is not legal.
    """
    if config is None or isinstance(config, AcceleratorConfig):
        return config or DEFAULT
    if not isinstance(config, Mapping | str | PathLike):
        raise InputError(f"an accelerator is names and numbers, or a JSON file, not {type(config).__name__}")
    return AcceleratorConfig.of(config) if isinstance(config, Mapping) else AcceleratorConfig.load(Path(config))
