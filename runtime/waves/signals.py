# SPDX-License-Identifier: Apache-2.0
"""The waveform of a test, and the signals of it that show first what happens."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pywellen

from eyrie.runtime.simulator.moments import cycle_at

PS_PER_NS = 1000  # a tick of a waveform is a picosecond
_MAX_STATES = 16
Declared = Any  # a variable or scope of pywellen, which has no types
_PORT = re.compile(r"_n?[io]$")
_VALID = re.compile(r"valid_[io]$")


class Signal(NamedTuple):
    """A signal: path of the instance and name, width in bits, names of its values if it is an enum."""

    path: str
    bits: int
    names: dict[int, str]
    changes: Sequence[tuple[int, int]]  # times in ps and values


class Waves:
    """A waveform of module `top`."""

    def __init__(self, path: Path, top: str) -> None:
        self.path, self.top = path, top
        [self._scope] = [scope for scope in pywellen.Waveform(str(path)).scopes() if scope.name == top]

    @cached_property
    def groups(self) -> dict[str, list[Signal]]:
        """Return the signals to look at first, by group.

        Clock and reset; the states of state machines, from the top down, of the first one of equal instances; the
        valid-ready channels of the top module; its other ports.
        """
        ports = {var.name: var for var in self._scope.vars() if _PORT.search(var.name)}
        groups = {"clock and reset": [ports.pop("clk_i"), ports.pop("rst_ni")]}
        groups["states"] = list(islice(_states(self._scope).values(), _MAX_STATES))
        for prefix in sorted(_channels(ports), key=len, reverse=True):  # of two that match, the more precise one
            names = sorted((name for name in ports if name.startswith(prefix)), key=_order)
            groups[prefix.rstrip("_")] = [ports.pop(name) for name in names]
        groups["ports"] = list(ports.values())
        return {name: list(map(_signal, found)) for name, found in groups.items() if found}

    @property
    def cycles(self) -> int:
        """Return the number of cycles, the last of which may be cut off."""
        clock = self.groups["clock and reset"][0].changes
        return cycle_at(clock[len(clock) - 1][0] / PS_PER_NS) + 1


def between(signal: Signal, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and value of each interval of a signal that is, at least in part, between two times in ps."""
    changes = signal.changes
    number = max(bisect_right(changes, begin, key=lambda change: change[0]) - 1, 0)
    while number < len(changes) and changes[number][0] < end:
        time, value = changes[number]
        number += 1
        after = changes[number][0] if number < len(changes) else end
        yield max(time, begin), min(after, end), value


def _states(top: Declared) -> dict[str, Declared]:
    """Return the registers of state machines by the names of instance and register, outer modules first."""
    found, scopes = dict[str, Declared](), [top]
    while scopes:
        for scope in scopes:
            for var in scope.vars():
                if var.name.endswith("state_q"):
                    found.setdefault(f"{scope.name}.{var.name}", var)
        scopes = [inner for scope in scopes for inner in scope.scopes()]
    return found


def _channels(names: dict[str, Declared]) -> set[str]:
    """Return the prefixes of the channels: reg_aw of reg_awvalid_i and reg_awready_o."""
    prefixes = {name[: found.start()] for name in names if (found := _VALID.search(name))}
    return {each for each in prefixes if each and {f"{each}ready_i", f"{each}ready_o"} & names.keys()}


def _order(name: str) -> int:
    """Return the place of a signal in its channel: valid and ready first."""
    return 0 if "valid_" in name else 1 if "ready_" in name else 2


def _signal(var: Declared) -> Signal:
    names = {int(value, 2): name for value, name in var.enum_type[1]} if var.enum_type else {}
    return Signal(var.full_name, var.bitwidth, names, var.signal)
