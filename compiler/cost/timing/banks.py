# SPDX-License-Identifier: Apache-2.0
"""Which GLB banks the clients of high priority want in each cycle, for those behind them to wait."""

from collections.abc import Callable
from operator import or_

import numpy as np

from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import Stream

KNOWN = 4  # cycles that are looked ahead at a time
MARGIN = 256  # cycles that there is room for behind any that is told
KEPT = 1 << 20  # cycles before the present that are remembered: more than any client is behind
ASK = 1  # cycles from a stream's going on to a position until it asks for the word: the skid buffer
READ = 2  # cycles from a grant until a read stream hands the word on: the bank, the stream's queue
NETWORK = 1  # from there until the array's network offers it to the PEs: multicast_delivery


def bank_masks(config: AcceleratorConfig, address: np.ndarray) -> np.ndarray:
    """The bank of each word address as a bit (bank_of in rtl/glb/glb.sv)."""
    width = config.glb_banks.bit_length() - 1
    return 1 << ((address + (address >> width) + (address >> 2 * width)) & (config.glb_banks - 1))


class Banks:
    """Of each cycle, the banks that clients want, a bit each: stores; streams: ifmap and filter stream; tables:
    residual and table stream; loads. A client that reads waits for those that read before it in banks that they want,
    whether they get them or not, and the ofmap waits for loads; who reads does not wait for who writes
    (docs/hardware/glb.md).

    Clients must be told in about the order of time, those of higher priority first.
    """

    def __init__(self, config: AcceleratorConfig) -> None:
        self.stores: list[int] = [0] * 4096
        self.streams: list[int] = [0] * 4096
        self.tables: list[int] = [0] * 4096
        self.loads: list[int] = [0] * 4096
        self._first = 0  # cycle of their first entries
        self._pace = config.bus_words, config.dram_interval
        self._masks = bank_masks(config, np.arange(config.glb_words)).tolist()

    def forget(self, cycle: int) -> None:
        """What is long past in a cycle."""
        past = cycle - self._first - KEPT
        if past > KEPT:
            for clients in (self.stores, self.streams, self.tables, self.loads):
                del clients[:past]
            self._first += past

    def reach(self, cycle: int) -> None:
        """Makes the lists long enough for a cycle and some behind it."""
        if cycle - self._first + MARGIN > len(self.stores):
            more = [0] * (cycle - self._first + MARGIN)
            self.stores += more
            self.streams += more
            self.tables += more
            self.loads += more

    def sweep(self, load: bool, first: int, address: int, words: int) -> None:
        """The words of a load, or of a store, from cycle `first` on, beat by beat."""
        lanes, interval = self._pace
        self.reach(first + words // lanes * interval)
        wanted, first = self.loads if load else self.stores, first - self._first
        for lane in range(lanes):
            masks = self._masks[address + lane : address + words : lanes]
            beats = slice(first, first + len(masks) * interval, interval)
            wanted[beats] = list(map(or_, wanted[beats], masks))

    def sweep_pairs(self, first: int, address: int, words: int, cycles: int) -> None:
        """The words of a load of coded weights, pair by pair in so many cycles from cycle `first` on."""
        self.reach(first + cycles)
        first -= self._first
        for word, mask in enumerate(self._masks[address : address + words]):
            self.loads[first + word // 2 * 2 * cycles // (words + 1)] |= mask

    def stores_between(self, first: int, last: int) -> bool:
        """Return whether a store wants a bank in a cycle from `first` to before `last`."""
        self.reach(last)
        return any(self.stores[first - self._first : last - self._first])

    def write(self, cycle: int, mask: int) -> int:
        """The first cycle from `cycle` on in which the ofmap stream writes to its banks."""
        self.reach(cycle)
        at = cycle - self._first
        while self.loads[at] & mask:
            at += 1
        return self._first + at

    def grant(self, cycle: int, mask: int, who: Stream, known: Callable[[int], None], limit: int) -> int:
        """The first cycle from `cycle` on in which stream `who` (not the ofmap) reads its banks; `limit` if that is not
        before it.

        known(cycle): makes sure that what takes banks before the stream is known before a cycle.
        """
        base, stores, streams, tables = self._first, self.stores, self.streams, self.tables
        seen, wants = cycle, tables if who is Stream.PARAMETERS or who is Stream.RESIDUAL else streams
        first, last = who is Stream.IFMAP, who is Stream.DEPTHWISE
        while cycle < limit:
            if cycle >= seen:
                seen = min(cycle + KNOWN, limit)
                known(seen)
                if seen - base + MARGIN > len(stores):
                    self.reach(seen)
            at = cycle - base
            taken = stores[at]
            if not first:
                taken |= streams[at]
            if last:
                taken |= tables[at]
            else:
                wants[at] |= mask
            if not taken & mask:
                return cycle
            cycle += 1
        return limit
