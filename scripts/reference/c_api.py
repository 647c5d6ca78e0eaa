# SPDX-License-Identifier: Apache-2.0
"""The page of the C interface: functions, types and comments of the two headers."""

import re
from pathlib import Path

from scripts.reference.markdown import linked, page

ROOT = Path(__file__).resolve().parents[2]
HEADERS = {
    "eyrie_driver.h": "runtime/c/driver/eyrie_driver.h",
    "eyrie.h": "runtime/c/eyrie.h",
}
ABOUT = {
    "eyrie_driver.h": "The driver: load a network, write inputs, run, read outputs.",
    "eyrie.h": "The operator library: run single operators. It includes the driver.",
}
SECTION = re.compile(r"/\* ---- (.*?) ---- \*/")
COMMENT = re.compile(r"/\*(.*?)\*/\s*", re.DOTALL)
NAMES = (
    re.compile(r"^(?:struct|enum) (eyrie_\w+) \{", re.MULTILINE),
    re.compile(r"\b(eyrie_\w+)\((?!\*)", re.MULTILINE),
    re.compile(r"^#define (EYRIE_\w+)", re.MULTILINE),
    re.compile(r"^(EYRIE_DESCRIPTOR)\(", re.MULTILINE),
)


def text() -> str:
    """Write the declarations of the headers."""
    return page(
        "C interface",
        "The headers are C99 and C++17. A function of type `enum eyrie_result` returns EYRIE_OK after success. "
        "[The driver](../howto/driver.md) and [the operator library](../howto/operators.md) have examples.",
        "`runtime/c/driver/eyrie_driver.h` and `runtime/c/eyrie.h`",
        *(_header(name, ROOT / path) for name, path in HEADERS.items()),
    )


def _header(name: str, path: Path) -> str:
    source = path.read_text()
    start = source.index('extern "C" {\n#endif\n') + len('extern "C" {\n#endif\n')
    body = source[start : source.rindex("#ifdef __cplusplus")]
    parts = [f"## {name}", ABOUT[name]]
    for chunk in re.split(r"\n\n+", body.strip()):
        if found := SECTION.fullmatch(chunk.strip()):
            parts.append(f"**{_sentence(found[1])}**")
        else:
            parts += _declaration(chunk)
    return "\n\n".join(parts)


def _declaration(chunk: str) -> list[str]:
    """Return heading, comment and code of a declaration, or of several under one comment."""
    comment, declared = "", chunk
    if found := COMMENT.match(chunk):
        comment, declared = found[1], chunk[found.end() :]
    names = next((pattern.findall(declared) for pattern in NAMES if pattern.search(declared)), [])
    parts = [f"### {', '.join(dict.fromkeys(names))}"] if names else []
    if comment:
        lines = [re.sub(r"^ *\* ?", "", line).strip() for line in comment.strip().splitlines()]
        parts.append(linked("\n".join(lines)))
    return [*parts, f"```c\n{declared.rstrip()}\n```"] if declared.strip() else parts


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
