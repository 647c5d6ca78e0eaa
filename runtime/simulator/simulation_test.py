# SPDX-License-Identifier: Apache-2.0
"""The description of a simulation."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError


@dataclass(frozen=True)
class SimulationTest:
    """One simulation: one cocotb test, in its own process, on one model.

    name          the value of TEST=, <block><number>
    about         one line for `make list`
    top           the wrapper module (file <top>.sv anywhere under rtl/, runtime/ or tb/)
    module        the cocotb module, tb.<block>.<block>_tests
    testcase      the cocotb test in it
    parameters    of the wrapper beside the accelerator's; each set is one Verilator model
    arguments     JSON values for the test: Testbench.arguments
    sources       files beside the SystemVerilog ones (C++ for DPI), relative to the repository
    expect_fail   if set, the simulation has to fail with this text in its log
    assertions    whether the design's assertions are checked
    cycles        clock cycles after which the test has failed
    config        configuration of the accelerator or block under test: gives the wrapper's parameters of those names;
                  None: the test depends on no parameter of the accelerator
    unfit         why it cannot run on an accelerator, in one line; None: it can
    quick         JSON file of the configuration on which `make test` runs it, so that few models are built
    regress       only `make regress` runs it
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
    assertions: bool = True
    cycles: int = 5_000_000
    config: AcceleratorConfig | None = None
    unfit: Callable[[AcceleratorConfig], str | None] = lambda config: None
    quick: Path | None = None
    regress: bool = False

    def seed(self, seed: int) -> int:
        """Return the seed of cocotb's generators for the seed of a run. Testbenches of one test get different seeds."""
        digest = hashlib.sha256(f"{self.name} {seed}".encode()).digest()
        return int.from_bytes(digest[:4]) >> 1

    def on(self, config: AcceleratorConfig) -> "SimulationTest":
        """Return the testbench on another configuration. Raise InputError, with one line, if it cannot run on that."""
        if self.config is None:
            raise InputError(f"{self.name}: no size of the accelerator matters to it: leave the configuration out")
        if reason := self.unfit(config):
            raise InputError(f"{self.name}: cannot run on this configuration: {reason}")
        return replace(self, config=config)
