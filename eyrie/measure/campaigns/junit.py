# SPDX-License-Identifier: Apache-2.0
"""The results of a campaign for continuous integration (JUnit XML), and a line for each failure."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from eyrie.compiler.files import whole_file
from eyrie.measure.campaigns.task import Result, Task
from eyrie.model.messages import one_line


def report(campaign: str, path: Path, tasks: Sequence[Task], results: Sequence[Result | None]) -> None:
    """Write the results to a file, and print each failure with the command that repeats it.

    A task without a result is skipped. Raise InputError, with one line, if the file cannot be written.
    """
    failures = [(task, result.failure) for task, result in zip(tasks, results) if result and result.failure is not None]
    suite = Element(
        "testsuite",
        name=campaign,
        tests=str(len(tasks)),
        failures=str(len(failures)),
        skipped=str(results.count(None)),
    )
    for task, result in zip(tasks, results, strict=True):
        case = SubElement(suite, "testcase", classname=campaign, name=task.name)
        if result is None:
            SubElement(case, "skipped", message="the budget is used up")
        elif result.failure is not None:
            SubElement(case, "failure", message=one_line(result.failure)).text = f"again: {task.again}"
    with whole_file(path) as file:
        file.write(tostring(suite, xml_declaration=True, encoding="utf-8"))
    for task, failure in failures:
        print(one_line(f"failed: {task.name}: {failure}; again: {task.again}"), flush=True)
