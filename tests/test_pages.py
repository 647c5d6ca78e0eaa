# SPDX-License-Identifier: Apache-2.0
"""The pages: every command in a fenced `sh` block runs as printed, or, if marked `sh long`, is one that there is; links
lead somewhere; every source file names its licence."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from eyrie.command_line import COMMANDS, add_options, overview
from eyrie.compiler.command_line import Parser
from eyrie.runtime.folders import ROOT

PAGES = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/**/*.md")))
BLOCK = re.compile(r"^```sh( long)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
DOCS = ROOT / "docs"
SOURCES = ("*.py", "*.sv", "*.svh", "*.cpp", "*.c", "*.h", "*.sh", "*.vlt")
EYRIE = ".venv/bin/eyrie"


def blocks(page: Path, long: bool) -> list[str]:
    return [text for marked, text in BLOCK.findall(page.read_text()) if bool(marked) == long]


def environment() -> dict[str, str]:
    """A fresh shell's: what a user has who has never heard of the variables of make, pytest and this project."""
    kept = ("HOME", "PATH", "LANG", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


def printed() -> list:
    """The pages with commands; those whose commands build or test everything are for `make regress`."""
    tutorials = (
        f"docs/tutorials/{name}.md" for name in ("configuration", "model", "schedule", "testbench", "waveform")
    )
    slow = ("README.md", "CONTRIBUTING.md", "docs/start/index.md", "docs/howto/buffers.md", *tutorials)
    marks = {ROOT / name: pytest.mark.regress for name in slow}
    pages = [path for path in PAGES if blocks(path, long=False)]
    return [pytest.param(path, id=str(path.relative_to(ROOT)), marks=marks.get(path, ())) for path in pages]


@pytest.mark.parametrize("page", printed())
def test_commands_run_as_printed(page: Path) -> None:
    for block in blocks(page, long=False):
        run = subprocess.run(["sh", "-e", "-c", block], cwd=ROOT, env=environment(), capture_output=True, text=True)
        assert run.returncode == 0, f"{block}\n{run.stdout}{run.stderr}"


def commands(page: Path) -> list[str]:
    text = "\n".join(blocks(page, long=True)).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, long=True)], ids=lambda p: str(p.relative_to(ROOT)))
def test_long_commands_exist(page: Path) -> None:
    for line in commands(page):
        check_command(shlex.split(line, comments=True))


def check_command(words: list[str]) -> None:
    """Fails unless there is such a command, and all its options."""
    program, *arguments = words
    if program == "make":
        target, *knobs = arguments
        text = (ROOT / "Makefile").read_text()
        assert target in targets(), f"make has no {target}"
        for knob in knobs:
            assert re.search(rf"^{knob.split('=')[0]} *\?=", text, re.MULTILINE), f"make has no knob {knob}"
    elif program in (EYRIE, "eyrie"):
        parser = Parser(prog=program)
        add_options(parser, arguments[0])
        parser.parse_args(arguments[1:])
    else:
        assert program in ("sudo", "gtkwave", "git", "pip", ".venv/bin/dask"), f"{program}: neither make nor {EYRIE}"


def targets() -> set[str]:
    """Return the targets of make that its help shows, with one for each extra that it installs."""
    text = (ROOT / "Makefile").read_text()
    shown = set(re.findall(r"^([a-z%-]+):.*##", text, re.MULTILINE))
    extras = re.search(r"^extras := (.*)$", text, re.MULTILINE)[1].split()
    return shown - {"extra-%"} | {f"extra-{name}" for name in [*extras, "dev"]}


@pytest.mark.parametrize(
    "words",
    [
        ["make", "nosuch"],
        ["make", "extra-nosuch"],
        ["make", "demo", "NOSUCH=1"],
        [EYRIE, "compile", "m", "--nosuch"],
        ["python", "x.py"],
    ],
)
def test_commands_that_do_not_exist_are_found(words: list[str]) -> None:
    with pytest.raises((AssertionError, SystemExit)):
        check_command(words)


def test_commands_in_text_exist() -> None:
    """`eyrie NAME` and `make NAME` in running text; the changelog also names commands of older versions."""
    for page in PAGES:
        if page.name == "CHANGELOG.md":
            continue
        for tool, name in re.findall(r"`(?:\.venv/bin/)?(eyrie|make) ([a-z][\w-]*)", page.read_text()):
            known = COMMANDS if tool == "eyrie" else targets()
            assert name in known, f"{page.name}: {tool} {name}"
        assert not re.search(r"(?<![./\w])python (scripts/|-m )", page.read_text()), f"{page.name}: python is not there"


def test_links_lead_somewhere() -> None:
    found = 0
    for page in PAGES:
        for link in LINK.findall(page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
            found += 1
    assert found > 10


def test_every_page_is_in_the_contents() -> None:
    """In the navigation of the site, and in the table of sections of its first page."""
    navigation, contents = (ROOT / "mkdocs.yml").read_text(), (DOCS / "index.md").read_text()
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        assert re.search(rf"[ ]{re.escape(name)}$", navigation, re.MULTILINE), f"{name} is not in mkdocs.yml"
        assert name == "index.md" or f"({name})" in contents, f"{name} is not in docs/index.md"


def test_every_source_names_its_licence() -> None:
    listed = [
        path
        for folder in ("eyrie", "rtl", "tb", "tests", "model", "compiler", "runtime", "scripts")
        for kind in SOURCES
        for path in (ROOT / folder).rglob(kind)
    ]
    assert len(listed) > 200
    for path in listed:
        head = path.read_text().splitlines()[:2]
        assert any("SPDX-License-Identifier: Apache-2.0" in line for line in head), path


def test_the_overview_lists_all_commands() -> None:
    assert all(re.search(rf"^  {name} +[A-Z]", overview(), re.MULTILINE) for name in COMMANDS)
