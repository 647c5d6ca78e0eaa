# SPDX-License-Identifier: Apache-2.0
"""Lists the simulation tests."""

import argparse
import sys

from scripts.eyrie import main


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(options: argparse.Namespace) -> None:
    from tb.catalogue import benches

    for bench in benches().values():
        print(f"{bench.name:12} {bench.about}")


if __name__ == "__main__":
    sys.exit(main(["list", *sys.argv[1:]]))
