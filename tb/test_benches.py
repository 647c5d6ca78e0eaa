"""Every simulation of the catalogue as a pytest test."""

import pytest

from tb.catalogue import benches
from tb.common.runner import rerun_line, simulate
from tb.common.sources import ROOT


@pytest.mark.parametrize("name", benches())
def test_bench(name: str, seed: int) -> None:
    bench = benches()[name]
    result = simulate(bench, seed)
    if result["status"] != "pass":
        log = (ROOT / "build" / name / "log.txt").read_text().splitlines()
        again = f"again, with waves: {rerun_line(bench, seed)}"
        pytest.fail("\n".join([*log[-40:], result["reason"], again]), pytrace=False)
