# SPDX-License-Identifier: Apache-2.0
"""Names from models as text of the page and its plots."""


def printable(name: str) -> str:
    """Return a name without characters that XML does not allow or that change how others are shown."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
