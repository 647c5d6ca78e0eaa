# SPDX-License-Identifier: Apache-2.0
"""Mutations: one-line changes of SystemVerilog sources. They change operators, conditions, constants and ternary arms,
and drop assignments.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """One line of one file (relative to the repository, lines from 1) and its replacement."""

    file: str
    line: int
    before: str
    after: str


_SWAPS = [
    (re.compile(rf"(?<= ){re.escape(old)}(?= )"), new)
    for old, new in [
        ("+", "-"),
        ("-", "+"),
        ("==", "!="),
        ("!=", "=="),
        ("&&", "||"),
        ("||", "&&"),
        ("<", "<="),
        (">=", ">"),
        (">", ">="),
    ]
]
_LESS_EQUAL = re.compile(r"(?<= )<=(?= )")
_NOT = re.compile(r"!(?=[\w(])")
_BIT = re.compile(r"(?<=1'b)[01]\b")
_FILL = re.compile(r"(?<![\w'])'[01]\b")
_SIZED = re.compile(r"(?<='d)\d+\b")
_PLAIN = re.compile(r"(?<![\w'.$])(?<!\+: )\d+(?![\w'])")
_IF = re.compile(r"\bif \(")
_SKIPPED = re.compile(
    r"^\s*(`|import\b|typedef\b|struct\b|logic\b|\w+_t\b|input\b|output\b|function\b|"
    r"endmodule\b|enum\b|for \(genvar\b|localparam\b.*Width\b|"
    r".*\bunused_|.*\brst_ni\b|.*[$]error|.*\")"
)
_REGISTERS = re.compile(r"\s*always_ff\b")
_ASSIGNMENT = re.compile(r"^(.*?)([\w.]+(?:\[[^=]*\])?|\{[^=]*\}) <= [^;]*;$")
_WIDTHS = re.compile(r"\[[^\[\]]*:[^\[\]]*\]|\(\w+ [+-] \d+\)'|#\(\.\w*WIDTH\(\d+\)|\.\w*WIDTH\(\d+\)$")


def _code(text: str) -> list[str]:
    """Return the lines of a source, without comments. Lines that must not change are empty.

    Headers of modules, blocks that synthesis or simulation does not see, and assertion macros must not change.
    """
    text = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)
    lines = [line.split("//")[0].rstrip() for line in text.splitlines()]
    skip_until = None  # pattern of the line that ends the part left out
    depth = 0  # open parentheses of a macro
    for number, line in enumerate(lines):
        kept = line
        if skip_until:
            kept = ""
            if re.match(skip_until, line):
                skip_until = None
        elif depth:
            kept, depth = "", depth + line.count("(") - line.count(")")
        elif re.match(r"(module|package)\b", line):
            kept, skip_until = "", r"\s*\);"
        elif re.match(r"\s*`ifndef SYNTHESIS", line):
            kept, skip_until = "", r"\s*`endif"
        elif re.match(r"\s*`ifdef SYNTHESIS", line):
            kept, skip_until = "", r"\s*`(else|endif)"
        elif re.match(r"\s*`EYRIE_", line):
            kept, depth = "", line.count("(") - line.count(")")
        if _SKIPPED.match(kept) and not _REGISTERS.match(kept):
            kept = ""
        lines[number] = kept
    return lines


def _starts_statement(previous: str) -> bool:
    """Return whether a line after `previous` begins a statement; otherwise it continues an expression."""
    return previous == "" or bool(re.search(r"(;|:|\)|\bbegin|\bend|\belse)( : \w+)?$", previous))


def _changes(line: str, starts: bool, registers: bool) -> Iterator[str]:
    """Yield the replacements of a line of code; `starts`: it begins a statement; `registers`: in an always_ff."""
    for pattern, new in _SWAPS:
        for match in pattern.finditer(line):
            yield line[: match.start()] + new + line[match.end() :]
    for match in _LESS_EQUAL.finditer(line):
        ahead = line[: match.start()]
        if ahead.count("(") > ahead.count(")") or " = " in ahead or not starts:
            yield f"{ahead}<{line[match.end() :]}"
    for match in _NOT.finditer(line):
        yield line[: match.start()] + line[match.end() :]
    for pattern in (_BIT, _FILL):
        for match in pattern.finditer(line):
            flipped = match[0][:-1] + "10"[int(match[0][-1])]
            yield line[: match.start()] + flipped + line[match.end() :]
    widths = [match.span() for match in _WIDTHS.finditer(line)]
    for match in itertools.chain(_SIZED.finditer(line), _PLAIN.finditer(line)):
        if not any(start < match.start() < end for start, end in widths):
            for value in (int(match[0]) + 1, abs(int(match[0]) - 1)):
                yield f"{line[: match.start()]}{value}{line[match.end() :]}"
    for match in _IF.finditer(line):
        end = _closing(line, match.end())
        if end is not None and not re.fullmatch(r"!\w+", line[match.end() : end]):
            yield f"{line[: match.end()]}!({line[match.end() : end]}){line[end:]}"
    arms = re.fullmatch(r"([^?]* \? )([^?]+?) : ((?:(?! : )[^?])+?)(\)?;)", line)
    if arms and arms[2].count("(") == arms[2].count(")") and arms[3].count("(") == arms[3].count(")"):
        yield f"{arms[1]}{arms[3]} : {arms[2]}{arms[4]}"
    dropped = _ASSIGNMENT.match(line) if registers and starts else None
    if dropped:
        yield f"{dropped[1].rstrip() or line[: len(line) - len(line.lstrip())]};"


def _closing(line: str, start: int) -> int | None:
    """Return the index of the parenthesis that closes the one just before `start`."""
    depth = 1
    for place in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if depth == 0:
            return place
    return None


def candidates(file: str, text: str) -> list[Candidate]:
    """Return all one-line changes of a SystemVerilog source, in order. A changed line loses its comment."""
    found = []
    lines = _code(text)
    previous, register_indent = "", None
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        if register_indent is not None and indent <= register_indent:
            register_indent = None
        if _REGISTERS.match(line):
            register_indent, previous = indent, line
            continue
        head = line[: _closing(line, line.index("(") + 1)] if line.lstrip().startswith("for (") else ""
        for new in dict.fromkeys(_changes(line, _starts_statement(previous), register_indent is not None)):
            if new != line and new.startswith(head):  # loops keep their bounds
                found.append(Candidate(file, number, line.strip(), new.strip()))
        previous = line
    return found


def apply(candidate: Candidate, text: str) -> str:
    """Return the source with the change."""
    lines = text.splitlines(keepends=True)
    old = lines[candidate.line - 1]
    lines[candidate.line - 1] = old[: len(old) - len(old.lstrip())] + candidate.after + "\n"
    return "".join(lines)
