"""What all tests share: the seed, EYRIE_SEED (1), printed in the header."""

import os

import pytest


def pytest_report_header() -> str:
    return f"seed: {os.environ.get('EYRIE_SEED', '1')} (make test SEED=n)"


@pytest.fixture(scope="session")
def seed() -> int:
    """The run's seed; every random choice comes from it."""
    return int(os.environ.get("EYRIE_SEED", "1"))
