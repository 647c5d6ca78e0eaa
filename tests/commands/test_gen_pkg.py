# SPDX-License-Identifier: Apache-2.0
"""The files of the RTL that scripts/gen_pkg.py writes."""

import subprocess
import sys

import pytest
from pyslang import driver

from eyrie.runtime.folders import ROOT
from scripts import gen_pkg


def test_files_are_up_to_date() -> None:
    run = subprocess.run([sys.executable, "scripts/gen_pkg.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_stale_file_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path) -> None:
    short = tmp_path / "eyrie.f"
    short.write_text((ROOT / "rtl" / "eyrie.f").read_text().replace("rtl/glb/glb.sv\n", ""))
    monkeypatch.setattr(gen_pkg, "FILES", {short: gen_pkg.list_text})
    monkeypatch.setattr(sys, "argv", ["gen_pkg.py", "--check"])
    assert gen_pkg.main() == 1
    assert capsys.readouterr().err == f"{short}: not up to date; run scripts/gen_pkg.py\n"


def test_a_tool_takes_the_file_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read file after file as one unit, as tools without a look at what a file needs do."""
    monkeypatch.chdir(ROOT)
    tool = driver.Driver()
    tool.addStandardArgs()
    assert tool.parseCommandLine("slang --single-unit --top eyrie -f rtl/eyrie.f") and tool.processOptions()
    assert tool.parseAllSources() and tool.runFullCompilation(quiet=True)
