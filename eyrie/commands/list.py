# SPDX-License-Identifier: Apache-2.0
"""Lists the simulation tests."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(options: argparse.Namespace) -> None:
    from eyrie.testing.catalogue import simulation_tests

    for bench in simulation_tests().values():
        print(f"{bench.name:12} {bench.about}")
