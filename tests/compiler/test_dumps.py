# SPDX-License-Identifier: Apache-2.0
"""Stages print what tests/compiler/dumps/ has: a change in what the compiler makes of two small networks is seen in
review."""

import pytest

from tests.compiler.dumped import FOLDER, NETWORKS, printed


@pytest.mark.parametrize("network", NETWORKS)
def test_stages_print_what_is_kept(network: str) -> None:
    kept, found = (FOLDER / f"{network}.txt").read_text().splitlines(), printed(network).splitlines()
    changed = [f"line {n}: {a!r}, printed {b!r}" for n, (a, b) in enumerate(zip(kept, found), 1) if a != b]
    remedy = "write them anew: python -m tests.compiler.dumped, and read the change"
    assert kept == found, "\n".join([*changed[:5], remedy])
