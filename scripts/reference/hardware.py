# SPDX-License-Identifier: Apache-2.0
"""Pages of the hardware: parameters, ports, registers, counters, error codes, commands, descriptor."""

import re
from enum import IntEnum
from pathlib import Path

from eyrie.model import config, encoding
from eyrie.model.descriptions import COMMAND_FIELDS, CONTROL, COUNTERS, ERRORS, OPCODES, REGISTERS, STATUS
from eyrie.model.descriptor_texts import FIELDS, VALUES, WORDS
from eyrie.model.encoding import Counter, Opcode, Register
from eyrie.model.word import Word
from scripts.reference.markdown import code, page, table

ROOT = Path(__file__).resolve().parents[2]
PORT = re.compile(r"^ *(input|output) +logic +(?:(\[[^\]]*\]) *)?(\w+)", re.MULTILINE)


# ---- Parameters and ports ----


def parameters() -> str:
    """Write the parameters of a configuration: value, default, meaning, reason."""
    rows = [
        (code(name.upper()), code(name), getattr(config.DEFAULT, name), size.rule, size.meaning, size.reason)
        for name, size in config.sizes().items()
    ]
    system = [
        (code(name), f"{getattr(config.DEFAULT, name):,}", size.rule, size.meaning, size.reason)
        for name, size in config.surroundings().items()
    ]
    return page(
        "Parameters",
        "These parameters of `rtl/eyrie.sv` differ from one configuration to another. A configuration is a JSON file "
        "with the names of the second column. `--config FILE` and `CONFIG=FILE` take it.",
        "`model/config.py`",
        table(("RTL", "JSON", "default", "legal", "meaning", "reason for the bounds"), rows),
        f"`GLB_BANKS` x `GLB_BANK_WORDS` must be {config.rule(config.GLB_WORDS)} words of 64 bits.",
        "The JSON file may also describe the system, with values that are no parameters of the RTL. The compiler plans "
        "for this DRAM, and the simulated DRAM has its times.",
        table(("JSON", "default", "legal", "meaning", "remark"), system),
    )


def ports() -> str:
    """Write the ports of the top module, by the comments that head their groups."""
    source = (ROOT / "rtl" / "eyrie.sv").read_text()
    text = source[source.index(") (") : source.index("\n);")]
    sections, title = [], "Clock, reset and interrupt"
    for part in re.split(r"^ *// (.*)\n", text, flags=re.MULTILINE):
        found = PORT.findall(part)
        if not found:
            title = part
            continue
        rows = [(code(name), direction, code(width) if width else "1 bit") for direction, width, name in found]
        sections.append(f"## {title}\n\n{table(('port', 'direction', 'width'), rows)}")
    return page(
        "Ports",
        "The top module is `eyrie` in `rtl/eyrie.sv`. It has AXI4-Lite registers for the host and an AXI4 master port "
        "to DRAM. All ports are synchronous to `clk_i`. `rst_ni` is an asynchronous reset, active low. AXI signals "
        "have the meaning of Arm IHI 0022.",
        "`rtl/eyrie.sv`",
        *sections,
    )


# ---- Registers, counters, errors ----


def _bits(values: dict) -> str:
    rows = [(int(flag).bit_length() - 1, code(flag.name), text) for flag, text in values.items()]
    return table(("bit", "name", "meaning"), rows)


def registers() -> str:
    """Write the register map and the bits of CONTROL and STATUS."""
    rows = [
        (f"0x{int(register):03X}", code(register.name), text.access, text.reset, text.meaning)
        for register, text in REGISTERS.items()
    ]
    return page(
        "Registers",
        "The registers have 32 bits. Offsets are bytes from the base of the AXI4-Lite port. An access to any other "
        "offset, a write to a read-only register and a write to a locked register have no effect and are answered with "
        "SLVERR. Registers that software writes keep their values over a start and over a soft reset. "
        "[The tiling controller](../hardware/tiling.md) explains how to program them.",
        "`model/encoding.py`, `model/status.py` and `model/descriptions.py`",
        table(("offset", "name", "access", "reset", "meaning"), rows),
        "RO: read only. RW: read and write. WO: write only.",
        f"## CONTROL\n\n{_bits(CONTROL)}",
        f"## STATUS\n\n{_bits(STATUS)}",
        "The error codes are on [their own page](errors.md), the counters on [theirs](counters.md).",
    )


def counters() -> str:
    """Write the performance counters with the offsets of their registers."""
    rows = [
        (int(counter), f"0x{encoding.counter_register(counter):03X}", code(counter.name), COUNTERS[counter])
        for counter in Counter
    ]
    return page(
        "Performance counters",
        "The counters have 64 bits. They count from the start of a run to its end or its error. The low word is at the "
        "offset, the high word 4 bytes after it. Read the low word first: it saves the high word of the same cycle for "
        "the next read of a high word.",
        "`model/encoding.py` and `model/descriptions.py`",
        table(("number", "offset", "name", "meaning"), rows),
    )


