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
}
HUES = ("blue", "orange", "teal", "purple", "red", "gold")

# What the PEs do, in the order of the stacks: state of `units` -> words, role.
PE_STATES = {
    "busy": ("multiplying", "blue"),
    "wait_filter": ("waiting for filters", "orange"),
    "wait_ifmap": ("waiting for ifmap or taps", "teal"),
    "wait_words": ("waiting for pointwise words", "purple"),
    "wait_psum": ("waiting for room for psums", "red"),
    "idle": ("without work", "idle"),
}


def css(colours: dict[str, str]) -> str:
    """The colours as CSS variables."""
    return "".join(f"--{role}:{colour};" for role, colour in colours.items())
