# SPDX-License-Identifier: Apache-2.0
"""The folder of a network that runs on the accelerator as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.files import unlink, write_all
from eyrie.compiler.pipeline import Stages, made

if TYPE_CHECKING:  # imported when a network is saved
    from eyrie.compiler.performance import Performance

DESCRIPTION = "network.json"  # of a network in parts (parts.py)


def save(stages: Stages, metrics: Performance, folder: str | Path) -> None:
    """Write the folder of a compiled network, with the predicted performance. Raise InputError, with one line."""
    more = {"layers.csv": metrics.csv().encode(), "summary.json": metrics.json().encode()}
    write_all(folder, made(stages.image).files(made(stages.text)) | more)
    unlink(folder, DESCRIPTION)
