# SPDX-License-Identifier: Apache-2.0
"""The site of docs/: `eyrie docs` builds it without a warning, and rejects a link to a page that does not exist."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from eyrie.runtime.folders import ROOT

pytest.importorskip("material", reason="make extra-docs")
pytestmark = pytest.mark.extra("docs")
EYRIE = ROOT / ".venv" / "bin" / "eyrie"


def test_the_site_has_every_page_and_loads_nothing_from_other_servers(tmp_path: Path) -> None:
    site = tmp_path / "site"
    ran = subprocess.run([EYRIE, "docs", "--quiet", "-o", site], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, f"{site / 'index.html'}\n"), ran.stdout + ran.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        built = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        loaded = re.findall(
            r'<(?:script|img|iframe|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]*)', built.read_text()
        )
        assert not loaded, f"{built}: {loaded}"
        assert "```" not in built.read_text(), f"{built}: a code block that is none"


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs" / "index.md").open("a") as page:
        page.write("\nSee [no page](nosuch.md) and [no section](glossary.md#nosuch).\n")
    command = [
        ROOT / ".venv" / "bin" / "python",
        "-P",
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        tmp_path / "site",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1 and "'nosuch.md'" in ran.stderr and "'#nosuch'" in ran.stderr
