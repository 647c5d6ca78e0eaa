# SPDX-License-Identifier: Apache-2.0
"""Compare the numbers that the literature prints with the numbers of this project.

    eyrie study [--texts A,B] [--page FILE] [--compile A,B]

The command prints the differences, and leaves build/study/summary.json (docs/reference/summary.md) and the page
(docs/research/study.md by default). With --texts it writes only the summary. --compile repeats compilations whose
results are stored, because they take minutes.
"""

import argparse
import time
from importlib import import_module
from pathlib import Path

from eyrie.compiler.command_line import file_name
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.folders import BUILD, ROOT

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


def chosen(text: str) -> list[str]:
    """Return the texts that a list of names, separated by commas, selects; all for an empty list. Raise InputError."""
    names = [name.strip() for name in text.split(",") if name.strip()] or list(TEXTS)
    for name in names:
        if name not in TEXTS:
            raise InputError(unknown("text", name, TEXTS))
    return names


def run(options: argparse.Namespace) -> int:
    from eyrie.runtime import progress
    from eyrie.runtime.folders import replacing
    from eyrie.runtime.simulator.summary import write_summary

    names, began, sections = chosen(options.texts), time.monotonic(), {}
    with replacing(BUILD / "study") as folder:
        if options.compile:
            from eyrie.measure.studies.compiled import store

            store([name.strip() for name in options.compile.split(",")], folder)
        with progress.task("studying") as task:
            for done, name in enumerate(names):
                task.at(done, len(names), name)
                sections[name] = import_module(f"eyrie.measure.studies.{name}").section(folder)
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
    page = Path(options.page) if options.page else PAGE if len(names) == len(TEXTS) else None
    if page:
        page.write_text("\n".join([HEAD, *(section.markdown() for section in sections.values())]).rstrip() + "\n")
        print(page)
    return 0
