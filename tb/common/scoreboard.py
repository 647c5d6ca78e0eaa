# SPDX-License-Identifier: Apache-2.0
"""Compares what a design did with what it should do, item by item, and counts.

No simulator is needed here: tb/common/test_scoreboard.py plants errors and sees them found.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np

_CONTEXT = 4  # items shown before a difference


class Scoreboard:
    """A queue of expected items, against which observed ones are compared in order.

    Items are compared with ==, so they may be ints, tuples or dicts of fields. `name` and the
    `where` of an item (any object; printed only when needed, e.g. "pass 3, e=1, f=2") locate a
    difference. A monitor takes `observe` as its callback. In a simulation, `moment` returns the text of the current
    time.
    """

    moment: ClassVar[Callable[[], str] | None] = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.comparisons = 0
        self.mismatches = 0
        self.first_difference: str | None = None
        self._expected: deque[tuple[object, object]] = deque()
        self._recent: deque[object] = deque(maxlen=_CONTEXT)

    def expect(self, item: object, where: object = "") -> None:
        """Appends one item to the expected sequence."""
        self._expected.append((item, where))

    def expect_all(self, items: Iterable[object], where: object = "") -> None:
        """Appends items that share one `where`."""
        self._expected.extend((item, where) for item in items)

    def observe(self, item: object) -> None:
        """Compares an observed item with the next expected one; a surplus item is a mismatch."""
        self.comparisons += 1
        if not self._expected:
            self._differ("after the last item", "nothing", item)
            return
        expected, where = self._expected.popleft()
        if item != expected:
            self._differ(where, expected, item)
        self._recent.append(item)

    def compare(self, expected: np.ndarray, got: np.ndarray, where: object = "") -> None:
        """Compares two arrays at once, each element counting; a different shape is one mismatch."""
        expected, got = np.asarray(expected), np.asarray(got)
        if expected.shape != got.shape:
            self.comparisons += 1
            self._differ(where, f"shape {expected.shape}", f"shape {got.shape}")
            return
        self.comparisons += expected.size
        wrong = np.argwhere(np.atleast_1d(expected != got))
        for index in map(tuple, wrong[:1]):
            values = np.atleast_1d(expected)[index], np.atleast_1d(got)[index]
            place = ", ".join(map(str, index))
            self._differ(f"{where} [{place}], {len(wrong)} of {expected.size} differ", *values)
        self.mismatches += max(len(wrong) - 1, 0)

    @property
    def done(self) -> bool:
        """Whether every expected item has been observed."""
        return not self._expected

    def finish(self) -> None:
        """Fails on a difference, on items still missing, and if nothing was compared."""
        assert self.first_difference is None, self.first_difference
        if self._expected:
            item, where = self._expected[0]
            raise AssertionError(f"{self.name}: {len(self._expected)} items missing, the first: {where} {item}")
        assert self.comparisons > 0, f"{self.name}: nothing was compared"

    def _differ(self, where: object, expected: object, got: object) -> None:
        self.mismatches += 1
        if self.first_difference is None:
            before = ", ".join(map(str, self._recent)) or "none"
            at = f", {type(self).moment()}" if type(self).moment else ""
            self.first_difference = (
                f"{self.name}: {where or 'item'} (comparison {self.comparisons}{at}): "
                f"expected {expected}, got {got}; before it: {before}"
            )
