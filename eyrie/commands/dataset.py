# SPDX-License-Identifier: Apache-2.0
"""Write a data set of random layers on the RTL: layer, configuration, mapping, schedule, cycles, stalls and estimates.

    eyrie dataset FILE.parquet [--records N] [--seed N] [--budget MINUTES] [--jobs N] [--scheduler ADDRESS]

Ten kinds of layers run on ten configurations, each with the same share. FILE.parquet needs the extra explore; FILE.csv
works without it. A data sheet with the errors of three models of time is written beside the file, as FILE.md. Stored
results are used: an interrupted run continues, and more records may be added later. The folder build/dataset gets
summary.json (docs/reference/summary.md). The exit code is 1 if an output differs from the golden model.
"""

import argparse
import csv
import io
import time
from pathlib import Path

from eyrie.compiler.command_line import file_name, whole_number
from eyrie.compiler.files import check_file, whole_file
from eyrie.compiler.frontend.extra import require
from eyrie.measure.campaigns import engine
from eyrie.model.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=file_name, metavar="FILE", help="file .parquet or .csv to write")
    parser.add_argument("--records", type=whole_number(10), default=4000, metavar="N", help="records (4,000)")
    parser.add_argument("--seed", type=whole_number(0), default=1, metavar="N", help="seed of the layers (1)")
    engine.add_arguments(parser, 24 * 60)


def run(options: argparse.Namespace) -> int:
    from eyrie.measure.dataset.records import tasks
    from eyrie.measure.dataset.sheet import ESTIMATES, errors, sheet
    from eyrie.runtime.folders import BUILD, replacing
    from eyrie.runtime.simulator.summary import write_summary

    if options.file.suffix not in (".parquet", ".csv"):
        raise InputError(f"{options.file}: give a file .parquet or .csv")
    if options.file.suffix == ".parquet":
        require("pyarrow", "explore")
    check_file(options.file)
    began = time.monotonic()
    with replacing(BUILD / "dataset") as folder:
        found = engine.Campaign.of("dataset", options).run(tasks(options.records, options.seed), folder, lambda _: None)
        if left := found.count(None):
            raise InputError(f"the budget is used up, {left} of {len(found)} tasks left: run it again to continue")
        records = unique([record for entry in found if entry for record in entry["records"]])
        wrong = sum(entry["mismatches"] for entry in found if entry)
        summary = {
            "test": "dataset",
            "status": "fail" if wrong else "pass",
            "seconds": round(time.monotonic() - began, 2),
            "seed": options.seed,
            "records": len(records),
            "cycles": sum(record["cycles"] for record in records),
            "mismatches": wrong,
            "errors": {estimate: errors(records, estimate) for estimate in ESTIMATES},
        }
        write_summary(folder / "summary.json", summary)
    if wrong:
        print(f"fail: {wrong} outputs differ from the golden model's: no file is written")
        return 1
    command = f"eyrie dataset {options.file.name} --records {options.records} --seed {options.seed}"
    write(options.file, records)
    with whole_file(options.file.with_suffix(".md")) as file:
        file.write(sheet(records, command).encode())
    mean = {estimate: f"{values['mean']:.2%}" for estimate, values in summary["errors"].items()}
    print(
        f"pass: {len(records):,} records, mean error of {', '.join(f'{name} {value}' for name, value in mean.items())}"
    )
    print(options.file)
    return 0


def unique(records: list[dict]) -> list[dict]:
    """Return the records without those whose layer and configuration are equal to an earlier one's."""
    layer = ("kind", "H", "W", "C", "M", "R", "S", "U", "dilation", "padding", "configuration")
    found: dict[tuple, dict] = {}
    for record in records:
        found.setdefault(tuple(record[name] for name in layer), record)
    return list(found.values())


def write(path: Path, records: list[dict]) -> None:
    """Write the records as Parquet or CSV, by the suffix."""
    if path.suffix == ".parquet":
        table = require("pyarrow", "explore").Table.from_pylist(records)
        with whole_file(path) as file:
            require("pyarrow.parquet", "explore").write_table(table, file)
        return
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    with whole_file(path) as file:
        file.write(text.getvalue().encode())
