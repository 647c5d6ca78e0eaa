# SPDX-License-Identifier: Apache-2.0
"""The C driver as a library of this process, on an accelerator that the functional simulator executes."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import COUNTER_BYTES, IDENTITY, Counter, ErrorCode, Register
from eyrie.model.functional_simulator import FunctionalSimulator, ProgramError
from eyrie.model.status import Control, Status
from eyrie.runtime.soc.driver import SIZES, Network, Platform, typed
from eyrie.runtime.soc.library import DRIVER, WARNINGS


def build(folder: Path, header: Path | None = None) -> ctypes.CDLL:
    """The driver's functions; with network.h in the folder `header`, its network as `the_network`."""
    folder.mkdir(exist_ok=True)
    shim = folder / "shim.c"
    text = ['#include "eyrie_driver.h"']
    if header:
        text += [
            '#include "network.h"',
            "const struct eyrie_network *the_network(void);",
            "const struct eyrie_network *the_network(void) { return &network; }",
        ]
    shim.write_text("\n".join([*text, ""]))
    library = folder / "driver.so"
    subprocess.run(
        [
            "cc",
            "-std=c99",
            *WARNINGS,
            "-fsanitize=undefined",
            "-fno-sanitize-recover=undefined",
            "-shared",
            "-fPIC",
            f"-I{DRIVER}",
            f"-I{header or folder}",
            shim,
            *sorted(DRIVER.glob("*.c")),
            "-o",
            library,
        ],
        check=True,
    )
    found = typed(ctypes.CDLL(str(library)))
    if header:
        found.the_network.restype = ctypes.POINTER(Network)
    return found


class Modelled:
    """An accelerator behind registers: a start executes the program at once, and STATUS says busy for `busy` looks
    more.

    memory   uint8: the DRAM, from address 0 on
    written  registers and values, in order
    status   what STATUS reads, as long as it is not None
    """

    def __init__(self, base: int, window: int, config: AcceleratorConfig = DEFAULT, busy: int = 2) -> None:
        self.base, self.window, self.config, self.busy = base, window, config, busy
        self.memory = np.zeros(base + window, np.uint8)
        self.registers = dict.fromkeys(Register, 0) | {Register.IDENTITY: IDENTITY}
        self.written: list[tuple[int, int]] = []
        self.counters = dict.fromkeys(Counter, 0)
        self.status: int | None = None
        self.looks = self.waits = self.high = 0
        kinds = dict(Platform._fields_)
        functions = {
            "read_register": self._read,
            "write_register": self._write,
            "write_memory": self._put,
            "read_memory": self._get,
        }
        self.platform = Platform(
            window_base=base,
            window_bytes=window,
            sizes=SIZES(*config.parameters.values()),
            **{name: kinds[name](function) for name, function in functions.items()},
        )

    def _read(self, _context: int, address: int) -> int:
        if address >= Register.COUNTERS:
            counter, high = divmod(address - Register.COUNTERS, COUNTER_BYTES)
            if not high:
                value = self.counters[Counter(counter)]
                self.counters[Counter(counter)] += 1  # goes on counting
                self.high = value >> 32
                return value & 0xFFFF_FFFF
            return self.high
        if address == Register.STATUS:
            if self.status is not None:
                return self.status
            if self.looks:
                self.looks -= 1
                return Status.BUSY
        return self.registers[Register(address)]

    def _write(self, _context: int, address: int, value: int) -> None:
        self.written.append((address, value))
        self.registers[Register(address)] = value
        if address == Register.CONTROL:
            if value & Control.START:
                self._run()
            if value & Control.SOFT_RESET:
                self.registers[Register.STATUS] = 0
                self.looks = self.busy

    def _run(self) -> None:
        window = self.registers[Register.WINDOW_BASE], self.registers[Register.WINDOW_LIMIT]
        self.looks = self.busy
        self.registers |= {Register.STATUS: Status.DONE, Register.ERROR_CODE: ErrorCode.NONE}
        try:
            FunctionalSimulator(self.memory, self.config, window).run(self.registers[Register.PROGRAM_BASE])
        except ProgramError as error:
            self.registers |= {
                Register.STATUS: Status.ERROR,
                Register.ERROR_CODE: error.code,
                Register.ERROR_ADDRESS: error.address,
            }

    def _put(self, _context: int, offset: int, source: object, count: int) -> None:
        assert offset + count <= self.window, "beyond the window"
        self.memory[self.base + offset :][:count] = np.ctypeslib.as_array(source, (count,))

    def _get(self, _context: int, offset: int, target: object, count: int) -> None:
        assert offset + count <= self.window, "beyond the window"
        np.ctypeslib.as_array(target, (count,))[:] = self.memory[self.base + offset :][:count]
