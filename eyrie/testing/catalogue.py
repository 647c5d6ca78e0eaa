# SPDX-License-Identifier: Apache-2.0
"""The list of simulation tests. Each folder adds its own: tb/<block>/bench.py exports BENCHES."""

import sys
from functools import cache
from importlib import import_module

from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.folders import checkout
from eyrie.runtime.simulator.simulation_test import SimulationTest


class UnknownTest(InputError):
    """No testbench has that name. The message is one line with the known names."""


@cache
def simulation_tests() -> dict[str, SimulationTest]:
    """Return all testbenches by name, in the order of the folders' names and of the lists in them.

    Raise InputError, with one line, outside a checkout.
    """
    root = checkout("the testbenches")
    if str(root) not in sys.path:
        sys.path.append(str(root))
    found: dict[str, SimulationTest] = {}
    for path in sorted((root / "tb").glob("*/bench.py")):
        if path.parent.name == "common":  # its bench.py is the shared test bench, not a list
            continue
        for bench in import_module(f"tb.{path.parent.name}.bench").BENCHES:
            if bench.name in found:
                raise InputError(f"{path}: a second bench is named {bench.name}")
            found[bench.name] = bench
    return found


def find(name: str) -> SimulationTest:
    """Return the testbench of that name. Raise UnknownTest if it does not exist."""
    try:
        return simulation_tests()[name]
    except KeyError:
        raise UnknownTest(unknown("test", name, simulation_tests(), "make list")) from None
