# SPDX-License-Identifier: Apache-2.0
"""A package that is not installed: one line with the command that installs it, or its installation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyrie.compiler.frontend import extra
from tests.commands.commands import eyrie


def test_the_command_in_a_checkout_and_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^nosuch_package is not installed: make extra-onnx$"):
        extra.require("nosuch_package", "onnx")
    monkeypatch.setattr(extra, "MAKEFILE", tmp_path / "Makefile")
    monkeypatch.setattr(sys, "executable", "/home/some one/bin/python")
    with pytest.raises(ValueError, match=r"'/home/some one/bin/python' -m pip install 'eyrie-accelerator\[onnx\]'$"):
        extra.require("nosuch_package", "onnx")


@pytest.fixture
def installer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder where the command `make extra-...` writes the package `made_up`, if the file `works` is there."""
    program = (
        f"import pathlib as p; [p.Path('{tmp_path}/made_up.py').write_text('x = 5') for w in p.Path('.').glob('works')]"
    )
    monkeypatch.setattr(extra, "command", lambda name: [sys.executable, "-c", program])
    monkeypatch.setattr(extra, "MAKEFILE", tmp_path / "Makefile")
    (tmp_path / "Makefile").touch()
    monkeypatch.syspath_prepend(tmp_path)
    extra.install_missing(True)
    yield tmp_path
    extra.install_missing(False)
    sys.modules.pop("made_up", None)


def test_install(installer: Path) -> None:
    with pytest.raises(ValueError, match="^made_up: the installation ended with exit code 0: see what it printed: "):
        extra.require("made_up")
    (installer / "works").touch()
    assert extra.require("made_up").x == 5


def test_the_option(installer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds for one command."""
    (installer / "works").touch()
    monkeypatch.setattr("eyrie.commands.docs.run", lambda options: print(extra.require("made_up").x))
    ended = eyrie("docs", "--install")
    assert (ended.returncode, ended.stdout) == (0, "5\n"), ended.stderr
    sys.modules.pop("made_up")
    (installer / "made_up.py").unlink()
    assert eyrie("docs").stderr.startswith("eyrie docs: made_up is not installed: ")
