# SPDX-License-Identifier: Apache-2.0
"""The prose of the project: comments, docstrings, messages and pages, as plain text for the lint.

`eyrie lint` searches it for the terms that terms.toml gives up, and counts patterns and sentences that are hard to
read.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TERMS = Path(__file__).with_name("terms.toml")

LONG_SENTENCE = 35  # words
LONG_SHARE = 0.03  # of the sentences of the pages at most

# Kinds of text, each with the files that have it.
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
_FOLDERS = ("commands", "measure", "operators", "pytorch", "testing", "training", "tvm")
PYTHON = (
    *(f"{folder}/**/*.py" for folder in ("model", "runtime", "compiler")),
    "eyrie/*.py",
    *(f"eyrie/{folder}/**/*.py" for folder in _FOLDERS),
)
RTL = ("rtl/**/*.sv", "rtl/**/*.svh", "runtime/soc/*.sv")
C = ("runtime/**/*.h", "runtime/**/*.c", "runtime/**/*.cpp", "compiler/c/kernels/*")
KINDS = {"pages": PAGES, "Python": PYTHON, "RTL": RTL, "C": C}

_CODE_BLOCK = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^(?: {4,}|\t).*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])|\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) )|:\n")


@dataclass(frozen=True)
class Text:
    """A piece of prose: its file, the number of its first line, and the text."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Term:
    """A term that is given up: its pattern, the term to write, and the kinds of text that it is looked for in."""

    pattern: re.Pattern[str]
    write: str
    kinds: tuple[str, ...]


def _page_texts(file: str, contents: str) -> Iterator[Text]:
    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    contents = _INDENTED.sub(blank, _CODE_BLOCK.sub(blank, contents))
    for match in re.finditer(r"(?:[^\n]+\n?)+", contents):
        if match[0].strip():
            yield Text(file, contents.count("\n", 0, match.start()) + 1, match[0])


def _python_texts(file: str, contents: str) -> Iterator[Text]:
    """Yield comments, docstrings, and the strings that have a space."""
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(contents).readline):
        if token.type == tokenize.COMMENT and "SPDX" not in token.string:
            if comments and comments[-1][0] + comments[-1][1].count("\n") + 1 == token.start[0]:
                comments[-1] = (comments[-1][0], f"{comments[-1][1]}\n{token.string.lstrip('# ')}")
            else:
                comments.append((token.start[0], token.string.lstrip("# ")))
    yield from (Text(file, line, text) for line, text in comments)
    for node in ast.walk(ast.parse(contents)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Text(file, node.lineno, node.value)


def _c_texts(file: str, contents: str) -> Iterator[Text]:
    """Yield the comments of C and SystemVerilog; neighbouring line comments are one text."""
    for match in re.finditer(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n?)+|//[^\n]*", contents, re.DOTALL | re.MULTILINE):
        text = re.sub(r"^\s*(?://+|/?\*+/?)[ \t]?|\*/$", "", match[0], flags=re.MULTILINE)
        if "SPDX" not in text:
            yield Text(file, contents.count("\n", 0, match.start()) + 1, text)


_READERS = {"pages": _page_texts, "Python": _python_texts, "RTL": _c_texts, "C": _c_texts}


def texts(root: Path, kind: str, left_out: tuple[str, ...] = ()) -> list[Text]:
    """Return the prose of the files of a kind, without the files whose names begin with one of `left_out`."""
    files = sorted({path for pattern in KINDS[kind] for path in root.glob(pattern) if path.is_file()})
    found: list[Text] = []
    for path in files:
        file = str(path.relative_to(root))
        if not file.startswith(left_out) and "__pycache__" not in file:
            found += _READERS[kind](file, path.read_text())
    return found


def sentences(found: list[Text]) -> list[str]:
    """Return the sentences of texts; rows of tables and headings are left out."""
    split = [part.strip() for text in found for part in _SENTENCE_END.split(text.text)]
    return [part for part in split if len(part.split()) > 2 and not part.startswith(("|", "#"))]


def long_share(found: list[Text]) -> float:
    """Return the share of sentences that have more than LONG_SENTENCE words."""
    parts = sentences(found)
    return sum(len(part.split()) > LONG_SENTENCE for part in parts) / max(len(parts), 1)


class Rules:
    """The contents of terms.toml: terms given up, exceptions, and the limits of the patterns."""

    def __init__(self, path: Path = TERMS) -> None:
        table = tomllib.loads(path.read_text())
        self.terms = [
            Term(re.compile(entry["pattern"], re.IGNORECASE), entry["write"], tuple(entry.get("kinds", KINDS)))
            for entry in table["term"]
        ]
        self.exceptions = [(entry["file"], re.compile(entry["text"])) for entry in table["exception"]]
        self.left_out = tuple(table["left_out"])
        self.patterns = {entry["name"]: (re.compile(entry["pattern"]), entry["limit"]) for entry in table["pattern"]}

    def terms_found(self, kind: str, found: list[Text]) -> list[str]:
        """Return a line for each term given up that is in a text."""
        lines = []
        for text in found:
            allowed = [pattern for file, pattern in self.exceptions if text.file.startswith(file)]
            for term in self.terms:
                if kind not in term.kinds:
                    continue
                for match in term.pattern.finditer(text.text):
                    begin, end = text.text.rfind("\n", 0, match.start()) + 1, text.text.find("\n", match.end())
                    line = text.text[begin : end if end >= 0 else None]
                    if not any(pattern.search(line) for pattern in allowed):
                        number = text.line + text.text.count("\n", 0, match.start())
                        lines.append(f"{text.file}:{number}: {match[0]!r}: write {term.write}")
        return lines

    def counts(self, found: list[Text]) -> Counter[str]:
        """Return how often each pattern is in texts."""
        return Counter(
            {
                name: sum(len(pattern.findall(text.text)) for text in found)
                for name, (pattern, _) in self.patterns.items()
            }
        )


def faults(root: Path) -> list[str]:
    """Return the faults of the project's prose, a line each."""
    rules, lines = Rules(), list[str]()
    for kind in KINDS:
        found = texts(root, kind, rules.left_out)
        lines += rules.terms_found(kind, found)
        counts = rules.counts(found)
        for name, (_, limits) in rules.patterns.items():
            if kind in limits and counts[name] > limits[kind]:
                lines.append(f"{kind}: {counts[name]} times {name!r}, at most {limits[kind]}")
        if kind == "pages" and long_share(found) > LONG_SHARE:
            share = long_share(found)
            lines.append(
                f"pages: {share:.1%} of the sentences have more than {LONG_SENTENCE} words, at most {LONG_SHARE:.0%}"
            )
    return lines
