# SPDX-License-Identifier: Apache-2.0
"""Words that messages share."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Iterable[str], listing: str = "") -> str:
    """Says that there is no such name, and the one that was meant or, if none is near, all there are; where these
    are too many, `listing` is the command that names them."""
    names = list(known)
    near = get_close_matches(name, names, 1)
    others = f"{listing} names those there are" if listing else f"there are {', '.join(names)}"
    hint = f"did you mean {near[0]!r}?" if near else others
    return f"no {kind} is named {name!r}: {hint}"


def times(sizes: Iterable[int]) -> str:
    """A shape as people write it: 32 x 32 x 3."""
    return " x ".join(str(int(size)) for size in sizes)
