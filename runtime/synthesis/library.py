# SPDX-License-Identifier: Apache-2.0
"""Cells that a netlist is mapped to, and their areas in gate equivalents (of a NAND2)."""

import re
from dataclasses import dataclass
from pathlib import Path

from eyrie.model.errors import InputError

# Yosys's own gates. The areas are those that libraries of standard cells have in common: a NAND2 of 4 transistors is
# 1, a register 5 2/3, one with a reset 6 2/3.
_GATES = {
    "$_NOT_": 0.67,
    "$_NAND_": 1.0,
    "$_NOR_": 1.0,
    "$_AND_": 1.33,
    "$_OR_": 1.33,
    "$_XOR_": 2.0,
    "$_XNOR_": 2.0,
    "$_MUX_": 2.33,
    "$_AOI3_": 1.33,
    "$_OAI3_": 1.33,
    "$_AOI4_": 1.67,
    "$_OAI4_": 1.67,
}
_REGISTERS = {"$_DFF_P_": 5.67, "$_DFF_PN0_": 6.67, "$_DFF_PN1_": 6.67}
ABC_GATES = "AND,NAND,OR,NOR,XOR,XNOR,MUX,AOI3,OAI3,AOI4,OAI4"

_CELL = re.compile(r"\bcell\s*\(\s*\"?([\w.]+)\"?\s*\)\s*\{")
_AREA = re.compile(r"\barea\s*:\s*\"?([\d.eE+-]+)")
_REGISTER = re.compile(r"\bff\s*\([^)]*\)\s*\{([^}]*)\}")
_CLOCK = re.compile(r"\bclocked_on\s*:\s*\"([^\"]*)\"")
_NAND2 = re.compile(r"nand2", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Library:
    """A library of cells.

    name       for the user
    areas      cell -> gate equivalents
    registers  cell -> its clock pin; each holds one bit
    file       path of the library; None: yosys's own gates
    """

    name: str
    areas: dict[str, float]
    registers: dict[str, str]
    file: Path | None = None


def own_gates() -> Library:
    """Return the library of yosys's own gates."""
    return Library("yosys's gates", _GATES | _REGISTERS, dict.fromkeys(_REGISTERS, "C"))


def liberty(path: Path) -> Library:
    """Read the cells of a Liberty file; areas are in units of its smallest NAND2. Raise InputError, with one line."""
    try:
        text = _COMMENT.sub(" ", path.read_text(errors="replace"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}): give a cell library in Liberty format") from error
    areas, registers = {}, {}
    for start in _CELL.finditer(text):
        body = _group(text, start.end())
        area = _AREA.search(body)
        if area:
            areas[start[1]] = float(area[1])
        register = _REGISTER.search(body)
        if register:
            clock = _CLOCK.search(register[1])
            registers[start[1]] = re.sub(r"\W", "", clock[1]) if clock else ""
    nands = [area for name, area in areas.items() if _NAND2.search(name) and area > 0]
    if not nands or not registers:
        what = "cell with NAND2 in its name and an area" if not nands else "flip-flop"
        raise InputError(f"{path}: no {what} in it: give a cell library in Liberty format")
    return Library(path.name, {name: area / min(nands) for name, area in areas.items()}, registers, path)


def _group(text: str, start: int) -> str:
    """Return the text between the brace that opened before `start` and its partner."""
    depth = 1
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.start()]
    return text[start:]
