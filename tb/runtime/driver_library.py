# SPDX-License-Identifier: Apache-2.0
"""The C driver as a library of this process, on a machine that the command-level model executes."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from model.config import DEFAULT, MachineConfig
from model.encoding import COUNTER_BYTES, IDENTITY, Counter, ErrorCode, Register
from model.machine import Machine, MachineError
from model.status import Control, Status
from tb.sim.c_programs import DRIVER, WARNINGS

RESULTS = ("OK BAD_ARGUMENT BAD_PLATFORM NO_MACHINE BAD_NETWORK OTHER_MACHINE OTHER_IMAGE NO_ROOM BAD_SIZE NOT_LOADED "
           "NOT_STARTED BUSY MACHINE_ERROR TIMEOUT BUS_WAITS").split()
U32, SIZES = ctypes.c_uint32, ctypes.c_uint32 * len(DEFAULT.parameters)
BYTES = ctypes.POINTER(ctypes.c_uint8)


class Platform(ctypes.Structure):
    _fields_ = [
        ("context", ctypes.c_void_p),
        ("read_register", ctypes.CFUNCTYPE(U32, ctypes.c_void_p, U32)),
        ("write_register", ctypes.CFUNCTYPE(None, ctypes.c_void_p, U32, U32)),
        ("write_memory", ctypes.CFUNCTYPE(None, ctypes.c_void_p, U32, BYTES, U32)),
        ("read_memory", ctypes.CFUNCTYPE(None, ctypes.c_void_p, U32, BYTES, U32)),
        ("wait", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("window_base", U32), ("window_bytes", U32), ("sizes", SIZES)]


class Map(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), *((name, U32) for name in (
        "address", "height", "width", "channels", "groups", "pitch")), ("packed", ctypes.c_bool),
        ("scale", ctypes.c_float), ("zero_point", ctypes.c_int32)]


class Network(ctypes.Structure):
    _fields_ = [*((name, U32) for name in ("bytes", "crc", "program", "program_bytes", "images")), ("sizes", SIZES),
                ("input_count", U32), ("output_count", U32), ("inputs", ctypes.POINTER(Map)),
                ("outputs", ctypes.POINTER(Map))]


class Device(ctypes.Structure):
    _fields_ = [("platform", Platform), ("network", ctypes.POINTER(Network)), ("watchdog", U32),
                ("interrupt", ctypes.c_bool), ("started", ctypes.c_bool)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("address", U32), ("place", U32)]


def build(folder: Path, header: Path | None = None) -> ctypes.CDLL:
    """The driver's functions; with network.h in the folder `header`, its network as `the_network`."""
    folder.mkdir(exist_ok=True)
    shim = folder / "shim.c"
    text = ['#include "eyrie_driver.h"']
    if header:
        text += ['#include "network.h"', "const struct eyrie_network *the_network(void);",
                 "const struct eyrie_network *the_network(void) { return &network; }"]
    shim.write_text("\n".join([*text, ""]))
    library = folder / "driver.so"
    subprocess.run(["cc", "-std=c99", *WARNINGS, "-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-shared",
                    "-fPIC", f"-I{DRIVER}", f"-I{header or folder}", shim, *sorted(DRIVER.glob("*.c")), "-o", library],
                   check=True)
    found = ctypes.CDLL(str(library))
    for name in ("eyrie_result_text", "eyrie_error_text", "eyrie_counter_name"):
        getattr(found, name).restype = ctypes.c_char_p
    for name in ("eyrie_put_input", "eyrie_get_output"):
        getattr(found, name).argtypes = [ctypes.c_void_p, U32, U32, ctypes.c_void_p, ctypes.c_size_t]
    found.eyrie_load.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    if header:
        found.the_network.restype = ctypes.POINTER(Network)
    return found


class Modelled:
    """A machine behind registers: a start executes the program at once, and STATUS says busy for `busy` looks more.

    memory   uint8: the DRAM, from address 0 on
    written  registers and values, in order
    status   what STATUS reads, as long as it is not None
    """

    def __init__(self, base: int, window: int, config: MachineConfig = DEFAULT, busy: int = 2) -> None:
        self.base, self.window, self.config, self.busy = base, window, config, busy
        self.memory = np.zeros(base + window, np.uint8)
        self.registers = dict.fromkeys(Register, 0) | {Register.IDENTITY: IDENTITY}
        self.written: list[tuple[int, int]] = []
        self.counters = dict.fromkeys(Counter, 0)
        self.status: int | None = None
        self.looks = self.waits = self.high = 0
        kinds = dict(Platform._fields_)
        functions = {"read_register": self._read, "write_register": self._write, "write_memory": self._put,
                     "read_memory": self._get}
        self.platform = Platform(window_base=base, window_bytes=window, sizes=SIZES(*config.parameters.values()),
                                 **{name: kinds[name](function) for name, function in functions.items()})

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
            Machine(self.memory, self.config, window).run(self.registers[Register.PROGRAM_BASE])
        except MachineError as error:
            self.registers |= {Register.STATUS: Status.ERROR, Register.ERROR_CODE: error.code,
                               Register.ERROR_ADDRESS: error.address}

    def _put(self, _context: int, offset: int, source: object, count: int) -> None:
        assert offset + count <= self.window, "beyond the window"
        self.memory[self.base + offset :][:count] = np.ctypeslib.as_array(source, (count,))

    def _get(self, _context: int, offset: int, target: object, count: int) -> None:
        assert offset + count <= self.window, "beyond the window"
        np.ctypeslib.as_array(target, (count,))[:] = self.memory[self.base + offset :][:count]
