# SPDX-License-Identifier: Apache-2.0
"""Run a simulation test with waveforms, and draw the cycles around one of them.

    eyrie wave TEST [--at CYCLE] [--seed N] [--config FILE]

The run leaves these files in build/waves/TEST, beside log.txt and summary.json:

    dump.fst      all signals; dump.vcd, which is larger, if the libraries lz4 and zlib are not installed
    signals.gtkw  the signals to look at first, for GTKWave: clock, reset, states, valid-ready channels, other ports
    signals.sucl  the same, for Surfer
    window.svg    the same signals around CYCLE, by default the cycle in which the test fails
"""

import argparse

from eyrie.commands.sim import add_run_arguments, found, simulated
from eyrie.compiler.command_line import whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("test", metavar="TEST", help="test name (eyrie list)")
    parser.add_argument(
        "--at", type=whole_number(0), metavar="CYCLE", help="cycle in the middle of the picture (the failing one)"
    )
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> int:
    bench = found(options.test, options.config)
    from eyrie.runtime.folders import BUILD

    folder = BUILD / "waves" / bench.name
    result = simulated(bench, options, folder, waves=True)
    from eyrie.runtime.simulator.moments import named_cycle
    from eyrie.runtime.simulator.simulate import waveform
    from eyrie.runtime.waves.files import write_lists, write_picture
    from eyrie.runtime.waves.signals import Waves

    waves = Waves(folder / waveform(), bench.top)
    at = options.at if options.at is not None else named_cycle(result.get("reason", ""))
    for viewer in write_lists(folder, waves, at):
        print(viewer)
    if at is not None:
        print(write_picture(folder, waves, at))
    return 0 if result["status"] == "pass" else 1
