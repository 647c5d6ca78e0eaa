# SPDX-License-Identifier: Apache-2.0
"""Check in about a minute that everything works: a smoke test.

    eyrie check

Builds small simulation models, runs their tests, and runs a small network through the compiler and the
functional simulator. `make test` is the whole.
"""

import argparse
import subprocess
import sys

from eyrie.runtime.folders import checkout

TESTS = ("tests/test_smoke.py",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace) -> int:
    quiet = ["-q"] if options.quiet else []
    command = [sys.executable, "-m", "pytest", *quiet, *TESTS]
    return subprocess.run(command, cwd=checkout("the tests")).returncode
