"""Names that people get wrong."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """"no KIND is named 'NAME'", and the nearest that there is, or all of them."""
    known = list(known)
    near = get_close_matches(name, known, n=1)
    return f"no {kind} is named {name!r}" + (f": did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}")
