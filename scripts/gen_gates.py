# SPDX-License-Identifier: Apache-2.0
"""Fit the gate model to the records of data/reference/gate_records.csv; write data/reference/gate_coefficients.json.

Usage: python scripts/gen_gates.py [--check] [--measure NAMES]

--measure synthesises the configurations of records again first: names separated by commas, or `all`, which takes an
hour of CPU time. Use it if the RTL has changed. With --check no coefficients are written; the exit code
says whether they are up to date.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from eyrie.model.errors import InputError  # noqa: E402
from eyrie.model.messages import unknown  # noqa: E402
from eyrie.runtime.folders import BUILD, replacing  # noqa: E402
from eyrie.runtime.synthesis import gate_records  # noqa: E402
from eyrie.runtime.synthesis.blocks import BLOCKS  # noqa: E402
from eyrie.runtime.synthesis.gate_model import COEFFICIENTS  # noqa: E402
from eyrie.runtime.synthesis.gate_records import HELD_OUT, RECORDS, read_records  # noqa: E402
from eyrie.runtime.synthesis.gate_runs import measure  # noqa: E402
from eyrie.runtime.synthesis.jobs import check_tools  # noqa: E402
from scripts.generated import update  # noqa: E402


def coefficients() -> str:
    """Return the text of the file of coefficients."""
    return json.dumps(gate_records.fitted(read_records()), indent=2) + "\n"


def measure_again(names: list[str]) -> None:
    """Synthesise the configurations of records, and store each result. Raise InputError."""
    records = {record.name: record for record in read_records()}
    for name in names:
        if name not in records:
            raise InputError(unknown("record", name, list(records)))
    check_tools()
    known: dict[str, float] = {}
    for name in names or records:
        with replacing(BUILD / "gates") as folder:
            old = records[name]
            blocks = BLOCKS if old.use == HELD_OUT else tuple(old.gate_equivalents)
            found = measure(folder, old.config, blocks, known)
        records[name] = replace(old, memory_bits=found.memory_bits, gate_equivalents=found.gate_equivalents)
        RECORDS.write_text(gate_records.text(records.values()))
        print(f"{name}: {records[name].total:,.0f} GE", flush=True)


def main() -> int:
    """Measure, fit and write, or compare; return the exit code."""
    if "--measure" in sys.argv[1:]:
        chosen = [*sys.argv, "all"][sys.argv.index("--measure") + 1]
        try:
            measure_again([] if chosen == "all" else chosen.split(","))
        except InputError as error:
            print(error, file=sys.stderr)
            return 1
    return update({COEFFICIENTS: coefficients}, "scripts/gen_gates.py")


if __name__ == "__main__":
    sys.exit(main())
