# SPDX-License-Identifier: Apache-2.0
"""A study: what a text of the literature prints, beside what this project finds."""

from dataclasses import asdict, dataclass

from eyrie.measure.studies.curves import Curves
from eyrie.model.errors import InputError

NOT_HAD = "-"  # in the place of a number
PICTURES = "study"  # folder beside the page


@dataclass(frozen=True)
class Row:
    """A number that a text prints.

    what     it is of, with the place in the text
    printed  as the text has it; NOT_HAD for what only this project has a number of
    ours     as found; NOT_HAD where it cannot be had
    note     why it differs, or why it cannot be had; may be empty
    agrees   whether it is the printed number; None where the two are of different configurations
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
    """Rows about one matter; text: what a reader has to know to compare them."""

    title: str
    text: str
    rows: tuple[Row, ...]
    curves: tuple[Curves, ...] = ()


@dataclass(frozen=True)
class Section:
    """What is said of one text; source: where it was published."""

    name: str
    source: str
    tables: tuple[Table, ...]

    @classmethod
    def of(cls, entry: dict) -> "Section":
        """Return the section of dataclasses.asdict."""
        tables = [
            Table(
                table["title"],
                table["text"],
                tuple(Row(**row) for row in table["rows"]),
                tuple(Curves(**curves) for curves in table["curves"]),
            )
            for table in entry["tables"]
        ]
        return cls(entry["name"], entry["source"], tuple(tables))

    @property
    def rows(self) -> list[Row]:
        return [row for table in self.tables for row in table.rows]

    @property
    def curves(self) -> list[Curves]:
        return [curves for table in self.tables for curves in table.curves]

    def markdown(self) -> str:
        """Its part of the page."""
        lines = [f"## {self.name}", "", self.source, ""]
        for table in self.tables:
            lines += [f"### {table.title}", "", table.text, "", "| | printed | here | |", "|---|---|---|---|"]
            lines += [f"| {row.what} | {row.printed} | {row.ours} | {row.note} |" for row in table.rows]
            lines += ["", *(f"![{each.title}]({PICTURES}/{each.file})\n" for each in table.curves)]
        return "\n".join(lines)

    def entries(self) -> list[dict]:
        """For summary.json."""
        return [{"table": table.title} | asdict(row) for table in self.tables for row in table.rows]


def compared(what: str, printed: str, ours: str, why: str = "") -> Row:
    """A row of a number that ought to be the printed one; why: in case it is not."""
    return Row(what, printed, ours, "" if printed == ours else why, printed == ours)
