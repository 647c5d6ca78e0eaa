# SPDX-License-Identifier: Apache-2.0
"""The C driver (runtime/c/driver) in Python: its structures, and a device on a simulated SoC."""

import ctypes
import os
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from eyrie.compiler.cost.predict import DRAM_BYTES
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import DramMap
from eyrie.compiler.ir.network_header import patch_numbers
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import Counter
from eyrie.runtime.soc.library import soc_library

TRACED_PASSES = 8192  # PASSES of soc.sv
RESULTS = (
    "OK BAD_ARGUMENT BAD_PLATFORM NO_ACCELERATOR BAD_NETWORK OTHER_CONFIGURATION OTHER_IMAGE NO_ROOM BAD_SIZE "
    "NOT_LOADED NOT_STARTED BUSY ACCELERATOR_ERROR TIMEOUT BUS_WAITS BAD_DESCRIPTOR BAD_POINTER NO_MEMORY "
    "NOT_SUPPORTED NOT_COMPILED CLOSED OTHER_LIBRARY"
).split()
U32, SIZES = ctypes.c_uint32, ctypes.c_uint32 * len(DEFAULT.parameters)
BYTES = ctypes.POINTER(ctypes.c_uint8)
_WINDOW_STEP = 64  # bytes
_RESET_LOOKS = 1_000_000


class Platform(ctypes.Structure):
    _fields_ = [
        ("context", ctypes.c_void_p),
        ("read_register", ctypes.CFUNCTYPE(U32, ctypes.c_void_p, U32)),
        ("write_register", ctypes.CFUNCTYPE(None, ctypes.c_void_p, U32, U32)),
        ("write_memory", ctypes.CFUNCTYPE(None, ctypes.c_void_p, U32, BYTES, U32)),
        ("read_memory", ctypes.CFUNCTYPE(None, ctypes.c_void_p, U32, BYTES, U32)),
        ("wait", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("window_base", U32),
        ("window_bytes", U32),
        ("sizes", SIZES),
    ]


class Patches(ctypes.Structure):
    _fields_ = [(name, U32) for name in ("rows", "cols", "height", "width", "row_step", "column_step", "top", "left")]


class Table(ctypes.Structure):
    _fields_ = [("values", ctypes.c_int8 * 256), ("zero_point", ctypes.c_int32)]


class Map(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        *((name, U32) for name in ("address", "height", "width", "channels", "groups", "pitch")),
        ("packed", ctypes.c_bool),
        ("scale", ctypes.c_float),
        ("zero_point", ctypes.c_int32),
        ("patches", Patches),
        ("table", ctypes.POINTER(Table)),
    ]


class Network(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ("bytes", "crc", "program", "program_bytes", "images")),
        ("sizes", SIZES),
        ("input_count", U32),
        ("output_count", U32),
        ("inputs", ctypes.POINTER(Map)),
        ("outputs", ctypes.POINTER(Map)),
    ]


class Placement(ctypes.Structure):
    _fields_ = [("offset", U32), ("inputs", ctypes.POINTER(U32)), ("outputs", ctypes.POINTER(U32))]


class Device(ctypes.Structure):
    _fields_ = [
        ("platform", Platform),
        ("network", ctypes.POINTER(Network)),
        ("placement", Placement),
        ("watchdog", U32),
        ("interrupt", ctypes.c_bool),
        ("started", ctypes.c_bool),
    ]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("address", U32), ("place", U32)]


class View(ctypes.Structure):
    """The structure soc_view of the C interface."""

    _fields_ = [("soc", ctypes.c_void_p), ("window_base", U32)]


class DeviceError(RuntimeError):
    """The driver rejects a call, or the accelerator stopped. The message is one line."""


