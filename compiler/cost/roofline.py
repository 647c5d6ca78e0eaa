# SPDX-License-Identifier: Apache-2.0
"""What no run of a compiled network can do better than: cycles and DRAM bytes."""

from math import prod

from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageStep

TABLE_BYTES = 9  # a channel: bias, multiplier, shift


def step_bytes(step: ImageStep) -> int:
    """The constants of a step, each once."""
    return step.weight_bytes + TABLE_BYTES * step.channels


def step_bounds(image: Image, step: ImageStep) -> dict[str, float]:
    """Cycles that a step takes at least: of its MACs on all multipliers, and of its constants
    through the DRAM port."""
    config = image.config
    return {
        "multipliers": step.macs / config.total_multipliers,
        "DRAM": step_bytes(step) / config.dram_bytes,
    }


def step_cycles(image: Image, step: ImageStep) -> float:
    """The larger of the step's bounds."""
    return max(step_bounds(image, step).values())


def roofline_cycles(image: Image) -> int:
    """Step by step the larger of MACs / multipliers and compulsory bytes / those that the DRAM moves in a cycle."""
    return round(sum(step_cycles(image, step) for step in image.steps))


def compulsory_bytes(image: Image) -> int:
    """Every weight, every table entry, the inputs and the outputs once."""
    ends = sum(prod(map_.shape) for maps in (image.inputs, image.outputs) for map_ in maps.values())
    return image.images * ends + sum(step_bytes(step) for step in image.steps)
