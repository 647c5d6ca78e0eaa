# SPDX-License-Identifier: Apache-2.0
"""What the kinds of passes share: the units of the pass side, and the begin of a pass."""

from dataclasses import dataclass

from compiler.timing.banks import Banks
from compiler.timing.front import Front
from compiler.timing.streams import Drain, Filters, Ifmap
from model.config import MachineConfig


class Units:
    """The pass side.

    depthwise_sent: cycle of the depthwise stream's last word; slow: cycles of a multiplication.
    """

    def __init__(self, machine: MachineConfig, front: Front, banks: Banks) -> None:
        self.machine, self.front, self.banks = machine, front, banks
        self.ifmap = Ifmap(machine, banks)
        self.filters = Filters(front, machine, banks)
        self.drain = Drain(banks)
        self.depthwise_sent = -1
        self.slow = 4 // machine.multipliers


@dataclass(frozen=True)
class Begin:
    """First cycles of a pass: in which PEs can multiply, in which filter and depthwise stream can send."""

    work: int
    filters: int
    depthwise: int
