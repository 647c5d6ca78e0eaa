# SPDX-License-Identifier: Apache-2.0
"""The colours of the report, each by its role, in light and dark.

Plots are drawn in the light colours. No two roles share one, so that the page can put a CSS variable in the
place of each. Neighbours differ in lightness as well as in hue, for readers who do not see all hues; all
stand out from the paper by 3:1 or more, ink and muted text by 4.5:1.
"""

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c2128",
    "muted": "#5b6570",
    "grid": "#dfe3e8",
    "idle": "#87919c",
    "blue": "#2565ae",
    "orange": "#c8690e",
    "teal": "#15877a",
    "purple": "#7d4fa3",
    "red": "#c2334d",
    "gold": "#8f7413",
    "green": "#4f7a1f",
    "pink": "#b5427f",
    "brown": "#7b5b43",
    "time": "#4b5f7a",
}
DARK = {
    "paper": "#15181d",
    "ink": "#e7eaee",
    "muted": "#a3adb8",
    "grid": "#30363d",
    "idle": "#6d7783",
    "blue": "#5b9be6",
    "orange": "#f0a04b",
    "teal": "#3fc4b1",
    "purple": "#bd93e6",
    "red": "#f4758a",
    "gold": "#d9bd52",
    "green": "#a4cf6b",
    "pink": "#ec8fbe",
    "brown": "#c9a588",
    "time": "#93a9c6",
}
HUES = ("blue", "orange", "teal", "purple", "red", "gold")  # of pictures in which a colour only tells parts apart

# The meaning of each colour, in all plots of the report.
MEANINGS = {
    "blue": "computing: MACs, multipliers, a unit that works",
    "orange": "DRAM and filters: the DRAM port, energy of DRAM, waiting for filters, filters in the GLB",
    "teal": "feature maps and the GLB: waiting for the ifmap, energy of the GLB, feature maps in the GLB",
    "purple": "depthwise work: waiting for depthwise results, depthwise filters in the GLB",
    "red": "stalled by the next unit: psums, drain, PPU",
    "gold": "waiting for another unit",
    "brown": "quantisation parameters",
    "green": "bytes read",
    "pink": "bytes written",
    "time": "cycles",
    "idle": "idle, leakage",
}

# The states of the PEs, in the order of the stacks: state of `units` -> words, role.
PE_STATES = {
    "busy": ("multiplying", "blue"),
    "wait_filter": ("waiting for filters", "orange"),
    "wait_ifmap": ("waiting for ifmap", "teal"),
    "wait_words": ("waiting for depthwise results", "purple"),
    "wait_psum": ("psum buffer full", "red"),
    "idle": ("idle", "idle"),
}


def css(colours: dict[str, str]) -> str:
    """Return the colours as CSS variables."""
    return "".join(f"--{role}:{colour};" for role, colour in colours.items())
