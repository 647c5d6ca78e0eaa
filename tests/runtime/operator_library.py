# SPDX-License-Identifier: Apache-2.0
"""The operator library in C as a library of this process: its structures, and a handle on any platform."""

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.operators.requests import read_request
from eyrie.runtime.programs import compiled_operator
from eyrie.runtime.soc.c_programs import PROGRAMS, includes
from eyrie.runtime.soc.driver import RESULTS, U32, Network, Platform, described, typed
from eyrie.runtime.soc.library import DRIVER, OPERATORS, WARNINGS

FUNCTIONS = "NONE RELU RELU6 RELU_N1_TO_1 LEAKY_RELU LOGISTIC TANH HARD_SWISH ELU EXP".split()
NO_BIAS = 2**32 - 1
LIMITS = {"EYRIE_MOST_ALLOCATIONS": 24, "EYRIE_MOST_OPERATIONS": 4, "EYRIE_LOOKS": 50}  # reached soon
KINDS = "tensor", "filter", "convolution", "pooling", "activation", "normalization", "lstm"
SHIM = """#include "eyrie.h"
size_t size_of_handle(void);
struct eyrie_stream *stream_of(struct eyrie_handle *handle);
size_t size_of_handle(void) { return sizeof(struct eyrie_handle); }
struct eyrie_stream *stream_of(struct eyrie_handle *handle) { return &handle->stream; }
enum eyrie_result eyrie_create(struct eyrie_handle *, const struct eyrie_platform *, const struct eyrie_programs *);
enum eyrie_result eyrie_create(struct eyrie_handle *handle, const struct eyrie_platform *platform,
                               const struct eyrie_programs *programs) {
  return eyrie_create_handle(handle, platform, programs);
}
"""
Pointer = ctypes.c_void_p


class TensorSetting(ctypes.Structure):
    _fields_ = [*((name, U32) for name in "nhwc"), ("scale", ctypes.c_float), ("zero_point", ctypes.c_int32)]


class FilterSetting(ctypes.Structure):
    _fields_ = [*((name, U32) for name in "mrsc"), ("scales", ctypes.POINTER(ctypes.c_float)), ("scale_count", U32)]


class ConvolutionSetting(ctypes.Structure):
    _fields_ = [("stride", U32 * 2), ("dilation", U32 * 2), ("pads", U32 * 4), ("groups", U32), ("fused", ctypes.c_int)]


class PoolingSetting(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("kernel", U32 * 2), ("stride", U32 * 2), ("pads", U32 * 4)]


class ActivationSetting(ctypes.Structure):
    _fields_ = [("function", ctypes.c_int), ("alpha", ctypes.c_float)]


class NormalizationSetting(ctypes.Structure):
    _fields_ = [("radius", U32), *((name, ctypes.c_float) for name in ("alpha", "beta", "k"))]


class LstmSetting(ctypes.Structure):
    _fields_ = [("scale", ctypes.c_float), ("zero_point", ctypes.c_int32)]


STRUCTURES = (
    TensorSetting,
    FilterSetting,
    ConvolutionSetting,
    PoolingSetting,
    ActivationSetting,
    NormalizationSetting,
    LstmSetting,
)
SETTINGS = dict(zip(KINDS, STRUCTURES, strict=True))


class Descriptor(ctypes.Structure):
    """Of any kind: as large as the largest."""

    _fields_ = [("state", ctypes.c_uint64), ("setting", ctypes.c_uint8 * 64)]


class Tensor(ctypes.Structure):
    """Or filters: a descriptor and a place."""

    _fields_ = [("descriptor", ctypes.POINTER(Descriptor)), ("place", U32)]


class Stream(ctypes.Structure):
    _fields_ = [
        ("handle", Pointer),
        ("next", Pointer),
        ("waiting", U32),
        ("failure", ctypes.c_int),
        ("failure_text", Pointer),
        ("failure_bytes", U32),
        ("running_cycles", ctypes.c_uint64),
        ("cycles", ctypes.c_uint64),
    ]


class Program(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("network", ctypes.POINTER(Network)), ("image", Pointer)]


class Request(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_char_p),
        ("platform", ctypes.POINTER(Platform)),
        ("scales", ctypes.POINTER(ctypes.c_float)),
        ("scale_count", U32),
        ("filters", U32),
        ("filter_bytes", U32),
        ("bias", U32),
        ("bias_bytes", U32),
        ("message", ctypes.POINTER(ctypes.c_char)),
    ]


COMPILE = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(Request), ctypes.POINTER(ctypes.POINTER(Program)))


class Programs(ctypes.Structure):
    _fields_ = [("table", ctypes.POINTER(Program)), ("count", U32), ("compile", COMPILE), ("context", Pointer)]


def build(folder: Path) -> ctypes.CDLL:
    """The library with the driver, a simulated SoC's programs, and small limits; what C leaves undefined ends the
    process."""
    folder.mkdir(exist_ok=True)
    (folder / "shim.c").write_text(SHIM)
    path = folder / "operators.so"
    subprocess.run(
        [
            "cc",
            "-std=c99",
            *WARNINGS,
            "-fsanitize=undefined",
            "-fno-sanitize-recover=undefined",
            "-shared",
            "-fPIC",
            *(f"-D{name}={value}u" for name, value in LIMITS.items()),
            *includes(),
            folder / "shim.c",
            PROGRAMS,
            *DRIVER.glob("*.c"),
            *OPERATORS.glob("*.c"),
            "-o",
            path,
        ],
        check=True,
    )
    found = typed(ctypes.CDLL(str(path)))
    found.size_of_handle.restype, found.stream_of.restype = ctypes.c_size_t, ctypes.POINTER(Stream)
    found.eyrie_get_message.restype = ctypes.c_char_p
    found.eyrie_linked_programs.restype = ctypes.POINTER(Programs)
    found.eyrie_softmax.argtypes = [Pointer, ctypes.c_float, Pointer, Pointer]
    return found


