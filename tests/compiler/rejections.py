# SPDX-License-Identifier: Apache-2.0
"""What a rejection by size says, taken at its word."""

import re
from dataclasses import replace

from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

TOO_LARGE = re.compile(
    r"group (\S+) needs at least (\d+) bytes of GLB, there are (\d+): "
    r"use a larger GLB or a smaller layer"
)


def with_room(config: AcceleratorConfig, demand: int) -> AcceleratorConfig:
    """The accelerator with a GLB of at least so many bytes, as few as banks allow. Raises ValueError where no
    accelerator has such a one."""
    return replace(config, glb_bank_words=-(-demand // (GLB_WORD_BYTES * config.glb_banks)))
