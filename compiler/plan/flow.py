# SPDX-License-Identifier: Apache-2.0
"""Which group of a sequence reads which map, and where those lie that others than the next group read."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import is_source

OUTSIDE = -1  # the maker of a map that none of the groups makes


@dataclass(frozen=True)
class Flow:
    """A sequence of groups, each behind those that make what it reads.

    A map that the next group alone reads, as its source, is passed on. Others that groups make and read are held,
    unless all of these share a loop (`strays`): in the GLB from the job that writes them to the last that reads them;
    or in DRAM, stored when they are made and loaded for each segment that reads them, as inputs and outputs of the
    network are. The parts of a map are held together.

    in_dram: names of the held maps that go through DRAM
    """

    groups: tuple[Group, ...] = field(repr=False)
    in_dram: frozenset[str] = frozenset()

    @cached_property
    def writers(self) -> list[tuple[tuple[int, ...], ...]]:
        """Return the groups that make each operand of each group, or its parts, in order; in a batch, for the same
        image."""
        latest: dict[str, int] = {}
        found = []
        for n, group in enumerate(self.groups):
            parts = ([latest.get(name, OUTSIDE) for name in self._parts(operand)] for operand in group.operands)
            found.append(tuple(tuple(sorted(each)) for each in parts))
            latest[group.output.name] = n
        return found

    def _parts(self, map_: Map) -> list[str]:
        """Return the names of the outputs that have the words of a map: itself, its parts, or the map around it."""
        if map_.part and map_.name not in self._made and map_.name not in self._parts_of:
            return self._parts(map_.part.whole)
        return self._parts_of.get(map_.name) or [map_.name]

    @cached_property
    def _made(self) -> set[str]:
        return {group.output.name for group in self.groups}

    @cached_property
    def _parts_of(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for output in {group.output.name: group.output for group in self.groups}.values():
            part = output.part
            while part:
                found.setdefault(part.whole.name, []).append(output.name)
                part = part.whole.part
        return found

    @cached_property
    def makers(self) -> list[tuple[int, ...]]:
        """Return the group that makes each operand of each group, or the last part of it."""
        return [tuple(each[-1] for each in writers) for writers in self.writers]

    @cached_property
    def readers(self) -> list[list[int]]:
        """Return the groups that read the output of each group, by itself or as a part, in order, each once."""
        found: list[list[int]] = [[] for _ in self.groups]
        for n, writers in enumerate(self.writers):
            for writer in sorted({each for of in writers for each in of} - {OUTSIDE}):
                found[writer].append(n)
        return found

    @property
    def is_chain(self) -> bool:
        """Whether each group reads what the one before it makes, and nothing else."""
        return not any(group.others for group in self.groups) and all(map(self.passed_on, range(len(self.groups) - 1)))

    def passed_on(self, n: int) -> bool:
        """Whether the group behind group n, and no other, reads its output, as its source."""
        if self.readers[n] != [n + 1] or self.groups[n].stored or self.groups[n].output.part:
            return False
        source, *others = self.makers[n + 1]
        is_all = self.groups[n + 1].source.name == self.groups[n].output.name
        return source == n and n not in others and is_all

    def encloses(self, first: int, last: int) -> bool:
        """Return whether groups first to last - 1 can share a loop over rows."""
        return not any(self.strays(first, last))

    def strays(self, first: int, last: int) -> Iterator[str]:
        """Yield why groups first to last - 1 cannot share a loop over rows: they alone must read the outputs of all but
        the last, and their sources must be such outputs, or the source of the first."""
        for n in range(first, last - 1):
            group, readers = self.groups[n], self.readers[n]
            if not self.passed_on(n) and (group.stored or group.output.part or not readers or readers[-1] >= last):
                yield f"the output of {group.name} is read by others than the passes of the loop"
        for n in range(first + 1, last):
            reader = self.groups[n]
            for number, (operand, writers) in enumerate(zip(reader.operands, self.writers[n], strict=True)):
                if number == 0 and self.passed_on(n - 1):
                    continue
                if writers[-1] < first:
                    by_row = number > 0 or is_source(self.groups[first], reader, number)
                else:
                    whole = operand.name == self.groups[writers[-1]].output.name
                    by_row = whole and not operand.planar and not reader.broadcasts(number)
                if not by_row:
                    yield f"{reader.name} reads {operand.name}, which the loop does not bring row by row"

    def held(self, n: int) -> bool:
        """Whether the output of group n stays in the GLB for others than the next group."""
        group = self.groups[n]
        stays = bool(self.readers[n]) and not self.passed_on(n) and not group.stored
        return stays and group.output.storage.name not in self._never_held

    @cached_property
    def _never_held(self) -> frozenset[str]:
        """Return the names of the maps that go through DRAM: chosen ones, and maps with strips, unless fused operators
        write these in place."""
        strips = [map_ for group in self.groups for map_ in group.operands if map_.is_strip]
        for group in self.groups:
            if group.output.is_strip and (group.whole or not group.output.is_written_in_place):
                strips.append(group.output)
        return self.in_dram | {map_.storage.name for map_ in strips}

    def from_dram(self, maker: int) -> bool:
        """Whether a map that is not passed on comes from DRAM; maker: the group that makes it."""
        return maker == OUTSIDE or not self.held(maker)

    def next_from_dram(self, n: int, to_dram: bool) -> bool:
        """Return whether the source of group n, with which a segment begins, comes from DRAM; behind the last group,
        True. to_dram: whether the output of the segment before goes there"""
        if n == len(self.groups) or self.passed_on(n - 1):
            return to_dram
        return self.from_dram(self.makers[n][0])

    def exits(self, n: int) -> tuple[bool, ...]:
        """Whether the output of group n may go to DRAM."""
        if self.passed_on(n):
            return False, True
        return (not self.held(n),)

    def fetched(self, first: int, last: int, sliced: bool = False) -> list[tuple[int, Map]]:
        """Operands, beside the sources, that groups first to last - 1 have from DRAM, each with its group; not those
        that they make, or that are the source of the first. sliced: in slices, in which each comes by itself"""
        source = self.groups[first]
        return [
            (n, other)
            for n in range(first, last)
            for number, (other, maker) in enumerate(zip(self.groups[n].others, self.makers[n][1:]), 1)
            if maker < first and self.from_dram(maker) and (sliced or not is_source(source, self.groups[n], number))
        ]

    def freed(self, first: int, last: int, from_dram: bool) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return the operand, with its writers, whose rows fall free as groups first to last - 1 read them.

        It is the largest one that no later group reads: the output can take the place of one operand only. A source
        from DRAM is another one in any case: its rows come and go. An operand is (group, counted from the first one;
        number, 0 for the source).
        """
        key = first, last, from_dram
        if key not in self._freed:
            self._freed[key] = self._found_freed(*key)
        return self._freed[key]

    @cached_property
    def _freed(self) -> dict[tuple[int, int, bool], dict[tuple[int, int], tuple[int, ...]]]:
        return {}

    def _found_freed(self, first: int, last: int, from_dram: bool) -> dict[tuple[int, int], tuple[int, ...]]:
        dying = {
            (n - first, number): (-operand.layout.words, writers)
            for n in range(first, last)
            for number, (operand, writers) in enumerate(zip(self.groups[n].operands, self.writers[n], strict=True))
            if self._dies(operand, writers, first, n) and not (from_dram and (n, number) == (first, 0))
        }
        most = sorted(dying, key=lambda operand: dying[operand][0])[:1]
        source = {(0, 0): (OUTSIDE,)} if from_dram else {}
        return source | {operand: dying[operand][1] for operand in most}

    def _dies(self, operand: Map, writers: tuple[int, ...], first: int, n: int) -> bool:
        """Return whether group n is the last one that reads what groups before `first` leave in the GLB, and reads all
        of it."""
        if writers[0] == OUTSIDE or writers[-1] >= first:
            return False
        stays = (self.held(writer) or self.passed_on(writer) for writer in writers)
        words = sum(self.groups[writer].output.layout.words for writer in writers)
        is_last = all(self.readers[writer][-1] == n for writer in writers)
        return all(stays) and is_last and words == operand.layout.words

    def across(self, first: int, last: int, from_dram: bool) -> list[int]:
        """Return the makers of the other maps that live in the GLB while groups first to last - 1 run."""
        freed = {writer for writers in self.freed(first, last, from_dram).values() for writer in writers}
        found = [n for n in self._all_held if n < first and self.readers[n][-1] >= first]
        if not from_dram and self.passed_on(first - 1):
            found.append(first - 1)
        return [n for n in found if n not in freed]

    def around(self, first: int, last: int, from_dram: bool) -> tuple:
        """Return all that segments of groups first to last - 1 know of the other groups: equal for the same groups at
        another place, or in another sequence."""
        spans = [(first, end) for end in range(first + 1, last + 1)]
        return (
            first > 0 and self.passed_on(first - 1),
            tuple((self.passed_on(n), self.held(n), self._last_reader(n, first, last)) for n in range(first, last)),
            tuple(tuple(self._origins(n, first)) for n in range(first, last)),
            tuple((self.words_across(*span, from_dram), tuple(self.freed(*span, from_dram))) for span in spans),
        )

    def _last_reader(self, n: int, first: int, last: int) -> int:
        """Return the last reader of a group's output, counted from group `first`, or `last` if others may read it: of
        an output of the network, or of a part."""
        group, readers = self.groups[n], self.readers[n]
        return last - first if group.stored or group.output.part or not readers else min(readers[-1], last) - first

    def _origins(self, n: int, first: int) -> Iterator[tuple[int, bool]]:
        """Yield, for each operand of a group, the group that makes it, counted from group `first`, and whether it comes
        from DRAM; OUTSIDE for those from before, one less for the source of group `first`."""
        for operand, maker in zip(self.groups[n].operands, self.makers[n]):
            before = OUTSIDE - 1 if operand.name == self.groups[first].source.name else OUTSIDE
            yield maker - first if maker >= first else before, self.from_dram(maker)

    @cached_property
    def _all_held(self) -> list[int]:
        return [n for n in range(len(self.groups)) if self.held(n)]

    def words_across(self, first: int, last: int, from_dram: bool) -> int:
        """Return the GLB words of `across`."""
        return sum(self.groups[n].output.layout.words for n in self.across(first, last, from_dram))

    def held_names(self) -> list[str]:
        """Of the maps that are held in the GLB, largest first."""
        held = {(map_ := self.groups[n].output.storage).name: map_ for n in self._all_held}.values()
        return [map_.name for map_ in sorted(held, key=lambda map_: (-map_.layout.words, map_.name))]

    def largest_held(self, group: str) -> str:
        """The largest map held while a group runs, its own source and output among them; of all, if there is none:
        its name, "" if none is held."""
        number = {each.name: n for n, each in enumerate(self.groups)}.get(group, OUTSIDE)
        held = [n for n in range(len(self.groups)) if self.held(n)]
        here = [n for n in held if n <= number <= self.readers[n][-1]]
        maps = [self.groups[n].output.storage for n in here or held]
        names = {map_.name: map_.layout.words for map_ in maps}
        return max(names, key=lambda name: (names[name], name), default="")