class Compiler:
    """Gives a library its programs, each once.

    asked: the keys of those that it made; images: theirs, by key
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._programs, self._kept = folder, {}, []
        self.asked: list[str] = []
        self.images: dict[bytes, Image] = {}
        self.programs = Programs(None, 0, COMPILE(self._compile), None)

    def _compile(self, _context: int, request: object, program: object) -> int:
        """As struct eyrie_programs says."""
        asked = request.contents
        if asked.key not in self._programs:
            self.asked.append(asked.key.decode())
            (self._folder / "asked.request").write_bytes(asked.key + b"\n" + _constants(asked))
            try:
                found = read_request(self._folder / "asked.request")
                image = Image.load(compiled_operator(found.graph, found.name, found.config))
            except ValueError as error:
                said = str(error).encode()[:1023] + b"\0"
                ctypes.memmove(asked.message, said, len(said))
                return RESULTS.index("NOT_SUPPORTED")
            self.images[asked.key], self._programs[asked.key] = image, self.program(asked.key, image)
        program[0] = ctypes.pointer(self._programs[asked.key])
        return RESULTS.index("OK")

    def program(self, key: bytes, image: Image) -> Program:
        network = described(image)
        self._kept.append((network, image))
        return Program(key, ctypes.pointer(network), image.dram.ctypes.data)


def _constants(asked: Request) -> bytes:
    platform, parts = asked.platform.contents, [ctypes.string_at(asked.scales, 4 * asked.scale_count)]
    for place, size in ((asked.filters, asked.filter_bytes), (asked.bias, asked.bias_bytes)):
        buffer = (ctypes.c_uint8 * max(size, 1))()
        if size:
            platform.read_memory(platform.context, place, buffer, size)
        parts.append(bytes(buffer)[:size])
    return b"".join(parts)


class Handle:
    """A handle of the library; `call` gives the result's name."""

    def __init__(self, library: ctypes.CDLL, platform: Platform, programs: Programs | None) -> None:
        self.library, self.programs, self._kept = library, programs, []
        self.memory = ctypes.create_string_buffer(library.size_of_handle())
        self.opened = self.call("create", self.memory, ctypes.byref(platform), programs and ctypes.byref(programs))
        self.stream = library.stream_of(self.memory)

    def call(self, name: str, *arguments: object) -> str:
        return RESULTS[getattr(self.library, f"eyrie_{name}")(*arguments)]

    @property
    def message(self) -> str:
        return self.library.eyrie_get_message(self.memory).decode()

    def descriptor(self, kind: str, *values: object) -> Descriptor:
        made, setting = Descriptor(), self.setting(kind, *values)
        assert self.call(f"create_{kind}_descriptor", ctypes.byref(made)) == "OK"
        assert self.call(f"set_{kind}_descriptor", ctypes.byref(made), ctypes.byref(setting)) == "OK"
        return made

    def setting(self, kind: str, *values: object) -> ctypes.Structure:
        made = SETTINGS[kind](*(tuple(value) if isinstance(value, Sequence) else value for value in values))
        self._kept.append(values)
        return made

    def malloc(self, size: int) -> int:
        place = U32()
        assert self.call("malloc", self.memory, U32(size), ctypes.byref(place)) == "OK", self.message
        return place.value

    def tensor(self, shape: Sequence[int], scale: float, zero_point: int = 0) -> Tensor:
        """With room for it."""
        descriptor, size = self.descriptor("tensor", *shape, scale, zero_point), U32()
        assert self.call("get_tensor_bytes", ctypes.byref(descriptor), ctypes.byref(size)) == "OK"
        return Tensor(ctypes.pointer(descriptor), self.malloc(size.value))

    def put(self, values: np.ndarray, scale: float, zero_point: int = 0) -> Tensor:
        made = self.tensor(values.shape, scale, zero_point)
        assert self.copy("to", "tensor", made, values) == "OK"
        return made

    def get(self, tensor: Tensor, shape: Sequence[int]) -> np.ndarray:
        values = np.zeros(tuple(shape), np.int8)
        assert self.copy("from", "tensor", tensor, values) == "OK", self.message
        return values

    def filters(self, values: np.ndarray, scales: np.ndarray) -> Tensor:
        of = (ctypes.c_float * len(scales))(*scales)
        self._kept.append(of)
        descriptor = self.descriptor("filter", *values.shape, of, len(scales))
        made = Tensor(ctypes.pointer(descriptor), self.malloc(values.size))
        assert self.copy("to", "filter", made, values) == "OK"
        return made

    def bias(self, values: np.ndarray) -> int:
        place = self.malloc(values.nbytes)
        assert (
            self.call(
                "copy_to_bias", self.memory, U32(place), Pointer(values.ctypes.data), ctypes.c_size_t(values.size)
            )
            == "OK"
        )
        return place

    def copy(self, way: str, kind: str, what: Tensor, values: np.ndarray) -> str:
        return self.call(
            f"copy_{way}_{kind}",
            self.memory,
            ctypes.byref(what),
            Pointer(values.ctypes.data),
            ctypes.c_size_t(values.size),
        )

    def synchronize(self) -> str:
        return self.call("synchronize", self.memory)
