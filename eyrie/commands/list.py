# SPDX-License-Identifier: Apache-2.0
"""List the simulation tests.

    eyrie list

Each line has the name of a test, as `eyrie sim` takes it, and its description.
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace) -> None:
    from eyrie.testing.catalogue import simulation_tests

    for bench in simulation_tests().values():
        print(f"{bench.name:12} {bench.about}")
