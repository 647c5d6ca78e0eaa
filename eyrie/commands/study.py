# SPDX-License-Identifier: Apache-2.0
"""Compare the numbers that the literature prints with the numbers of this project.

    eyrie study [--texts A,B] [--page FILE] [--compile A,B] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

The command prints the differences, and leaves build/study/summary.json (docs/reference/summary.md) and the page with
its pictures (docs/research/study.md by default). With --texts it writes only the summary. --compile repeats
compilations whose results are stored, because they take minutes.
"""

import argparse
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from eyrie.compiler.command_line import file_name
from eyrie.compiler.files import check_file, check_folder, write_all, writing
from eyrie.measure.campaigns import engine
from eyrie.measure.campaigns.task import Result, Task
from eyrie.measure.studies.section import PICTURES, Section
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.folders import BUILD, ROOT, checkout

TEXTS = ("fusion", "tiling", "movement", "library", "baseline", "buffers")  # modules of eyrie/measure/studies
PAGE = ROOT / "docs" / "research" / "study.md"
HEAD = """# Numbers of the literature

This page compares published numbers with the results of this project. `make study` generates it. "-" means that a
publication has no number, or that this project has no comparable one; the last column has the reason.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--texts", default="", metavar="A,B", help=f"of {', '.join(TEXTS)} (all)")
    parser.add_argument("--page", type=file_name, metavar="FILE", help="file for the page (docs/research/study.md)")
    parser.add_argument(
        "--compile",
        default="",
        metavar="A,B",
        help="layers and networks of data/reference/compiled.csv to compile again",
    )
    engine.add_arguments(parser)


def chosen(text: str) -> list[str]:
    """Return the texts that a list of names, separated by commas, selects; all for an empty list. Raise InputError."""
    names = [name.strip() for name in text.split(",") if name.strip()] or list(TEXTS)
    for name in names:
        if name not in TEXTS:
            raise InputError(unknown("text", name, TEXTS))
    return names


def run(options: argparse.Namespace) -> int:
    from eyrie.measure.studies import compiled
    from eyrie.runtime.folders import replacing
    from eyrie.runtime.simulator.summary import write_summary

    checkout("the pages of the documentation")
    names, began, campaign = chosen(options.texts), time.monotonic(), engine.Campaign.of("study", options)
    page = Path(options.page) if options.page else PAGE if len(names) == len(TEXTS) else None
    if page:
        _check_page(page)
    with replacing(BUILD / "study") as folder:
        if options.compile:
            wanted = compiled.tasks([name.strip() for name in options.compile.split(",")])
            (folder / "compiled").mkdir()
            compiled.store(_all(campaign, wanted, folder / "compiled"))
        found = _all(
            campaign, [Task(name, studied, {"name": name}, f"eyrie study --texts {name}") for name in names], folder
        )
        sections = {name: Section.of(entry) for name, entry in zip(names, found)}
        entries = {name: section.entries() for name, section in sections.items()}
        verdicts = [entry["agrees"] for found in entries.values() for entry in found]
        write_summary(
            folder / "summary.json",
            {
                "test": "study",
                "status": "pass",
                "seconds": round(time.monotonic() - began, 2),
                "agree": verdicts.count(True),
                "differ": verdicts.count(False),
                "texts": entries,
            },
        )
    for section in sections.values():
        for row in section.rows:
            if row.agrees is False:
                print(f"{section.name}: {row.what}: {row.printed} printed, {row.ours} here: {row.note}")
    print(
        f"{verdicts.count(True)} numbers agree with those printed, {verdicts.count(False)} do not, of "
        f"{len(verdicts)} in all"
    )
    if page:
        _write(page, list(sections.values()))
        print(page)
    return 0


def _check_page(page: Path) -> None:
    """Raise InputError, in one line, if a page and its pictures cannot be written."""
    check_file(page)
    if page.name == PICTURES:
        raise InputError(f"{page}: the folder of the pictures has this name: give the page another one")
    check_folder(page.parent / PICTURES)


def _write(page: Path, sections: list[Section]) -> None:
    """Write a page, and its pictures beside it. Raise InputError, in one line."""
    pictures = {f"{PICTURES}/{each.file}": each.svg().encode() for section in sections for each in section.curves}
    text = "\n".join([HEAD, *(section.markdown() for section in sections)]).rstrip() + "\n"
    if pictures:
        with writing(page.parent / PICTURES):
            (page.parent / PICTURES).mkdir(exist_ok=True)
    write_all(page.parent, pictures | {page.name: text.encode()})


def studied(folder: Path, name: str) -> Result:
    """Return the section of a text."""
    return Result(asdict(import_module(f"eyrie.measure.studies.{name}").section(folder)))


def _all(campaign: engine.Campaign, tasks: list[Task], folder: Path) -> list[dict]:
    """Return the entries of all tasks. Raise InputError, in one line, if the budget does not last."""
    found = campaign.run(tasks, folder, lambda entry: None)
    if left := [task.name for task, entry in zip(tasks, found) if not entry]:
        raise InputError(engine.left_line(left))
    return [entry for entry in found if entry]
