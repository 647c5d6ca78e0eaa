# SPDX-License-Identifier: Apache-2.0
"""The list of simulation tests. Each folder adds its own: tb/<block>/bench.py exports BENCHES."""

import importlib
from functools import cache
from pathlib import Path

from model.messages import unknown
from runtime.simulator.bench import Bench

_FOLDER = Path(__file__).parent


class UnknownTest(ValueError):
    """No bench of that name; the message is one line with the known names."""


@cache
def benches() -> dict[str, Bench]:
    """All benches by name, in the order of the folders' names and of the lists in them."""
    found: dict[str, Bench] = {}
    for path in sorted(_FOLDER.glob("*/bench.py")):
        if path.parent.name == "common":  # its bench.py is the shared test bench, not a list
            continue
        for bench in importlib.import_module(f"tb.{path.parent.name}.bench").BENCHES:
            if bench.name in found:
                raise ValueError(f"{path}: a second bench is named {bench.name}")
            found[bench.name] = bench
    return found


def find(name: str) -> Bench:
    """The bench of that name; raises UnknownTest."""
    try:
        return benches()[name]
    except KeyError:
        raise UnknownTest(unknown("test", name, benches(), "make list")) from None
