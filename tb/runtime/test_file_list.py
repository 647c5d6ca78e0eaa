# SPDX-License-Identifier: Apache-2.0
"""rtl/eyrie.f: the machine's files for other tools."""

import subprocess
import sys

import pytest
from pyslang import driver

from runtime.folders import ROOT
from runtime.simulator.sources import file_list
from scripts import gen_file_list


def test_is_up_to_date() -> None:
    command = [sys.executable, "scripts/gen_file_list.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_missing_file_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    short = tmp_path / "eyrie.f"
    short.write_text(file_list("eyrie").replace("rtl/glb/glb.sv\n", ""))
    monkeypatch.setattr(gen_file_list, "TARGET", short)
    monkeypatch.setattr(sys, "argv", ["gen_file_list.py", "--check"])
    assert gen_file_list.main() == 1


def test_a_tool_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read file after file as one unit, as tools without a look at what a file needs do."""
    monkeypatch.chdir(ROOT)
    tool = driver.Driver()
    tool.addStandardArgs()
    assert tool.parseCommandLine("slang --single-unit --top eyrie -f rtl/eyrie.f") and tool.processOptions()
    assert tool.parseAllSources() and tool.runFullCompilation(quiet=True)
