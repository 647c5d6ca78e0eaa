# SPDX-License-Identifier: Apache-2.0
"""Which group of a sequence reads which map, and where those lie that others than the next group read."""

from dataclasses import dataclass, field
from functools import cached_property

from eyrie.compiler.ir.layer import Group, Map

OUTSIDE = -1  # the maker of a map that none of the groups makes


@dataclass(frozen=True)
class Flow:
    """A sequence of groups, each behind those that make what it reads.

    A map that the next group alone reads, as its source, is passed on. Others that groups make and read are held: in
    the GLB from the job that writes them to the last that reads them; or in DRAM, stored when they are made and loaded
    for each reader, as inputs and outputs of the network are.

    in_dram: names of the held maps that go through DRAM
    """

    groups: tuple[Group, ...] = field(repr=False)
    in_dram: frozenset[str] = frozenset()

    @cached_property
    def makers(self) -> list[tuple[int, ...]]:
        """Of each group, the groups that make its source and its other operands; in a batch those of its image."""
        latest: dict[str, int] = {}
        found = []
        for n, group in enumerate(self.groups):
            found.append(tuple(latest.get(operand.name, OUTSIDE) for operand in (group.source, *group.others)))
            latest[group.output.name] = n
        return found

    @cached_property
    def readers(self) -> list[list[int]]:
        """Of each group, the groups that read its output, in order, each once."""
        found: list[list[int]] = [[] for _ in self.groups]
        for n, makers in enumerate(self.makers):
            for maker in sorted(set(makers) - {OUTSIDE}):
                found[maker].append(n)
        return found

    @property
    def is_chain(self) -> bool:
        """Whether each group reads what the one before it makes, and nothing else."""
        return not any(group.others for group in self.groups) and all(map(self.passed_on, range(len(self.groups) - 1)))

    def passed_on(self, n: int) -> bool:
        """Whether the group behind group n, and no other, reads its output, as its source."""
        if self.readers[n] != [n + 1] or self.groups[n].stored:
            return False
        source, *others = self.makers[n + 1]
        return source == n and n not in others

    def held(self, n: int) -> bool:
        """Whether the output of group n stays in the GLB for others than the next group."""
        group = self.groups[n]
        stays = bool(self.readers[n]) and not self.passed_on(n)
        return stays and not group.stored and group.output.name not in self.in_dram

    def from_dram(self, maker: int) -> bool:
        """Whether a map that is not passed on comes from DRAM; maker: the group that makes it."""
        return maker == OUTSIDE or not self.held(maker)

    def exits(self, n: int) -> tuple[bool, ...]:
        """Whether the output of group n may go to DRAM."""
        if self.passed_on(n):
            return False, True
        return (not self.held(n),)

    def fetched(self, first: int, last: int) -> list[tuple[int, Map]]:
        """Operands, beside the sources, that groups first to last - 1 have from DRAM, each with its group."""
        return [
            (n, other)
            for n in range(first, last)
            for other, maker in zip(self.groups[n].others, self.makers[n][1:])
            if self.from_dram(maker)
        ]

    def freed(self, first: int, last: int, from_dram: bool) -> dict[tuple[int, int], int]:
        """Return the operand, with its maker, whose rows fall free as groups first to last - 1 read them.

        It is the largest one that no later group reads: the output can take the place of one operand only. A source
        from DRAM is another one in any case: its rows come and go. An operand is (group, counted from the first one;
        number, 0 for the source).
        """
        key = first, last, from_dram
        if key not in self._freed:
            self._freed[key] = self._found_freed(*key)
        return self._freed[key]

    @cached_property
    def _freed(self) -> dict[tuple[int, int, bool], dict[tuple[int, int], int]]:
        return {}

    def _found_freed(self, first: int, last: int, from_dram: bool) -> dict[tuple[int, int], int]:
        dying = {
            (n - first, number): maker
            for n in range(first, last)
            for number, maker in enumerate(self.makers[n])
            if 0 <= maker < first and self._dies(maker, n) and not (from_dram and (n, number) == (first, 0))
        }
        most = sorted(dying, key=lambda operand: -self.groups[dying[operand]].output.layout.words)[:1]
        source = {(0, 0): OUTSIDE} if from_dram else {}
        return source | {operand: dying[operand] for operand in most}

    def _dies(self, maker: int, n: int) -> bool:
        """Return whether group n is the last one that reads a map in the GLB."""
        return (self.held(maker) or self.passed_on(maker)) and self.readers[maker][-1] == n

    def across(self, first: int, last: int, from_dram: bool) -> list[int]:
        """Return the makers of the other maps that live in the GLB while groups first to last - 1 run."""
        freed = self.freed(first, last, from_dram).values()
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
            tuple((self.passed_on(n), self.held(n)) for n in range(first, last)),
            tuple(tuple(self.from_dram(maker) for maker in self.makers[n][1:]) for n in range(first, last)),
            tuple((self.words_across(*span, from_dram), tuple(self.freed(*span, from_dram))) for span in spans),
        )

    @cached_property
    def _all_held(self) -> list[int]:
        return [n for n in range(len(self.groups)) if self.held(n)]

    def words_across(self, first: int, last: int, from_dram: bool) -> int:
        """Return the GLB words of `across`."""
        return sum(self.groups[n].output.layout.words for n in self.across(first, last, from_dram))

    def held_names(self) -> list[str]:
        """Of the maps that are held in the GLB, largest first."""
        held = [self.groups[n].output for n in self._all_held]
        return [map_.name for map_ in sorted(held, key=lambda map_: (-map_.layout.words, map_.name))]

    def largest_held(self, group: str) -> str:
        """The largest map held while a group runs, its own source and output among them; of all, if there is none:
        its name, "" if none is held."""
        number = {each.name: n for n, each in enumerate(self.groups)}.get(group, OUTSIDE)
        held = [n for n in range(len(self.groups)) if self.held(n)]
        here = [n for n in held if n <= number <= self.readers[n][-1]]
        names = {self.groups[n].output.name: self.groups[n].output.layout.words for n in here or held}
        return max(names, key=lambda name: (names[name], name), default="")
