"""The list of simulation tests. Each folder adds its own: tb/<block>/bench.py exports BENCHES."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Bench:
    """One simulation: one cocotb test, in its own process, on one model.

    name          what TEST= takes, <block><number>
    about         one line for `make list`
    top           the wrapper module (file <top>.sv anywhere under tb/ or rtl/)
    module        the cocotb module, tb.<block>.<block>_tests
    testcase      the cocotb test in it
    parameters    of the wrapper; each set is one Verilator model
    arguments     anything JSON holds, for the test: Testbench.arguments
    sources       files beside the SystemVerilog ones (C++ for DPI), relative to the repository
    expect_fail   if set, the simulation has to fail with this text in its log
    timeout_s     wall-clock limit of the simulation, seconds
    """

    name: str
    about: str
    top: str
    module: str
    testcase: str
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    expect_fail: str | None = None
    timeout_s: float = 900.0


class UnknownTest(Exception):
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
        known = " ".join(benches())
        raise UnknownTest(f"no test is named {name!r}; known: {known}") from None