def errors() -> str:
    """Write the error codes: cause and remedy."""
    rows = [(int(error), code(error.name), text.cause, text.remedy) for error, text in ERRORS.items()]
    return page(
        "Error codes",
        f"If a run stops with an error, the bit ERROR of STATUS is set. ERROR_CODE (0x{int(Register.ERROR_CODE):03X}) "
        f"has the code, and ERROR_ADDRESS (0x{int(Register.ERROR_ADDRESS):03X}) has the DRAM address of the command. "
        "The accelerator reads commands ahead, so an illegal command can stop it before earlier transfers have run. "
        "Write SOFT_RESET to CONTROL and wait for STATUS 0 before the next run. If the memory never answers, "
        "the bit BUS_WAITS stays set and the soft reset cannot end: reset accelerator and memory with rst_ni. "
        "The watchdog is off until WATCHDOG_LIMIT is written: if the memory or a command hangs, STATUS then shows BUSY "
        "only, without an end.",
        "`model/encoding.py` and `model/descriptions.py`",
        table(("code", "name", "cause", "what to do"), rows),
    )


# ---- Commands and descriptor ----


def layout(word: Word, texts: dict[str, str]) -> str:
    """Return the table of the fields of a word, from bit 0 upwards."""
    rows, position = [], 0
    for field in word.fields:
        last = position + field.width - 1
        bits = str(position) if field.width == 1 else f"{last}:{position}"
        rows.append((bits, code(field.name), "signed" if field.signed else "", texts[field.name]))
        position += field.width
    return table(("bits", "field", "", "meaning"), rows)


def _values(kind: type[IntEnum]) -> str:
    rows = [(int(item), code(item.name), VALUES[kind.__name__][item.name]) for item in kind]
    return f"### {kind.__name__}\n\n" + table(("value", "name", "meaning"), rows)


def commands() -> str:
    """Write the commands: opcodes, then the words bit by bit."""
    words = {
        Opcode.END: "`EndCommand`",
        Opcode.CONFIG: "`ConfigCommand`, then a descriptor word for `index` and each bit of `more`",
        Opcode.PASS: "`PassCommand`",
        Opcode.LOAD: "`TransferCommand`, `TransferAddress`; with `block` also `TransferRows`, `TransferPlanes`",
        Opcode.STORE: "as LOAD",
        Opcode.CHUNKS: "`TransferCommand`, `TransferAddress`, `TransferChunks`",
        Opcode.CODED: "`CodedCommand`, `TransferAddress`, `TransferChunks`, `CodedLengths` for each four LOADs",
    }
    rows = [(int(opcode), code(opcode.name), words[opcode], OPCODES[opcode]) for opcode in Opcode]
    sections = [f"## {word.name}\n\n{layout(word, COMMAND_FIELDS[word.name])}" for word in encoding.COMMAND_WORDS]
    return page(
        "Commands",
        "A command list is a sequence of 64-bit words in DRAM. PROGRAM_BASE points to its first word. Bits without a "
        "field must be 0. A wait count belongs to a semaphore: the command waits until the number of events since "
        "the start of the run reaches it. [Assembly](assembly.md) is the text form.",
        "`model/encoding.py` and `model/descriptions.py`",
        table(("opcode", "command", "words", "meaning"), rows),
        *sections,
    )


def descriptor() -> str:
    """Write the pass descriptor: index of its words, then the words bit by bit."""
    last = encoding.STREAMS_INDEX - 1
    rows = [
        (encoding.ARRAY_SHAPE_INDEX, "`ArrayShape`"),
        (encoding.ARRAY_LOOPS_INDEX, "`ArrayLoops`"),
        (encoding.DEPTHWISE_INDEX, "`DepthwiseOutput`"),
        (encoding.DRAIN_INDEX, "`Drain`"),
        (encoding.PPU_INDEX, "`PpuConfig`"),
        (encoding.PPU_FIRST_INDEX, "`PpuFirst`"),
        (encoding.PPU_SECOND_INDEX, "`PpuSecond`"),
        (encoding.PPU_RESULT_INDEX, "`PpuResult`"),
        (f"{encoding.ROW_IDS_INDEX} to {encoding.COLUMN_IDS_INDEX - 1}", "`RowId`, eight per word"),
        (f"{encoding.COLUMN_IDS_INDEX} to {last}", "`ColumnId`, eight per word"),
    ]
    for stream in encoding.Stream:
        first = encoding.STREAMS_INDEX + encoding.STREAM_WORDS * stream
        rows.append((f"{first} to {first + encoding.STREAM_WORDS - 1}", f"stream {stream.name}"))
    parts = [
        (encoding.STREAM_ADDRESS_OFFSET, "`StreamAddress`"),
        (encoding.STREAM_RANGE_OFFSET, "`StreamRange`"),
        (encoding.STREAM_OPTIONS_OFFSET, "`StreamOptions`"),
        (f"{encoding.STREAM_LEVELS_OFFSET} to {encoding.STREAM_WORDS - 1}", "`StreamLevel`, level 0 first"),
    ]
    sections = [
        f"### {word.name}\n\n{WORDS[word.name]}\n\n{layout(word, FIELDS[word.name])}"
        for word in encoding.CONFIG_FORMATS
    ]
    kinds = (encoding.ArrayMode, encoding.DrainMode, encoding.PoolMode, encoding.Operation)
    enums = [_values(kind) for kind in (*kinds, encoding.Destination, encoding.Axis)]
    return page(
        "Pass descriptor",
        f"A pass descriptor has {encoding.CONFIG_WORDS} words of 64 bits. CONFIG commands write it, PASS runs it. "
        "[The pass controller](../hardware/pass_controller.md) explains what the units do with it.",
        "`model/encoding.py` and `model/descriptor_texts.py`",
        "## Words\n\n" + table(("index", "word"), rows),
        "Words of a stream, from its first word:\n\n" + table(("offset", "word"), parts),
        "## Formats",
        *sections,
        "## Values",
        *enums,
    )
