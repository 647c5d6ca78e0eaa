# SPDX-License-Identifier: Apache-2.0
"""Words that messages share."""

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from eyrie.model.errors import InputError

if TYPE_CHECKING:
    import numpy as np

MOST_NAMED = 8  # names in the place of the closest one


def unknown(kind: str, name: str, known: Iterable[str], listing: str = "", remedy: str = "") -> str:
    """Return a line about an unknown name, with the known name that is closest to it, or the names that begin with it.

    If no name is close, or more than MOST_NAMED begin with it, the line lists all known names, or names `listing`, a
    command or a page that lists them. If no name is known at all, it has `remedy`.
    """
    names = list(known)
    begun = [each for each in names if name and each.startswith(name)]
    if 1 < len(begun) <= MOST_NAMED:
        return f"unknown {kind} {name!r}; did you mean one of {', '.join(begun)}?"
    near = begun if len(begun) == 1 else get_close_matches(name, names, 1)
    if near and len(begun) <= MOST_NAMED:
        return f"unknown {kind} {name!r}; did you mean {near[0]!r}?"
    if remedy and not names:
        return f"unknown {kind} {name!r}: {remedy}"
    return f"unknown {kind} {name!r}: " + (f"{listing} lists them" if listing else f"choose from {', '.join(names)}")


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun: 1 pass, 2 passes, 1,000 jobs."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def with_article(noun: str) -> str:
    """Return a noun with its article: a cat, an automobile."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def times(sizes: Iterable[int]) -> str:
    """Return a shape as people write it: 32 x 32 x 3."""
    return " x ".join(str(int(size)) for size in sizes)


def array(values: "np.ndarray") -> str:
    """Return type and shape as people write them: int8 32 x 32 x 3, 4 int64 numbers, one float64 number."""
    kind = {"S": "text", "U": "text", "V": "structured"}.get(values.dtype.kind, str(values.dtype))
    if values.ndim > 1:
        return f"{kind} {times(values.shape)}"
    noun = "value" if kind in ("text", "structured") else "number"
    return f"{values.size} {kind} {noun}s" if values.ndim else f"one {kind} {noun}"


@contextmanager
def about(path: object) -> Iterator[None]:
    """Add the path of the file concerned to the beginning of an InputError that the block raises."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(f"{path}: "):
            raise
        raise InputError(f"{path}: {error}") from error


def one_line(text: str) -> str:
    """Escape characters that a terminal would not print, such as a newline in the name of a file."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # a byte that is no UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return ascii(letter)[1:-1]


def aligned(rows: Sequence[Sequence[str]], left: Container[int]) -> list[str]:
    """Return the lines of a table. Columns in `left` are aligned to the left, the others to the right.

    A row with fewer cells than the first row has no influence on the widths.
    """
    whole = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(map(len, column)) for column in zip(*whole)]
    return [
        "  ".join(
            cell.ljust(width) if n in left else cell.rjust(width) for n, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
