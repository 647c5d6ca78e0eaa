# SPDX-License-Identifier: Apache-2.0
"""Write the generated pages of docs/reference/.

Usage: python scripts/gen_reference.py [--check]; with --check nothing is written and the exit code says whether the
pages are up to date.
"""

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.generated import update  # noqa: E402
from scripts.reference import c_api, command_line, hardware, operators, python_api, summary  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line.text,
    "python-api.md": python_api.text,
    "c-api.md": c_api.text,
    "operators.md": operators.text,
    "summary.md": summary.text,
    "parameters.md": hardware.parameters,
    "ports.md": hardware.ports,
    "registers.md": hardware.registers,
    "counters.md": hardware.counters,
    "errors.md": hardware.errors,
    "commands.md": hardware.commands,
    "descriptor.md": hardware.descriptor,
}


def main() -> int:
    """Write the pages, or compare them; return the exit code."""
    return update({FOLDER / name: text for name, text in PAGES.items()}, "scripts/gen_reference.py")


if __name__ == "__main__":
    sys.exit(main())
