# SPDX-License-Identifier: Apache-2.0
"""Writes rtl/encoding_pkg.sv from model/encoding.py, rtl/configuration_check.sv from model/config.py,
rtl/pass/descriptor_rules.sv from model/legality.py, rtl/eyrie.f, the list of the accelerator's files,
runtime/c/driver/eyrie_registers.h, what a C program knows of them, and runtime/c/operators/eyrie_softmax_kernel.h from
compiler/c/kernels.

Usage: python scripts/gen_pkg.py [--check]; with --check nothing is written and the exit code says
whether the files are up to date.
"""

import re
import sys
from enum import IntEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from eyrie.compiler.c import kernels  # noqa: E402
from eyrie.model import config, encoding  # noqa: E402
from eyrie.model.word import Word  # noqa: E402
from eyrie.runtime.simulator.sources import arguments, closure  # noqa: E402
from scripts.gen_registers import registers_text  # noqa: E402
from scripts.gen_rules import parameter_list, rules_text  # noqa: E402
from scripts.generated import camel, update  # noqa: E402

ENUMS = {
    encoding.Opcode: ("opcode_e", 4, "Op"),
    encoding.ArrayMode: ("array_mode_e", 3, "Array"),
    encoding.DrainMode: ("drain_mode_e", 2, "Drain"),
    encoding.PoolMode: ("pool_mode_e", 2, "Pool"),
    encoding.Operation: ("operation_e", 4, "Operation"),
    encoding.Destination: ("destination_e", 2, "To"),
    encoding.Axis: ("axis_e", 2, "Axis"),
    encoding.ErrorCode: ("error_code_e", 4, "Error"),
}
INDICES = {
    encoding.Stream: ("Stream", "int unsigned"),
    encoding.Counter: ("Counter", "int unsigned"),
    encoding.Register: ("Register", "logic [11:0]"),
}


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def enum_text(kind: type[IntEnum], name: str, width: int, prefix: str) -> str:
    rows = ",\n".join(f"    {prefix}{camel(item.name)} = {width}'d{item.value}" for item in kind)
    return f"  typedef enum logic [{width - 1}:0] {{\n{rows}\n  }} {name};\n"


def struct_text(word: Word) -> str:
    width = sum(field.width for field in word.fields)
    rows = "".join(
        f"    logic{' signed' if field.signed else ''}{f' [{field.width - 1}:0]' if field.width > 1 else ''}"
        f" {field.name};\n"
        for field in reversed(word.fields)
    )
    name = snake(word.name)
    return f"  localparam int unsigned {word.name}Width = {width};\n  typedef struct packed {{\n{rows}  }} {name}_t;\n"


def package_text() -> str:
    parts = [
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Written by scripts/gen_pkg.py from model/encoding.py, which documents the fields: do not edit\n"
        "// here.\n\npackage encoding_pkg;\n"
    ]
    parts += [enum_text(kind, *rest) for kind, rest in ENUMS.items()]
    constants = {
        camel(name): value
        for name, value in vars(encoding).items()
        if name.isupper() and isinstance(value, int) and not isinstance(value, IntEnum)
    }
    parts.append("".join(f"  localparam int unsigned {n} = {v};\n" for n, v in constants.items()))
    for kind, (prefix, sv_type) in INDICES.items():
        value = (lambda item: f"12'h{item.value:03X}") if kind is encoding.Register else (lambda item: str(item.value))
        parts.append("".join(f"  localparam {sv_type} {prefix}{camel(item.name)} = {value(item)};\n" for item in kind))
    parts.append(
        f"  localparam int unsigned Streams = {len(encoding.Stream)};\n"
        f"  localparam int unsigned Counters = {len(encoding.Counter)};\n"
    )
    parts += [struct_text(word) for word in encoding.COMMAND_WORDS + encoding.CONFIG_FORMATS]
    return "\n".join(parts) + "\nendpackage\n"


CHECK_HEAD = """// SPDX-License-Identifier: Apache-2.0
// Written by scripts/gen_pkg.py from model/config.py, which documents the ranges: do not edit here.
//
// Rejects an illegal configuration at elaboration, in simulation and synthesis. It has no logic.

`include "assertions.svh"

module configuration_check #(
"""


def legal_text(name: str, values: range | tuple[int, ...]) -> str:
    """The condition that a parameter has one of the values."""
    if isinstance(values, tuple):
        return " || ".join(f"{name} == {value}" for value in values)
    step = f" && {name} % {values.step} == {values[0] % values.step}" if values.step > 1 else ""
    return f"{name} >= {values[0]} && {name} <= {values[-1]}{step}"


def static_text(name: str, value: str, said: str, condition: str, rule: str) -> str:
    return (
        f"  `EYRIE_STATIC({name},\n      {condition},\n"
        f'      $sformatf("{said} = %0d: must be {rule}",\n                {value}))\n'
    )


def check_text() -> str:
    sizes = config.sizes()
    checks = "".join(
        static_text(f"{camel(name)}Legal", name.upper(), name.upper(), legal_text(name.upper(), size.values), size.rule)
        for name, size in sizes.items()
    )
    product = "GLB_BANKS * GLB_BANK_WORDS"
    checks += static_text(
        "GlbLegal",
        product,
        "GLB_BANKS x GLB_BANK_WORDS",
        legal_text(product, config.GLB_WORDS),
        config.rule(config.GLB_WORDS),
    )
    return f"{CHECK_HEAD}{parameter_list(sizes)}) ();\n\n{checks}\nendmodule\n"


def list_text() -> str:
    """The files of the accelerator in compile order, for tools that take a command file (`-f`)."""
    files = [path.relative_to(ROOT) for path in closure("eyrie")]
    return "\n".join(
        [
            "// SPDX-License-Identifier: Apache-2.0",
            "// Written by scripts/gen_pkg.py: do not edit here.",
            *arguments(files),
            "",
        ]
    )


def softmax_text() -> str:
    """The operator library's part of the host."""
    return f"""/* SPDX-License-Identifier: Apache-2.0
 * Written by scripts/gen_pkg.py from compiler/c/kernels/softmax.c: do not edit here.
 */
#include <stdint.h>

{kernels.joined(["softmax"])}"""


RTL = ROOT / "rtl"
FILES = {
    RTL / "encoding_pkg.sv": package_text,
    RTL / "configuration_check.sv": check_text,
    RTL / "pass" / "descriptor_rules.sv": rules_text,
    RTL / "eyrie.f": list_text,
    ROOT / "runtime" / "c" / "driver" / "eyrie_registers.h": registers_text,
    ROOT / "runtime" / "c" / "operators" / "eyrie_softmax_kernel.h": softmax_text,
}


def main() -> int:
    return update(FILES, "scripts/gen_pkg.py")


if __name__ == "__main__":
    sys.exit(main())
