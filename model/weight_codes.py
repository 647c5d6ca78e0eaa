# SPDX-License-Identifier: Apache-2.0
"""Codes of weights, and the golden decoder of `rtl/tiling/dma/weight_decoder.sv`.

A code is a table of at most ten classes. A weight is written as the prefix of its class and some bits that say which
weight of the class it is: as a JPEG coefficient is (ITU-T T.81, F.1.2), with a free choice of the classes. The prefixes
are those of a Huffman code (Huffman, 1952), in ascending order. Special cases are weights of k bits, packed, and a bit
for each weight that tells whether it is zero. Classes count weights from the centre of the code. The prefix of a rest
stands for all weights that are left of a block, which are the same.

A chain is one or more chunks, each of which becomes some words. The first one begins with a table, two classes in a
word. The others go on where the chunk before ended: its code, and bits and units that are left, remain.

A chain is coded in 16 lanes: weight n of a chunk belongs to lane n mod 16. (Interleaved streams: Giesen, "Interleaved
entropy coders", 2014.) A lane has a buffer of bits and a unit of 8 bits that waits behind it. At first each lane takes
a unit. Then there are turns:

    1  Each lane whose buffer has less than 14 bits wants a unit: it appends the unit that waits.
    2  These lanes take the next units, in the order of the lanes.
    3  If no lane has less than 12 bits, each lane decodes a weight: this is a step.

The last turns of a chunk of odd words are those of 8 lanes. Behind the last unit of a chunk, no lane takes another. A
lane without a unit decodes from the bits that it has, and zeros. The bits of a rest stay in their lane up to its last
weight in a block of 16 steps, or in the chunk.

A chunk has as many beats of the DRAM port as its turns need, and at least one. Before its last step, all of them have
arrived: not more than 16 units are there before the last beat is.
"""

from dataclasses import dataclass

import numpy as np

from eyrie.model.encoding import CODE_CLASSES, CODE_LANES, CODE_TABLE, WEIGHT_CLASS
from eyrie.model.errors import InputError

PREFIX_BITS = 6  # at most
EXTRA_BITS = 6  # at most
REST = 7  # extra bits that tell a rest
BLOCK_STEPS = 16
CODED_BITS = PREFIX_BITS + EXTRA_BITS  # of a weight at most
UNIT_BITS = 8
WANTED_BITS = 14  # a lane with less wants a unit
BUFFER_BITS = WANTED_BITS - 1 + UNIT_BITS
WORD_UNITS = 8  # of a 64-bit word, from its lowest bits on
WORD_WEIGHTS = 8
TABLE_WORDS = CODE_CLASSES // 2


class CodeError(InputError):
    """A chunk that ends before its last weight, or does not end there. decoded: the weights of all turns but the last
    one"""

    def __init__(self, text: str, decoded: np.ndarray) -> None:
        super().__init__(text)
        self.decoded = decoded


@dataclass(frozen=True)
class WeightClass:
    """Weights number `base` to `base` + 2**`extra` - 1 of a code, or a rest of weights number `base`. The prefix has
    `length` bits; `first` is the prefix in the upper bits of PREFIX_BITS."""

    first: int
    length: int
    extra: int
    base: int


@dataclass(frozen=True)
class WeightCode:
    """A table of classes, by ascending prefix. Raise InputError if it is no prefix code that a decoder can read.

    Weight number 0 is `centre`; numbers follow its distances 0, -1, 1, -2, ... to -128.
    """

    classes: tuple[WeightClass, ...]
    centre: int = 0

    def __post_init__(self) -> None:
        if not 1 <= len(self.classes) <= CODE_CLASSES:
            raise InputError(f"a code has {len(self.classes)} classes: 1 to {CODE_CLASSES}")
        at = 0
        for each in self.classes:
            if each.first != at or each.length > PREFIX_BITS or each.extra > REST:
                raise InputError(f"{each} is no class of a prefix code at {at}")
            at += 1 << PREFIX_BITS - each.length
        if at != 1 << PREFIX_BITS:
            raise InputError(f"the prefixes of {self} are not all there are")

    @property
    def table(self) -> np.ndarray:
        """Return the table, uint64 [TABLE_WORDS]; the last class fills the entries that are left."""
        entries = [WEIGHT_CLASS.pack(**vars(each)) for each in self.classes]
        entries += entries[-1:] * (CODE_CLASSES - len(entries))
        pairs = zip(entries[::2], entries[1::2], strict=True)
        words = [CODE_TABLE.pack(first=first, second=second, centre=self.centre) for first, second in pairs]
        return np.array(words, np.uint64)


def in_beats(table: np.ndarray, beat_words: int) -> np.ndarray:
    """Return a table as a chunk begins with it: uint64, whole beats of the DRAM port."""
    return np.pad(table, (0, -TABLE_WORDS % beat_words))


def number_of(weights: np.ndarray, centre: int = 0) -> np.ndarray:
    """Return the numbers of int8 weights in a code with this centre."""
    distance = (weights.astype(np.int64) - centre).astype(np.int8).astype(np.int64)
    return np.where(distance < 0, -2 * distance - 1, 2 * distance)


