# SPDX-License-Identifier: Apache-2.0
"""The C header of the accelerator's registers, from model/encoding.py, model/status.py and
model/config.py: scripts/gen_pkg.py writes it."""

from enum import IntEnum

from eyrie.model import config, encoding
from eyrie.model.encoding import Counter, ErrorCode, Opcode, Register
from eyrie.model.status import ERROR_TEXTS, Control, Status
from eyrie.model.word import Word

HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Written by scripts/gen_pkg.py from model/encoding.py and model/status.py, which say what each name means, and
 * model/config.py: do not edit here.
 */
#ifndef EYRIE_REGISTERS_H
#define EYRIE_REGISTERS_H
"""


def registers_text() -> str:
    """Registers, their bits, error codes and counters; of commands what finds the addresses in a list; the sizes of a
    accelerator, in the order of its parameters."""
    names = [*config.sizes()]
    default = ", ".join(str(getattr(config.DEFAULT, name)) for name in names)
    parts = [
        HEAD,
        _defines("REGISTER", Register, "0x{:03X}u", "Byte addresses of the 32-bit registers."),
        _lines("", IDENTITY=f"0x{encoding.IDENTITY:08X}u", COUNTER_BYTES=f"{encoding.COUNTER_BYTES}u"),
        _defines("CONTROL", Control, "{}u", "Bits of CONTROL."),
        _defines("STATUS", Status, "{}u", "Bits of STATUS."),
        _enum("error_code", "ERROR", [item.name for item in ErrorCode], "Why the accelerator stopped."),
        _lines("", ERROR_CODES=len(ErrorCode)),
        _texts("ERROR_TEXTS", [ERROR_TEXTS[code] for code in ErrorCode], "Of the error codes, in order."),
        _enum("counter", "COUNTER", [item.name for item in Counter], "Performance counters, of 64 bits."),
        _lines("", COUNTERS=len(Counter)),
        _texts("COUNTER_NAMES", [item.name for item in Counter], "Of the counters, in order."),
        _defines("OPCODE", Opcode, "{}u", "Kinds of commands."),
        _fields(
            OPCODE=(encoding.END, "opcode"),
            CONFIG_MORE=(encoding.CONFIG, "more"),
            TRANSFER_BLOCK=(encoding.TRANSFER, "block"),
            TRANSFER_ADDRESS=(encoding.TRANSFER_ADDRESS, "dram_address"),
            CHUNKS_COUNT=(encoding.TRANSFER_CHUNKS, "count"),
        ),
        _enum("size", "SIZE", [name.upper() for name in names], "Parameters of an accelerator."),
        _lines("", SIZES=len(names)),
        f"/* Sizes of the default configuration. */\n#define EYRIE_DEFAULT_SIZES {{{default}}}\n",
        "#endif\n",
    ]
    return "\n".join(parts)


def _lines(prefix: str, **values: object) -> str:
    return "".join(f"#define EYRIE_{prefix}{name} {value}\n" for name, value in values.items())


def _defines(prefix: str, kind: type[IntEnum], form: str, about: str) -> str:
    return f"/* {about} */\n" + _lines(f"{prefix}_", **{item.name: form.format(int(item)) for item in kind})


def _enum(name: str, prefix: str, items: list[str], about: str) -> str:
    """An enumeration of values from 0 on."""
    rows = ",\n".join(f"  EYRIE_{prefix}_{item} = {value}" for value, item in enumerate(items))
    return f"/* {about} */\nenum eyrie_{name} {{\n{rows}\n}};\n"


def _texts(name: str, texts: list[str], about: str) -> str:
    rows = ", \\\n".join(f'  "{text}"' for text in texts)
    return f"/* {about} */\n#define EYRIE_{name} \\\n{rows}\n"


def _fields(**places: tuple[Word, str]) -> str:
    """The lowest bit and the number of bits of fields of 64-bit words."""
    text = "/* Fields of the words of commands: the lowest bit, and how many there are. */\n"
    for key, (word, name) in places.items():
        index = [field.name for field in word.fields].index(name)
        shift = sum(field.width for field in word.fields[:index])
        text += _lines(f"{key}_", SHIFT=f"{shift}u", BITS=f"{word.fields[index].width}u")
    return text