def typed(library: ctypes.CDLL) -> ctypes.CDLL:
    """Declare the types of the driver's functions in a library; return the library."""
    for name in ("eyrie_result_text", "eyrie_error_text", "eyrie_counter_name"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("eyrie_put_input", "eyrie_get_output"):
        getattr(library, name).argtypes = [ctypes.c_void_p, U32, U32, ctypes.c_void_p, ctypes.c_size_t]
    library.eyrie_load.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return library


@cache
def functions(path: Path) -> ctypes.CDLL:
    """Load the library of a simulated SoC with the driver."""
    found = typed(ctypes.CDLL(str(path)))
    pointer, number = ctypes.c_void_p, ctypes.c_uint64
    for name, result, *arguments in (
        ("open", pointer, U32, ctypes.c_uint16, ctypes.c_uint8, number, ctypes.c_char_p),
        ("close", None, pointer),
        ("memory", pointer, pointer),
        ("trace", number, pointer, ctypes.c_uint16, ctypes.c_uint8),
        ("cycles", number, pointer),
        ("platform", None, ctypes.POINTER(View), U32, ctypes.c_bool, ctypes.POINTER(Platform)),
    ):
        function = getattr(found, f"soc_{name}")
        function.restype, function.argtypes = result, arguments
    return found


def described(image: Image) -> Network:
    """Return the structure of a compiled network, with the contents of network.h."""
    ends = []
    for maps in (image.inputs, image.outputs):
        ends.append((Map * len(maps))(*(_map(name, map_) for name, map_ in maps.items())))
    return Network(
        image.dram.nbytes,
        zlib.crc32(image.dram.tobytes()),
        image.program.address,
        image.program.bytes,
        image.images,
        SIZES(*image.config.parameters.values()),
        len(ends[0]),
        len(ends[1]),
        *ends,
    )


def _map(name: str, map_: DramMap) -> Map:
    layout, table = map_.layout, None
    if map_.table:
        values = (ctypes.c_int8 * 256)(*map_.table.values)
        table = ctypes.pointer(Table(values, map_.table.zero_point))
    return Map(
        name.encode(),
        map_.address,
        *map_.laid,
        layout.groups,
        layout.pitch,
        layout.packed,
        map_.scale,
        map_.zero_point,
        Patches(*patch_numbers(map_.patches)),
        table,
    )


class Soc:
    """A simulated SoC with a device on it, until it is closed. Only one thread may use it at a time.

    Creating one raises BuildError or SourceError if its library cannot be built; every method raises DeviceError.
    """

    def __init__(
        self, config: AcceleratorConfig, window: int = DRAM_BYTES, seed: int = 1, events: Path | None = None
    ) -> None:
        """Open a simulated SoC with at least `window` bytes of DRAM from address 0 on.

        events: file for the events of the first run, complete after `close` (event_recorder.sv)
        """
        self.config, self._library = config, functions(soc_library(config))
        self.window = -(-max(window, DRAM_BYTES) // _WINDOW_STEP) * _WINDOW_STEP
        dram = config.dram_latency, config.dram_interval
        self._view = View(self._library.soc_open(seed, *dram, self.window, events and os.fsencode(events)), 0)
        platform, self._device = Platform(), Device()
        self._library.soc_platform(self._view, self.window, True, platform)
        self._call("open", ctypes.byref(platform))

    def __enter__(self) -> "Soc":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the SoC. A second call has no effect."""
        self._library.soc_close(self._view.soc)
        self._view.soc = None

    @property
    def memory(self) -> np.ndarray:
        """Return the window of the DRAM as uint8. It is shared with the simulated SoC: do not use it after `close`."""
        place = self._library.soc_memory(self._view.soc)
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.window).from_address(place))

    @property
    def cycles(self) -> int:
        """Return the cycles since the reset."""
        return self._library.soc_cycles(self._view.soc)

    def load(self, image: Image) -> None:
        """Load an image into the window, from its first byte on."""
        self._network = described(image)
        self._call("load", ctypes.byref(self._network), image.dram.ctypes.data, image.dram.size)

    def place(self, image: Image, offset: int, inputs: Sequence[int], outputs: Sequence[int]) -> Network:
        """Load an image at byte `offset` of the window; `inputs` and `outputs` are the offsets of its feature maps.

        Return the argument for `bind`.
        """
        self._placed_at(offset, inputs, outputs)
        self._network = described(image)
        self._call(
            "place",
            ctypes.byref(self._network),
            ctypes.c_void_p(image.dram.ctypes.data),
            ctypes.c_size_t(image.dram.size),
            ctypes.byref(self._placement),
        )
        return self._network

    def bind(self, network: Network, image: Image, offset: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Select a network that `place` has loaded at that offset; its feature maps may have other offsets."""
        self._placed_at(offset, inputs, outputs)
        self._network = network
        self._call(
            "bind", ctypes.byref(network), ctypes.c_void_p(image.dram.ctypes.data), ctypes.byref(self._placement)
        )

    def _placed_at(self, offset: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self._ends = (U32 * len(inputs))(*inputs), (U32 * len(outputs))(*outputs)
        self._placement = Placement(offset, *self._ends)

    def put(self, number: int, image: int, values: np.ndarray) -> None:
        """Write an input of an image of the run, int8 [H, W, C]."""
        values = np.ascontiguousarray(values)
        self._call("put_input", number, image, values.ctypes.data, values.size)

    def get(self, number: int, image: int, shape: tuple[int, ...]) -> np.ndarray:
        values = np.empty(shape, np.int8)
        self._call("get_output", number, image, values.ctypes.data, values.size)
        return values

    def reset(self) -> None:
        """Stop the run."""
        self._call("reset", _RESET_LOOKS)

    def start(self) -> None:
        self._call("start")

    def wait(self) -> bool:
        """Run the clock for a while; return whether the run has ended."""
        return self._call("wait", 1, more=("TIMEOUT",)) == "OK"

    def counter(self, counter: Counter) -> int:
        value = ctypes.c_uint64()
        self._call("get_counter", int(counter), ctypes.byref(value))
        return value.value

    def counters(self) -> dict[str, int]:
        """Return the counters of the last run."""
        values = (ctypes.c_uint64 * len(Counter))()
        self._call("get_counters", values)
        return {counter.name: values[counter] for counter in Counter}

    def passes(self, count: int) -> list[dict[str, int]]:
        """Return the trace of the last run, which has `count` passes.

        At the end of each pass: the counters, the signature of the ofmap, and the sum of the PEs' cycles.
        """
        names = [*(counter.name for counter in Counter), "signature", "pe_cycles"]
        return [
            {name: self._library.soc_trace(self._view.soc, number, select) for select, name in enumerate(names)}
            for number in range(count)
        ]

    def _call(self, name: str, *arguments: object, more: tuple[str, ...] = ()) -> str:
        """Call a function; return the name of its result: OK or one of `more`. Raise DeviceError for any other."""
        number = getattr(self._library, f"eyrie_{name}")(ctypes.byref(self._device), *arguments)
        if number and RESULTS[number] not in more:
            raise DeviceError(self._reason(number))
        return RESULTS[number]

    def _reason(self, number: int) -> str:
        said, error = self._library.eyrie_result_text(number).decode(), Error()
        if RESULTS[number] != "ACCELERATOR_ERROR" or self._library.eyrie_get_error(
            ctypes.byref(self._device), ctypes.byref(error)
        ):
            return said
        return f"{said}: {self._library.eyrie_error_text(error.code).decode()}, command at word {error.place}"
