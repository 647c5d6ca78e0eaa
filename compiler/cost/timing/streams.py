# SPDX-License-Identifier: Apache-2.0
"""Streams from the GLB to the array on the timeline: beats fetched ahead, ifmap."""

from collections import deque
from collections.abc import Callable

from eyrie.compiler.cost.timing.banks import ASK, NETWORK, READ, Banks
from eyrie.compiler.cost.timing.front import NEVER, Front
from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.model.config import SET_ROWS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode, Stream

STREAM_START = 1 + ASK + READ  # read_stream: from the take of a pass to the first beat: first position, request, GLB
READ_AHEAD = 5  # DEPTH of read_stream
SKID = 2  # beats in the skid buffer of a network of the array


class Reader:
    """A read_stream, and the skid buffer of the network behind it: when positions are gone through and beats handed on.

    A position needs one of READ_AHEAD places, which is free from the cycle behind the beat's handing on, and one of
    the two places for requests. With two beats in the skid buffer, the next is handed on in the cycle behind the
    taking of the first.
    """

    TIMES = ("_taken", "_there", "_handed", "_first_handed", "_position", "_next", "_granted")

    def __init__(self, to_array: bool = True) -> None:
        """to_array: through a network; else what is handed on is taken."""
        self._network = NETWORK if to_array else 0
        self._taken: deque[int] = deque([-1] * SKID if to_array else [])  # of beats, from the next in `_handed` on
        self._there: deque[int] = deque()  # of beats: first cycle in which each can be handed on
        self._handed = -1  # cycle in which the beat before these was
        self._first_handed = -1  # that of the first of these, once READ_AHEAD are there
        self._position = -1  # cycle of the last position
        self._next: int | None = None  # that of the next, once it is worked out
        self._granted = (-1, -1)  # cycles of the last two grants

    def take(self, first: int) -> None:
        """A pass whose first beat, if it is from the GLB, may be taken in cycle `first`; all before are."""
        self._handed = self.handed
        for _ in self._there:
            self._taken.popleft()
        self._there.clear()
        self._position, self._next = first - self._network - READ - ASK - 1, None

    @property
    def handed(self) -> int:
        """The cycle in which the last beat is handed on, all being taken."""
        handed = self._handed
        for there, taken in zip(self._there, self._taken):
            handed = max(handed + 1, there, taken + self._network)
        return handed

    @property
    def is_known(self) -> bool:
        """Whether it is known when the next position has a place."""
        return bool(self._taken) or len(self._there) < READ_AHEAD

    def position(self) -> int:
        """The cycle of the next position."""
        if self._next is None:
            position, granted = self._position, self._granted[0]
            if granted > position:
                position = granted
            if len(self._there) == READ_AHEAD:
                self._first_handed = self._next_handed()
                if self._first_handed > position:
                    position = self._first_handed
            self._next = position + 1
        return self._next

    def ask(self, position: int) -> int:
        """The cycle in which a beat from the GLB is asked for."""
        granted = self._granted[1]
        return position + ASK if position + ASK > granted else granted + 1

    def fetch(self, position: int, granted: int | None) -> int:
        """The next beat is fetched, in no cycle before that of its position, `granted` being None where it is outside
        of its tensor; returns the first cycle in which it can be taken."""
        if len(self._there) == READ_AHEAD:
            self._handed = self._first_handed
            self._there.popleft()
            self._taken.popleft()
        self._position, self._next = position, None
        if granted is None:
            there = position + 1
        else:
            self._granted, there = (self._granted[1], granted), granted + READ
        self._there.append(there)
        return there + self._network

    def beat_taken(self, at: int) -> None:
        """The next beat is taken in a cycle."""
        self._taken.append(at)

    def _next_handed(self) -> int:
        handed, there, taken = self._handed + 1, self._there[0], self._taken[0] + self._network
        if there > handed:
            handed = there
        return taken if taken > handed else handed


