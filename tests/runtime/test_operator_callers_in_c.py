# SPDX-License-Identifier: Apache-2.0
"""Programs of others: compiled with another header, or other limits, than the operator library in C, or with
warnings."""

import subprocess
from pathlib import Path

import pytest

from eyrie.runtime.simulator.verilator import BuildError
from eyrie.runtime.soc import library
from eyrie.runtime.soc.c_programs import includes
from eyrie.runtime.soc.driver import RESULTS
from eyrie.runtime.soc.library import DRIVER, OPERATORS, compiled, compiler

CALLER = """#include <stdio.h>
#include "eyrie.h"
int main(void) {
  static struct eyrie_handle handle;
  const enum eyrie_result result = eyrie_create_handle(&handle, NULL, NULL);
  printf("%d %s", (int)result, eyrie_get_message(&handle));
  return 0;
}
"""


@pytest.mark.parametrize(
    ("defined", "version", "result", "said"),
    [
        ([], 1, "BAD_ARGUMENT", "platform: a pointer is NULL, the device is not open, or a number means nothing"),
        (
            ["-DEYRIE_MOST_ALLOCATIONS=8u"],
            1,
            "OTHER_LIBRARY",
            "EYRIE_MOST_ALLOCATIONS: 8 in the caller, 256 in the library",
        ),
        (
            ["-DEYRIE_MOST_OPERATIONS=64u"],
            1,
            "OTHER_LIBRARY",
            "EYRIE_MOST_OPERATIONS: 64 in the caller, 32 in the library",
        ),
        ([], 7, "OTHER_LIBRARY", "EYRIE_VERSION: 7 in the caller, 1 in the library"),
    ],
)
def test_a_caller_of_another_library(defined: list[str], version: int, result: str, said: str, tmp_path: Path) -> None:
    """Is rejected before anything is written behind its handle."""
    (tmp_path / "caller.c").write_text(CALLER)
    header = (DRIVER.parent / "eyrie.h").read_text()
    assert header.count("#define EYRIE_VERSION 1u") == 1
    (tmp_path / "eyrie.h").write_text(header.replace("#define EYRIE_VERSION 1u", f"#define EYRIE_VERSION {version}u"))
    objects = compiled([*DRIVER.glob("*.c"), *OPERATORS.glob("*.c")], tmp_path, tuple(includes()))
    compiler("cc", *defined, f"-I{tmp_path}", *includes(), tmp_path / "caller.c", *objects, "-o", tmp_path / "caller")
    ended = subprocess.run([tmp_path / "caller"], capture_output=True, text=True, check=True)
    number, _, message = ended.stdout.partition(" ")
    assert RESULTS[int(number)] == result
    assert message == (
        f"{said}: compile both with one eyrie.h and the same limits" if result == "OTHER_LIBRARY" else said
    )


def test_warnings_of_others_are_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no errors, as those of Eyrie's own sources are."""
    (tmp_path / "user.c").write_text("int main(void) { int unused; return 0; }\n")
    [made] = compiled([tmp_path / "user.c"], tmp_path, ())
    assert made.exists() and "unused variable" in capfd.readouterr().err
    monkeypatch.setattr(library, "_OWN", (tmp_path,))
    with pytest.raises(BuildError, match="unused variable"):
        compiled([tmp_path / "user.c"], tmp_path, ())
