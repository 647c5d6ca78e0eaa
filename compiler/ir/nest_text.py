# SPDX-License-Identifier: Apache-2.0
"""Schedules as text: the loop nests of all segments, written and read back.

    segment                 # comments begin with #
      for rows by 2, lead 1
        prefetch input
        pass block1
        pass block2
    segment
      for rows by 4
        fetch filters
        for filters in 8
          pass block3
          spill output

`rows by N`: row tiles of N output rows of the last pass. `lead N`: row tiles that each pass is ahead of the next one.
`filters in N`, `channels in N`: number of tiles. `prefetch input`: the input of a row tile comes from DRAM during the
tile before; `fetch input`: as early as its words are free. `fetch filters`: the filters of the last pass come for each
row tile again. `pass NAME in place`: the output overwrites the input.

These lines may stand before the segments: `planar: TENSOR ...`, feature maps in NC/8HW8 layout; `wait for stores`, each
job waits for the stores of the one before; `turned`, feature maps of one column are rows; `not composed`,
data-movement operators stay as the model has them (passes/simplify.py).

The schedule of a network in parts has a line `part0: ...` before each part, with its number. The planner chooses for
the parts that the text leaves out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eyrie.compiler.ir.nest import ONE, Nest, Tiling
from eyrie.compiler.ir.plan import Segment
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.model.reading import read_file

STEP = "  "
REMEDY = "write it with eyrie compile --dump segments"


@dataclass(frozen=True)
class Scheduled:
    """A segment of a text: the names of its fused operators, its loop nest, and its line."""

    names: tuple[str, ...]
    nest: Nest
    line: int


@dataclass(frozen=True)
class ScheduleText:
    """A schedule as a text has it.

    path: of its file, for messages; planar: feature maps in NC/8HW8 layout
    stores_overlap: see Plan; turn, compose: see Request
    parts: of a network in parts, by number; the text has no segments beside them
    """

    path: str
    segments: tuple[Scheduled, ...]
    planar: tuple[str, ...] = ()
    stores_overlap: bool = True
    turn: bool = False
    compose: bool = True
    parts: "tuple[tuple[int, ScheduleText], ...]" = ()


def header(planar: Sequence[str], stores_overlap: bool, turn: bool, compose: bool) -> list[str]:
    """Return the lines before the segments."""
    flags = {"wait for stores": not stores_overlap, "turned": turn, "not composed": not compose}
    return ([f"planar: {' '.join(planar)}"] if planar else []) + [line for line, is_said in flags.items() if is_said]


def lines_of(segment: Segment) -> Iterator[str]:
    """Yield the lines of a segment."""
    nest, names = segment.nest, [group.name for group in segment.groups]
    yield "segment"
    depth = 1
    if nest.rows:
        yield f"{STEP}for rows by {nest.rows}" + (f", lead {nest.lead}" if len(names) > 1 and nest.lead else "")
        depth += 1
    for n, (name, tiling) in enumerate(zip(names, nest.tilings)):
        last, inside = n == len(names) - 1, depth + (tiling != ONE)
        fetch = "prefetch input" if nest.rows and nest.ahead and tiling.channels == 1 else "fetch input"
        if n == 0 and nest.from_dram and tiling.channels == 1:
            yield STEP * depth + fetch
        if last and nest.refetch:
            yield STEP * depth + "fetch filters"
        if tiling != ONE:
            dimension = "filters" if tiling.filters > 1 else "channels"
            yield STEP * depth + f"for {dimension} in {tiling.parts}"
        if n == 0 and nest.from_dram and tiling.channels > 1:
            yield STEP * inside + fetch
        yield STEP * inside + f"pass {name}" + " in place" * nest.in_place
        if last and nest.to_dram:
            yield STEP * inside + "spill output"


def read_schedule(path: str | Path) -> ScheduleText:
    """Read a schedule file. Raise InputError, which begins with the path, if it is not one."""
    with about(path):
        try:
            return _schedule(str(path), list(_lines(read_file(path, REMEDY).decode())))
        except UnicodeDecodeError as error:
            raise InputError(f"no text in UTF-8: {REMEDY}") from error


def _schedule(path: str, lines: "list[_Line]") -> ScheduleText:
    heads = [n for n, line in enumerate(lines) if line.part]
    if not heads:
        return _of_one(path, lines)
    if heads[0]:
        raise lines[0].error("must not stand before the first part")
    parts = dict[str, ScheduleText]()
    for start, end in zip(heads, [*heads[1:], len(lines)]):
        part = lines[start].part
        if part in parts:
            raise lines[start].error("is there twice")
        parts[part] = _of_one(f"{path}: part{part}", lines[start + 1 : end], lines[start])
        if parts[part].compose != parts[lines[0].part].compose:
            raise lines[start].error("must have 'not composed' like the first part, or leave it out like that")
    compose = next(iter(parts.values())).compose
    return ScheduleText(path, (), compose=compose, parts=tuple((int(part), each) for part, each in parts.items()))


def _of_one(path: str, lines: "list[_Line]", head: "_Line | None" = None) -> ScheduleText:
    """Read the lines of a network, or of a part that begins with a head."""
    starts = [n for n, line in enumerate(lines) if line.text == "segment" and not line.depth]
    if not starts and head:
        raise head.error("has no segment")
    if not starts:
        raise InputError("no segment: a schedule has at least one line 'segment'")
    planar, flags = list[str](), set[str]()
    for line in lines[: starts[0]]:
        if line.text.startswith("planar:") and not line.depth:
            planar += line.text.removeprefix("planar:").split()
        elif line.text in ("wait for stores", "turned", "not composed") and not line.depth:
            flags.add(line.text)
        else:
            raise line.error("must be 'segment', without indentation")
    segments = list[Scheduled]()
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        inside = lines[start + 1 : end]
        if wrong := next((line for line in inside if not line.depth), None):
            raise wrong.error("must be 'segment', or be indented")
        segments.append(_Reading(inside).segment(lines[start].number))
    stores_overlap, compose = "wait for stores" not in flags, "not composed" not in flags
    return ScheduleText(path, tuple(segments), tuple(planar), stores_overlap, "turned" in flags, compose)


@dataclass(frozen=True)
class _Line:
    number: int
    depth: int
    text: str

    @property
    def part(self) -> str:
        """Return the number of the part that the line begins, "" for other lines."""
        found = re.match(r"part(0|[1-9]\d{0,5}):", self.text)
        return found[1] if found and not self.depth else ""

    def error(self, reason: str) -> InputError:
        return InputError(f"line {self.number}: '{self.text}' {reason}")


def _lines(text: str) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].rstrip()
        if said:
            spaces = len(said) - len(said.lstrip())
            if spaces % len(STEP) or "\t" in said:
                raise InputError(f"line {number}: indent by {len(STEP)} spaces for each loop, without tabs")
            yield _Line(number, spaces // len(STEP), " ".join(said.split()))


@dataclass
class _Reading:
    """The lines of a segment, read one by one."""

    lines: list[_Line]
    at: int = 0
    names: list[str] = field(default_factory=list)
    tilings: list[Tiling] = field(default_factory=list)
    nest: Nest = field(default_factory=lambda: Nest(lead=0))

    def segment(self, number: int) -> Scheduled:
        """Return the segment that begins in line `number`."""
        depth = 1
        if self._next(depth, r"for rows by (\d+)(?:, lead (\d+))?"):
            rows, lead = self.found.groups()
            self.nest = replace(self.nest, rows=self._count(rows), lead=self._count(lead) if lead else 0)
            depth += 1
        while self.at < len(self.lines):
            self._pass(depth)
        if not self.names:
            raise InputError(f"line {number}: the segment has no pass")
        if len(self.names) == 1:
            if self.nest.lead:
                raise InputError(f"line {number}: a lead is between passes, and the segment has one")
            self.nest = replace(self.nest, lead=1)
        return Scheduled(tuple(self.names), replace(self.nest, tilings=tuple(self.tilings)), number)

    def _pass(self, depth: int) -> None:
        """Read a pass with the loop and the transfers around it."""
        self._no_more("spill output", self.nest.to_dram, "the last pass")
        self._no_more("fetch filters", self.nest.refetch, "the last pass")
        self._no_more("pass ... in place", self.nest.in_place, "a pass by itself")
        self._fetch(depth)
        if self._next(depth, "fetch filters"):
            self.nest = replace(self.nest, refetch=True)
        self._fetch(depth)
        tiling, inside = ONE, depth
        if self._next(depth, r"for (filters|channels) in (\d+)"):
            dimension, tiles = self.found.groups()
            if self._count(tiles) < 2:
                raise self.lines[self.at - 1].error("must have at least 2 tiles, or leave the loop out")
            tiling, inside = Tiling(**{dimension: int(tiles)}), depth + 1
            if tiling.channels > 1:
                self._fetch(inside)
        if not self._next(inside, r"pass (\S+)( in place)?"):
            raise self._unexpected(inside)
        name, overwrites = self.found.groups()
        self.names.append(name)
        self.tilings.append(tiling)
        self.nest = replace(self.nest, in_place=bool(overwrites))
        if self._next(inside, "spill output"):
            self.nest = replace(self.nest, to_dram=True)

    def _fetch(self, depth: int) -> None:
        if self._next(depth, r"(pre)?fetch input"):
            line = self.lines[self.at - 1]
            if self.names or self.nest.from_dram:
                raise line.error("must stand once, before the first pass")
            in_rows = self.nest.rows > 0
            plain = depth > 1 + in_rows  # in a loop over channels
            if self.found[1] and (plain or not in_rows):
                raise line.error("must be 'fetch input' outside of a loop over rows, and in a loop over channels")
            self.nest = replace(self.nest, from_dram=True, ahead=bool(self.found[1]) or plain or not in_rows)

    def _no_more(self, what: str, is_said: bool, where: str) -> None:
        if is_said:
            raise self.lines[self.at].error(f"comes after '{what}', which belongs to {where} of a segment")

    def _next(self, depth: int, pattern: str) -> bool:
        """Take the next line if it has this depth and matches; `found` is the match."""
        if self.at == len(self.lines):
            return False
        line = self.lines[self.at]
        found = re.fullmatch(pattern, line.text)
        if not found or line.depth != depth:
            return False
        self.found, self.at = found, self.at + 1
        return True

    def _count(self, number: str) -> int:
        if not 0 < int(number) < 1 << 16:
            raise self.lines[self.at - 1].error("must have a number from 1 to 65535")
        return int(number)

    def _unexpected(self, depth: int) -> InputError:
        if self.at == len(self.lines):
            last = self.lines[-1]
            return InputError(f"line {last.number}: after '{last.text}' a pass is missing")
        line = self.lines[self.at]
        if re.fullmatch(r"for .*", line.text):
            return line.error(
                "must be 'for rows by N', as the outermost loop, or 'for filters|channels in N' inside it"
            )
        wanted = STEP * depth + "pass NAME"
        return line.error(f"stands where '{wanted}' is expected, or a transfer or loop around that pass")