def weight_of(numbers: np.ndarray, centre: int = 0) -> np.ndarray:
    """Return the int8 weights with the given numbers in a code with this centre."""
    return (np.where(numbers & 1, -(numbers >> 1) - 1, numbers >> 1) + centre).astype(np.int8)


class WeightDecoder:
    """The golden decoder: decodes chunk after chunk. After a reset, each weight is 0, without a bit."""

    _units: np.ndarray  # not yet taken
    _first: bool  # no lane has taken a unit

    def __init__(self, beat_words: int = 1) -> None:
        self._beat_words = beat_words
        self._begin(np.zeros(TABLE_WORDS, np.uint64))

    def decode(self, coded: np.ndarray, words: int, with_table: bool) -> np.ndarray:
        """Decode a chunk, turn by turn: int8 [8 * words]. After an error, the decoder is of no use.

        coded: uint64, whole beats of the DRAM port; with_table: it begins a chain, and with a table of any contents.
        Raise CodeError if the chunk ends within its table or right behind it, if a weight needs more bits than are
        left, or if the chunk has too many beats.
        """
        if with_table:
            length = -(-TABLE_WORDS // self._beat_words) * self._beat_words
            if len(coded) <= length:
                raise CodeError("the chunk ends within its table, or behind it", np.zeros(0, np.int8))
            self._begin(coded[:TABLE_WORDS])
            coded = coded[length:]
        self._units = np.concatenate([self._units, np.ascontiguousarray(coded).view(np.uint8)])
        if self._first:
            self._take(np.ones(CODE_LANES, bool))
        weights, step = np.zeros((-(-words // 2), CODE_LANES), np.int8), 0
        while step < len(weights):
            active, later = (np.arange(CODE_LANES) < WORD_WEIGHTS * (words - 2 * n) for n in (step, step + 1))
            units = len(self._units)
            if self._refill(active):
                if step == len(weights) - 1 and units > CODE_LANES + WORD_UNITS * self._beat_words:
                    reason = "the chunk does not end behind its last weight: its words are too many, or damaged"
                    raise CodeError(reason, weights[:step].ravel())
                decoded = self._weights(active, ~later if (step + 1) % BLOCK_STEPS else active)
                if decoded is None:
                    reason = "the chunk ends before its last weight: its words are too few, or damaged"
                    raise CodeError(reason, weights[:step].ravel())
                weights[step] = decoded
                step += 1
        return weights.ravel()[: WORD_WEIGHTS * words]

    def _begin(self, table: np.ndarray) -> None:
        """Begin a chain."""
        words = [CODE_TABLE.unpack(int(word)) for word in table]
        classes = [WEIGHT_CLASS.unpack(word[name]) for word in words for name in ("first", "second")]
        self._prefix, length, extra, self._base = (
            np.array([each[name] for each in classes]) for name in WeightClass.__annotations__
        )
        self._centre = words[0]["centre"]
        self._rest = extra == REST
        self._length, self._extra = np.minimum(length, PREFIX_BITS), np.where(self._rest, 0, extra)
        self._units, self._first = np.zeros(0, np.uint8), True
        self._bits, self._fill = np.zeros((2, CODE_LANES), np.int64)  # the oldest bit is the highest
        self._unit, self._waits = np.zeros(CODE_LANES, np.int64), np.zeros(CODE_LANES, bool)

    def _take(self, lanes: np.ndarray) -> None:
        """Let these lanes take the units that are left, in their order."""
        wants = np.flatnonzero(lanes)
        taken, self._units = np.split(self._units, [len(wants)])
        self._unit[wants[: len(taken)]] = taken
        self._waits[wants] = np.arange(len(wants)) < len(taken)
        self._first = False

    def _refill(self, active: np.ndarray) -> bool:
        """Do parts 1 and 2 of a turn; return whether part 3 follows."""
        wants = active & (self._fill < WANTED_BITS)
        appends, room = wants & self._waits, BUFFER_BITS - UNIT_BITS - self._fill
        self._bits[appends] |= self._unit[appends] << room[appends]
        self._fill[appends] += UNIT_BITS
        lacks = active & (self._fill < CODED_BITS) & self._waits
        self._take(wants)
        return not lacks.any()

    def _weights(self, active: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
        """Return a weight of each lane, if no weight has more bits than its lane. ends: lanes whose block ends"""
        reached = (self._bits >> BUFFER_BITS - PREFIX_BITS)[:, None] >= np.r_[0, self._prefix[1:]]
        chosen = np.max(reached * np.arange(CODE_CLASSES), axis=1)  # the last class whose prefix is reached
        length, extra = self._length[chosen], self._extra[chosen]
        if (active & (length + extra > self._fill)).any():
            return None
        behind = self._bits << length & (1 << BUFFER_BITS) - 1
        numbers = self._base[chosen] + (behind >> BUFFER_BITS - extra)
        leave = active & (ends | ~self._rest[chosen])
        self._bits = np.where(leave, behind << extra & (1 << BUFFER_BITS) - 1, self._bits)
        self._fill = np.where(leave, self._fill - length - extra, self._fill)
        return weight_of(numbers % 256, self._centre)