class Ifmap:
    """The ifmap stream: beats are fetched some ahead of their sending, and sent in order. A PE takes a beat as soon
    as it has room; the next one follows when all have taken it.

    It is asked: `catch_up` sends what is known to go before a cycle, `arrival` all up to a word.

    pops: by PE, the last cycle of each word in its ifmap queue; pixels: by column, of its pixel queue in the pass.
    """

    TIMES = ("sent", "pops")

    def __init__(self, config: AcceleratorConfig, front: Front, banks: Banks) -> None:
        self._front, self._banks, self.reader = front, banks, Reader()
        self.sent = -1  # cycle of the last beat
        self.depth, self._pixel_depth = config.ifmap_words, config.pixel_words
        self.pops: list[list[int]] = [[] for _ in range(SET_ROWS * config.cols)]
        self.pixels: list[list[int]] = []
        self._fetched: deque[int] = deque()
        self._beats: list[tuple[tuple[int, ...], int]] = []
        self._left = 0  # beats

    def take(self, shape: PassShape, first: int) -> None:
        """A pass whose first beat may be sent in cycle `first`. A pointwise pass fills the pixel queues."""
        self._masks = iter(shape.banks_ifmap)
        self._fetched.clear()
        self.reader.take(first)
        self._beats, self._place, self._left = shape.beats, 0, len(shape.banks_ifmap)
        self.pixels = [[] for _ in self.pops]
        pointwise = shape.mode == ArrayMode.POINTWISE
        self._room, self._words = (self.pixels, self._pixel_depth) if pointwise else (self.pops, self.depth)
        self._pushed = [len(pops) for pops in self._room]
        self._arrived: list[list[int]] = [[] for _ in self.pops]  # by PE: cycle of each word of the pass
        self._waits: tuple[int, int] | None = None  # for a PE to be done with so many words
        self._known = 0  # the next beat is not sent before this cycle
        self.taken: list[int] = []  # by PE, the first cycle in which it takes words of this pass, if it must begin
        self._fetch()

    def rest(self) -> None:
        """All beats of the pass are sent and used."""
        self._left, self._waits = 0, None
        for pops in self.pops:
            del pops[: -self.depth]

    def arrival(self, pe: int, word: int, make_room: Callable[[int, int], None] | None = None) -> int:
        """The cycle in which a PE gets a word of the pass.

        make_room(pe, words): called where that depends on when another is done with so many words, of all passes.
        """
        arrived = self._arrived[pe]
        while len(arrived) <= word:
            if not self._send(NEVER):
                assert make_room and self._waits
                make_room(*self._waits)
        return arrived[word]

    def catch_up(self, cycle: int) -> None:
        """Sends the beats that are known to go before a cycle."""
        while self._left and self._known < cycle and self._send(cycle):
            pass

    def _send(self, limit: int) -> bool:
        """Sends the next beat, unless it goes at `limit` or later, or depends on what is not known yet."""
        if self._waits and self._waits[1] > len(self._room[self._waits[0]]):
            return False
        targets, words = self._beats[self._place]
        first, taken, pushed = self._fetched[0], self.taken, self._pushed
        if first <= self.sent:
            first = self.sent + 1
        at, room, beyond, times = first, self._room, words - self._words, []
        for pe in targets:
            time, place = first, pushed[pe] + beyond
            if taken and taken[pe] > time:
                time = taken[pe]
                if time > at:
                    at = time
            if place > 0:
                done = room[pe]
                if place > len(done):
                    self._waits = pe, place
                    return False
                if done[place - 1] >= time:
                    time = done[place - 1] + 1
                    if time > at:
                        at = time
            times.append(time)
        self._waits, self._known = None, at
        if at >= limit:
            return False
        for pe, time in zip(targets, times):
            pushed[pe] += words
            self._arrived[pe] += (time,) * words
        self._fetched.popleft()
        self.sent = at
        self._left -= 1
        self._place += 1
        if self._place == len(self._beats):
            self._place = 0
        self.reader.beat_taken(at)
        self._fetch()
        return True

    def _fetch(self) -> None:
        """Beats are fetched as far as is known, each when no client before the stream takes its banks."""
        reader, banks = self.reader, self._banks
        fetched, masks, known = self._fetched, self._masks, self._front.know_transfers
        while reader.is_known and (mask := next(masks, None)) is not None:
            position, granted = reader.position(), None
            if mask:
                granted = banks.grant(reader.ask(position), mask, Stream.IFMAP, known, NEVER)
            fetched.append(reader.fetch(position, granted))


