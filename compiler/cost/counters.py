# SPDX-License-Identifier: Apache-2.0
"""Bytes and MACs by layer: what the accelerator's counters count while it works for each."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from eyrie.compiler.cost import traffic
from eyrie.compiler.cost.timing.replay import structure
from eyrie.compiler.cost.timing.shape import macs
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Command, Config, Run, Transfer
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor

COUNTERS = (*traffic.COUNTERS, "MACS")


def counted(config: AcceleratorConfig, commands: Sequence[Command]) -> Iterator[dict[str, int]]:
    """Yield the counter increments of each command, without fetching the command itself; missing counters are 0."""
    descriptor, known = Descriptor(), dict[tuple, dict[str, int]]()
    for command in commands:
        counts: dict[str, int] = {}
        if isinstance(command, Config):
            descriptor.words[command.index : command.index + len(command.words)] = command.words
        elif isinstance(command, Run):
            alike = structure(descriptor)
            if alike not in known:
                known[alike] = traffic.pass_bytes(config, descriptor) | {"MACS": macs(config, descriptor)}
            counts = known[alike]
        elif isinstance(command, Transfer):
            counts = traffic.transfer_bytes(command)
        yield counts


def by_layer(image: Image) -> list[dict[str, int]]:
    """Return the counters of each step of an image. The command list belongs to no step and is left out.

    A pass counts for its step, constants for the step whose they are, a map that is loaded for the step that
    reads it, and one that is stored for the step that made it.
    """
    commands, steps = image.commands, image.steps
    owner = _Owner(image, commands)
    found = [dict.fromkeys(COUNTERS, 0) for _ in steps]
    passes = transfers = 0
    for command, counts in zip(commands, counted(image.config, commands)):
        if isinstance(command, Run):
            step, passes = owner.of_pass[passes], passes + 1
        elif isinstance(command, Transfer):
            transfers += 1
            step = owner.of_transfer(command, transfers)
        for name, count in counts.items():
            found[step][name] += count
    return found


class _Owner:
    """Which step a pass or a transfer works for."""

    def __init__(self, image: Image, commands: Sequence[Command]) -> None:
        self.of_pass = image.step_of_pass
        waits = (command.wait_transfers for command in commands if isinstance(command, Run))
        self._waits = list(accumulate(waits, max))  # what each pass and those before wait for
        names = {step.name: n for n, step in enumerate(image.steps)}
        self._constants = [
            (area.address, area.end, names[name.partition(".")[0]])
            for name, area in image.areas.items()
            if name.partition(".")[0] in names and not name.endswith(".spill")
        ]

    def of_transfer(self, transfer: Transfer, number: int) -> int:
        """number: of the transfer, from 1. A store waits for the pass that wrote the words, or for none; a map is
        loaded for the first pass that waits for it, or for the last, if none does: rows that no window sees."""
        if not transfer.load:
            return self.of_pass[max(transfer.wait_passes, 1) - 1]
        for start, end, step in self._constants:
            if start <= transfer.dram_address < end:
                return step
        return self.of_pass[min(bisect_left(self._waits, number), len(self._waits) - 1)]
