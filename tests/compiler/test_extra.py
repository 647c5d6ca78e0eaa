# SPDX-License-Identifier: Apache-2.0
"""A package that is not installed: one line with the command that installs it."""

import sys
from pathlib import Path

import pytest

from eyrie.compiler.frontend import extra


def test_the_command_in_a_checkout_and_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^nosuch_package is not installed: make extra-onnx$"):
        extra.require("nosuch_package", "onnx")
    monkeypatch.setattr(extra, "MAKEFILE", tmp_path / "Makefile")
    monkeypatch.setattr(sys, "executable", "/home/some one/bin/python")
    assert extra.command("onnx") == "'/home/some one/bin/python' -m pip install 'eyrie-accelerator[onnx]'"
