# SPDX-License-Identifier: Apache-2.0
"""Writes rtl/eyrie.f, the files of the machine in compile order for tools that take a command file (`-f`).

Usage: python scripts/gen_file_list.py [--check]; with --check nothing is written and the exit code says whether the
file is up to date.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from runtime.simulator.sources import file_list  # noqa: E402

TOP = "eyrie"
TARGET = ROOT / "rtl" / f"{TOP}.f"


def main() -> int:
    text = file_list(TOP)
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
    elif not TARGET.exists() or TARGET.read_text() != text:
        print(f"{TARGET}: not the files that {TOP} needs; run scripts/gen_file_list.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
