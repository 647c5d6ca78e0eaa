"""Words that messages share."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Says that there is no such name, and the one that was meant or, if none is near, all there are."""
    names = list(known)
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"no {kind} is named {name!r}: {hint}"


def times(sizes: Iterable[int]) -> str:
    """A shape as people write it: 32 x 32 x 3."""
    return " x ".join(str(int(size)) for size in sizes)
