# SPDX-License-Identifier: Apache-2.0
"""Which GLB banks the clients of high priority use in each cycle, for those behind them to wait."""

import numpy as np

from model.config import MachineConfig
from model.encoding import Stream

ASK = 1  # cycles from a stream's going on to a position until it asks for the word: the skid buffer
READ = 2  # cycles from a grant until a read stream hands the word on: the bank, the stream's queue
NETWORK = 1  # from there until the array's network offers it to the PEs: multicast_delivery


def bank_masks(machine: MachineConfig, address: np.ndarray) -> np.ndarray:
    """The bank of each word address as a bit (bank_of in rtl/glb/glb.sv)."""
    width = machine.glb_banks.bit_length() - 1
    return 1 << ((address + (address >> width) + (address >> 2 * width)) & (machine.glb_banks - 1))


class Banks:
    """busy: of each cycle, the banks that loads, stores and the ofmap use, a bit each; streams, tables: those
    that ifmap and filter stream, and the table stream use.

    Clients must be told in about the order of time, those of higher priority first.
    """

    def __init__(self, machine: MachineConfig) -> None:
        self.busy: list[int] = [0] * 4096
        self.streams: list[int] = [0] * 4096
        self.tables: list[int] = [0] * 4096
        self._masks = bank_masks(machine, np.arange(machine.glb_words)).tolist()

    def reach(self, cycle: int) -> None:
        """Makes the lists long enough for a cycle and some behind it."""
        if cycle + 256 > len(self.busy):
            more = [0] * (cycle + 256)
            self.busy += more
            self.streams += more
            self.tables += more

    def sweep(self, first: int, address: int, words: int) -> None:
        """A transfer's words, one a cycle, from cycle `first` on."""
        self.reach(first + words)
        for cycle, mask in enumerate(self._masks[address : address + words], first):
            self.busy[cycle] |= mask

    def walk(self, cycle: int, masks: list[int], who: Stream) -> int:
        """Stream `who` (filters, tables or depthwise) hands on words, one behind the other, after `cycle`.

        Words for the array are handed on when they are offered to the PEs. Returns the cycle of the last. A
        word is granted READ cycles before, and NETWORK more on its way to the array.
        """
        delay = READ if who == Stream.TABLE else READ + NETWORK
        cycle += 1 - delay
        for mask in masks:
            self.reach(cycle)
            if who == Stream.DEPTHWISE:
                while (self.busy[cycle] | self.streams[cycle] | self.tables[cycle]) & mask:
                    cycle += 1
            else:
                while (self.busy[cycle] | self.streams[cycle]) & mask:
                    cycle += 1
                (self.streams if who == Stream.FILTER else self.tables)[cycle] |= mask
            cycle += 1
        return cycle - 1 + delay
