# SPDX-License-Identifier: Apache-2.0
"""A section of the study: the numbers that a publication prints, beside the numbers of this project."""

from dataclasses import asdict, dataclass

from eyrie.model.errors import InputError

NOT_HAD = "-"  # in the place of a number


@dataclass(frozen=True)
class Row:
    """A number that a publication prints.

    what     its subject, with its place in the publication
    printed  as printed; NOT_HAD if only this project has the number
    ours     as measured; NOT_HAD if this project has no number
    note     why it differs or is missing; may be empty
    agrees   whether the numbers are equal; None if they are of different configurations
    """

    what: str
    printed: str
    ours: str
    note: str = ""
    agrees: bool | None = None

    def __post_init__(self) -> None:
        if (self.ours == NOT_HAD or self.agrees is False) and not self.note:
            raise InputError(f"{self.what}: a number that is not there, or is another, wants a reason")


@dataclass(frozen=True)
class Table:
    """A table of one subject; `text` explains how to compare its rows."""

    title: str
    text: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Section:
    """The section about one publication; `source` says which."""

    name: str
    source: str
    tables: tuple[Table, ...]

    @property
    def rows(self) -> list[Row]:
        return [row for table in self.tables for row in table.rows]

    def markdown(self) -> str:
        """Return the section as Markdown."""
        lines = [f"## {self.name}", "", self.source, ""]
        for table in self.tables:
            lines += [f"### {table.title}", "", table.text, "", "| | printed | here | |", "|---|---|---|---|"]
            lines += [f"| {row.what} | {row.printed} | {row.ours} | {row.note} |" for row in table.rows]
            lines.append("")
        return "\n".join(lines)

    def entries(self) -> list[dict]:
        """Return the entries for summary.json."""
        return [{"table": table.title} | asdict(row) for table in self.tables for row in table.rows]


def compared(what: str, printed: str, ours: str, why: str = "") -> Row:
    """Return a row of a number that should equal the printed one; `why` explains a difference."""
    return Row(what, printed, ours, "" if printed == ours else why, printed == ours)
