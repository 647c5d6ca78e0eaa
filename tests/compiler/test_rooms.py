# SPDX-License-Identifier: Apache-2.0
"""The compiler's rooms: imports between them lead one way."""

import ast
from pathlib import Path

import pytest

COMPILER = Path(__file__).parents[2] / "compiler"
ROOMS = {  # each may import itself and those named
    "ir": (),
    "frontend": ("ir",),
    "passes": ("ir",),
    "target": ("ir",),
    "cost": ("ir",),
    "plan": ("ir", "target", "cost"),
    "emit": ("ir", "target", "plan"),
    "study": ("ir", "cost"),
    "cases": ("ir", "target"),
    "c": ("ir", "passes"),
    "text": ("ir",),
    "buffers": ("ir", "passes", "cost", "text"),
    "assembly": ("ir", "emit"),
}
HELPERS = ("files", "arrays", "options", "command_line")  # modules that import nothing of the compiler


def imported(path: Path) -> set[str]:
    """What a file imports of the compiler: rooms, or modules beside them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "compiler":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compiler."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("compiler.")}
    return found


def test_every_room_is_named() -> None:
    assert {path.name for path in COMPILER.iterdir() if (path / "__init__.py").exists()} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_one_way(room: str) -> None:
    files = list((COMPILER / room).rglob("*.py"))
    assert len(files) > 1
    for path in files:
        assert imported(path) <= {room, *ROOMS[room], *HELPERS}, path


@pytest.mark.parametrize("name", HELPERS)
def test_helpers_import_nothing_of_the_compiler(name: str) -> None:
    assert not imported(COMPILER / f"{name}.py")


def test_order_has_no_circle() -> None:
    done: set[str] = set()
    for room, needs in ROOMS.items():
        assert set(needs) <= done, room
        done.add(room)
