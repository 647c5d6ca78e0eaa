# SPDX-License-Identifier: Apache-2.0
"""The folder of a network that the machine runs as a whole."""

from pathlib import Path

from compiler.files import unlink
from compiler.pipeline import Stages

DESCRIPTION = "network.json"  # of a network in parts (parts.py)


def save(stages: Stages, folder: str | Path) -> str:
    """Writes the folder of a compiled network; returns the table of its layers. Raises ValueError in one line."""
    from compiler.performance import performance

    figures = performance(stages)
    stages.image.save(folder, stages.text, {"layers.csv": figures.csv(), "summary.json": figures.json()})
    unlink(folder, DESCRIPTION)
    return str(figures)