class Words:
    """A stream that hands on one beat of words after the other, fetched some ahead.

    who: the stream, for its priority; known(cycle): makes sure that what takes banks before it is known before a
    cycle; gate(beat): the first cycle in which a beat may be fetched, None if that is not known yet; without it, beats
    wait for nothing else.
    """

    TIMES = ("sent",)

    def __init__(self, banks: Banks, who: Stream, known: Callable[[int], None]) -> None:
        self._banks, self._who, self._known = banks, who, known
        self.gate: Callable[[int], int | None] | None = None
        self.reader = Reader(to_array=who in (Stream.FILTER, Stream.DEPTHWISE))
        self.sent = -1  # cycle of the last beat, in which PEs, or others, see it
        self.granted: list[int] = []  # cycles in which the beats of the pass were fetched
        self._masks: list[int] = []
        self._fetched: deque[int] = deque()
        self.gated: list[tuple[int, int]] = []  # beats of the pass that waited for their gates, and how long
        self._asks = 0  # the next beat is not granted before this cycle
        self._is_fetching = False

    def take(self, masks: list[int], first: int) -> None:
        """A pass whose first beat may be sent in cycle `first`. masks: the banks of each beat."""
        self.reader.take(first)
        self._masks, self.granted, self.gated, self._asks = masks, [], [], 0
        self._fetched.clear()

    def next(self, limit: int = NEVER) -> int | None:
        """The first cycle in which the next beat can be sent; None: it is not fetched before `limit`, that is not
        known yet, or there is none."""
        if not self._fetched and not self._fetch(limit):
            return None
        fetched = self._fetched[0]
        return fetched if fetched > self.sent else self.sent + 1

    def first(self) -> int:
        """The first cycle in which the next beat can be sent: there is one, and its gate is known."""
        if not self._fetched:
            self._fetch(NEVER)
        fetched = self._fetched[0]
        return fetched if fetched > self.sent else self.sent + 1

    def send(self, at: int) -> None:
        """The next beat goes in cycle `at`."""
        self._fetched.popleft()
        self.sent = at
        self.reader.beat_taken(at)

    @property
    def ahead(self) -> int:
        """Beats that are fetched and not sent."""
        return len(self._fetched)

    def fetch(self, limit: int) -> None:
        """Fetches ahead what comes before a cycle."""
        while self._fetch(limit):
            pass

    def _fetch(self, limit: int) -> bool:
        """Fetches a beat when no client before the stream takes its banks, if that is before `limit`."""
        if self._asks >= limit or self._is_fetching:
            return False
        number, reader = len(self.granted), self.reader
        if number >= len(self._masks) or not reader.is_known:
            return False
        opens = self.gate(number) if self.gate else 0
        if opens is None:
            return False
        at = position = reader.position()
        if opens > position:
            at = opens
        mask = self._masks[number]
        if mask:
            at = reader.ask(at)
            if at < self._asks:
                at = self._asks
            if at < limit:
                self._is_fetching = True
                at = self._banks.grant(at, mask, self._who, self._known, limit)
                self._is_fetching = False
        if at >= limit:
            self._asks = limit  # which was less
            return False
        if opens > position:
            self.gated.append((number, opens - position))
            position = opens
        self.granted.append(at)
        self._fetched.append(reader.fetch(position, at if mask else None))
        return True
