# SPDX-License-Identifier: Apache-2.0
"""The C driver by itself: how maps lie, what it rejects, waits, errors and counters; test_driver_on_rtl.py runs it on
the RTL."""

import ctypes
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.network_header import header_text
from eyrie.compiler.ir.program import assemble, disassemble
from eyrie.model.config import DEFAULT
from eyrie.model.encoding import Counter, ErrorCode, Opcode, Register
from eyrie.model.status import ERROR_TEXTS, Control, Status
from eyrie.runtime.folders import ROOT
from eyrie.runtime.soc.c_programs import EXAMPLES, includes
from eyrie.runtime.soc.driver import RESULTS, Device, Error, Map, Network, Platform
from eyrie.runtime.soc.library import DRIVER, SOC, WARNINGS
from tb.net.programs import move
from tb.sim.driven_runs import SIMULATION
from tests.runtime.driven_networks import Driven, every_layout
from tests.runtime.driver_library import Modelled, build

LOOKS, BASE = 10, 3 << 16


class Driver:
    """The driver with a device on a modelled accelerator; `call` returns the result's name."""

    def __init__(self, library: ctypes.CDLL, modelled: Modelled) -> None:
        self.library, self.modelled, self.device = library, modelled, Device()

    def call(self, name: str, *arguments: object) -> str:
        return RESULTS[getattr(self.library, f"eyrie_{name}")(ctypes.byref(self.device), *arguments)]

    def open(self) -> str:
        return self.call("open", ctypes.byref(self.modelled.platform))

    def load(self, network: Network, image: np.ndarray) -> str:
        self.image = np.ascontiguousarray(image)
        return self.call("load", ctypes.byref(network), self.image.ctypes.data, self.image.size)

    def put(self, number: int, image: int, values: np.ndarray) -> str:
        values = np.ascontiguousarray(values)
        return self.call("put_input", number, image, values.ctypes.data, values.size)

    def get(self, number: int, image: int, shape: list[int]) -> np.ndarray:
        values = np.zeros(shape, np.int8)
        assert self.call("get_output", number, image, values.ctypes.data, values.size) == "OK"
        return values


@pytest.fixture(scope="module")
def networks(seed: int) -> list[Driven]:
    return every_layout(np.random.default_rng(seed))


@pytest.fixture(scope="module")
def small(networks: list[Driven]) -> Driven:
    """One for one image, with one input and one output."""
    return networks[0]


def moved(image: Image, memory: np.ndarray) -> np.ndarray:
    """A memory whose command list is for an image at BASE."""
    place = image.program
    words = memory[place.address :][: place.bytes]
    words[:] = assemble(move(disassemble(words.view(np.uint64)), BASE)).view(np.uint8)
    return memory


def test_networks(networks: list[Driven], seed: int, tmp_path: Path) -> None:
    """The memory is what the compiler's image with these inputs is at the window's place, and the outputs of a second
    run, with other inputs, come back in C order."""
    for number, driven in enumerate(networks):
        image, outputs = driven.image, driven.outputs
        image.save(tmp_path / str(number), "")
        library = build(tmp_path / f"{number}.build", tmp_path / str(number))
        network = library.the_network().contents
        driver = Driver(library, Modelled(BASE, image.dram.size))
        assert (driver.open(), driver.load(network, image.dram)) == ("OK", "OK")
        before = driven.with_inputs(np.random.default_rng(seed)).inputs
        for values in (before, driven.inputs):
            for n, (name, place) in enumerate(image.inputs.items()):
                for i, each in enumerate(values[name].reshape(-1, *place.shape)):
                    assert driver.put(n, i, each) == "OK"
            if values is before:
                np.testing.assert_array_equal(driver.modelled.memory[BASE:], moved(image, image.with_inputs(values)))
            assert driver.call("run", LOOKS) == "OK"
        for n, (name, place) in enumerate(image.outputs.items()):
            got = np.stack([driver.get(n, i, place.shape) for i in range(image.images)])
            np.testing.assert_array_equal(got.reshape(outputs[name].shape), outputs[name])
            assert network.outputs[n].name.decode() == name


@pytest.fixture(scope="module")
def library(small: Driven, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """With the network `small`."""
    folder = tmp_path_factory.mktemp("driver")
    small.image.save(folder / "net", "")
    return build(folder, folder / "net")


@pytest.fixture
def driver(library: ctypes.CDLL, small: Driven) -> Driver:
    """Open."""
    found = Driver(library, Modelled(BASE, small.image.dram.size))
    assert found.open() == "OK"
    return found


def network_of(library: ctypes.CDLL, **changed: object) -> Network:
    """A copy of the network's description, with fields that are changed."""
    network = Network.from_buffer_copy(library.the_network().contents)
    for name, value in changed.items():
        setattr(network, name, value)
    return network


def map_of(library: ctypes.CDLL, **changed: object) -> ctypes.Array:
    """The input's description as well."""
    map_ = Map.from_buffer_copy(library.the_network().contents.inputs[0])
    for name, value in changed.items():
        setattr(map_, name, value)
    return (Map * 1)(map_)


def test_order_of_calls(driver: Driver, small: Driven) -> None:
    """What comes too early, or while a run goes on, is rejected and changes nothing."""
    network, [golden], [values] = driver.library.the_network().contents, small.outputs.values(), small.inputs.values()
    output = np.zeros(golden.shape, np.int8)
    get = ("get_output", 0, 0, output.ctypes.data, output.size)
    assert [driver.call("start"), driver.put(0, 0, values), driver.call(*get)] == 3 * ["NOT_LOADED"]
    assert [
        driver.load(network, small.image.dram),
        driver.call("poll"),
        driver.call("wait", LOOKS),
        driver.call(*get),
    ] == ["OK", *3 * ["NOT_STARTED"]]
    assert driver.put(0, 0, values) == "OK"
    driver.modelled.busy = 2 * LOOKS
    assert [driver.call("run", LOOKS), driver.call("poll"), driver.call("start")] == ["TIMEOUT", "BUSY", "BUSY"]
    before, driver.modelled.looks = driver.modelled.memory.copy(), 100
    assert [driver.load(network, small.image.dram), driver.put(0, 0, ~values), driver.call(*get)] == 3 * ["BUSY"]
    assert np.array_equal(driver.modelled.memory, before)
    assert driver.call("wait", 100) == "OK"
    assert driver.modelled.written[-1] == (Register.CONTROL, Control.CLEAR_INTERRUPT)
    np.testing.assert_array_equal(driver.get(0, 0, golden.shape), golden)
    assert [driver.call("reset", 100), driver.call(*get), driver.call("run", 100), driver.call(*get)] == [
        "OK",
        "NOT_STARTED",
        "OK",
        "OK",
    ]
    assert [driver.load(network, small.image.dram), driver.call(*get)] == ["OK", "NOT_STARTED"]
    driver.modelled.status = Status.ERROR
    assert [driver.call("start"), driver.call("poll")] == ["ACCELERATOR_ERROR", "NOT_STARTED"]


def test_bad_arguments(driver: Driver, small: Driven) -> None:
    """NULL for each pointer, and numbers that mean nothing; nothing of the device or the memory changes."""
    network, [values] = driver.library.the_network().contents, small.inputs.values()
    assert driver.load(network, small.image.dram) == "OK"
    data, size, image = values.ctypes.data, values.size, driver.image
    before = bytes(driver.device), driver.modelled.memory.copy()
    calls = [
        ("load", None, image.ctypes.data, image.size),
        ("load", ctypes.byref(network), None, image.size),
        ("put_input", 0, 0, None, size),
        ("get_output", 0, 0, None, size),
        ("put_input", 1, 0, data, size),
        ("put_input", 0, 1, data, size),
        ("get_output", 1, 0, data, size),
        ("get_output", 0, 1, data, size),
        ("get_error", None),
        ("get_counter", 0, None),
        ("get_counter", len(Counter), ctypes.byref(ctypes.c_uint64())),
        ("get_counter", -1, ctypes.byref(ctypes.c_uint64())),
        ("get_counters", None),
    ]
    assert [driver.call(*call) for call in calls] == len(calls) * ["BAD_ARGUMENT"]
    assert [driver.call("put_input", 0, 0, data, count) for count in (0, size - 1, size + 1)] == 3 * ["BAD_SIZE"]
    assert bytes(driver.device) == before[0] and np.array_equal(driver.modelled.memory, before[1])
    others = [
        ("open", None),
        ("load", ctypes.byref(network), image.ctypes.data, image.size),
        ("start",),
        ("poll",),
        ("wait", 1),
        ("run", 1),
        ("reset", 1),
        ("put_input", 0, 0, data, size),
        ("get_output", 0, 0, data, size),
        ("get_error", ctypes.byref(Error())),
        ("get_counter", 0, ctypes.byref(ctypes.c_uint64())),
        ("get_counters", ctypes.byref((ctypes.c_uint64 * len(Counter))())),
        ("set_watchdog", 1),
        ("enable_interrupt", True),
        ("acknowledge",),
    ]
    for device in (None, ctypes.byref(Device())):  # there is none, or it is not open
        functions = [getattr(driver.library, f"eyrie_{name}") for name, *_ in others]
        got = [RESULTS[function(device, *rest)] for function, (_, *rest) in zip(functions, others, strict=True)]
        assert got == len(others) * ["BAD_ARGUMENT"]


@pytest.mark.parametrize(
    "change",
    [
        {"read_register": None},
        {"write_register": None},
        {"write_memory": None},
        {"read_memory": None},
        {"window_bytes": 0},
        {"window_bytes": 32},
        {"window_base": 8},
        {"window_base": 2**32 - 64},
    ],
)
def test_bad_platforms(driver: Driver, change: dict) -> None:
    kinds = dict(Platform._fields_)
    for name, value in change.items():
        setattr(driver.modelled.platform, name, kinds[name]() if value is None else value)
    assert [driver.open(), driver.call("start")] == ["BAD_PLATFORM", "BAD_ARGUMENT"]


def test_opening(driver: Driver) -> None:
    """An accelerator is there; one that is not idle is reset, and one that stays busy, or whose memory does not answer,
    is not opened."""
    assert not driver.modelled.written
    driver.modelled.registers[Register.STATUS] = Status.ERROR | Status.INTERRUPT
    assert driver.open() == "OK" and driver.modelled.written == [(Register.CONTROL, Control.SOFT_RESET)]
    for status, result in ((Status.BUSY, "TIMEOUT"), (Status.BUSY | Status.BUS_WAITS, "BUS_WAITS")):
        driver.modelled.status = status
        assert driver.call("reset", LOOKS) == result
    driver.modelled.registers[Register.IDENTITY] ^= 1
    assert [driver.open(), driver.call("start")] == ["NO_ACCELERATOR", "BAD_ARGUMENT"]


NETWORKS: dict[str, dict[str, object]] = {
    "no images": {"images": 0},
    "many images": {"images": 2**32 - 1},
    "no inputs": {"input_count": 0},
    "no outputs": {"output_count": 0},
    "null inputs": {"inputs": ctypes.POINTER(Map)()},
    "program outside": {"program": 2**32 - 8},
    "program too long": {"program_bytes": 2**32 - 8},
    "program at half a word": {"program": 4},
    "bytes": {"bytes": 1001},
}
MAPS: dict[str, dict[str, int]] = {
    "no rows": {"height": 0},
    "no columns": {"width": 0},
    "no channels": {"channels": 0},
    "no groups": {"groups": 0},
    "no pitch": {"pitch": 0},
    "a wide row": {"width": 2**32 - 1},
    "many channels": {"channels": 2**32 - 1},
    "many rows": {"height": 2**32 - 1},
    "a long pitch": {"pitch": 2**31},
    "outside": {"address": 2**32 - 8},
    "at half a word": {"address": 4},
    "five packed channels": {"packed": True, "channels": 5},
    "a row of plain words": {"packed": False, "height": 1, "width": 6, "channels": 8, "pitch": 4},
}


@pytest.mark.parametrize("change", NETWORKS.values(), ids=NETWORKS)
def test_bad_networks(driver: Driver, small: Driven, change: dict) -> None:
    assert driver.load(network_of(driver.library, **change), small.image.dram) == "BAD_NETWORK"


@pytest.mark.parametrize("change", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("end", ["inputs", "outputs"])
def test_bad_maps(driver: Driver, small: Driven, end: str, change: dict) -> None:
    wrong = map_of(driver.library, **change)
    assert driver.load(network_of(driver.library, **{end: wrong}), small.image.dram) == "BAD_NETWORK"


def test_other_networks(driver: Driver, small: Driven) -> None:
    """Of another configuration, too large, another image: nothing is written, and what is loaded stays."""
    network, image = network_of(driver.library), small.image.dram
    assert driver.load(network, image) == "OK"
    loaded = driver.modelled.memory.copy()
    other = network_of(driver.library)
    other.sizes[1] += 1
    assert driver.load(other, image) == "OTHER_CONFIGURATION"
    changed = image.copy()
    changed[len(image) // 2] ^= 1
    assert [driver.load(network, changed), driver.load(network, image[:-8])] == 2 * ["OTHER_IMAGE"]
    assert np.array_equal(driver.modelled.memory, loaded) and driver.call("run", LOOKS) == "OK"
    driver.modelled.platform.window_bytes -= 64
    assert [driver.open(), driver.load(network, image)] == ["OK", "NO_ROOM"]


LISTS: dict[str, Callable[[np.ndarray], object]] = {
    "no command": lambda words: words.__setitem__(0, 0),
    "no end": lambda words: words.__setitem__(words == Opcode.END, Opcode.PASS),
    "an address outside": lambda words: words.__setitem__(slice(2), [Opcode.LOAD, 0xFFFF_FFF8]),
    "words behind the list": lambda words: words.__setitem__(words == Opcode.END, Opcode.CONFIG | 1 << 12),
}


@pytest.mark.parametrize("change", LISTS.values(), ids=LISTS)
def test_bad_lists(driver: Driver, small: Driven, change: Callable) -> None:
    place, image = small.image.program, small.image.dram.copy()
    change(image[place.address :][: place.bytes].view(np.uint64))
    network = network_of(driver.library, crc=zlib.crc32(image.tobytes()))
    assert driver.load(network, image) == "BAD_NETWORK" and not driver.modelled.memory.any()


def test_settings(driver: Driver, small: Driven) -> None:
    """What a start writes; the interrupt is on where the platform waits for it."""
    assert driver.load(driver.library.the_network().contents, small.image.dram) == "OK"
    assert [driver.call("set_watchdog", 77), driver.call("run", LOOKS)] == ["OK", "OK"]
    expected = {
        Register.WINDOW_BASE: BASE,
        Register.WINDOW_LIMIT: BASE + driver.modelled.window,
        Register.PROGRAM_BASE: BASE + small.image.program.address,
        Register.WATCHDOG_LIMIT: 77,
        Register.INTERRUPT_ENABLE: 0,
    }
    *settings, clear, start, acknowledge = driver.modelled.written
    assert dict(settings) == expected
    assert [clear, start, acknowledge] == [
        (Register.CONTROL, bits) for bits in (Control.CLEAR_INTERRUPT, Control.START, Control.CLEAR_INTERRUPT)
    ]
    waits = []
    driver.modelled.platform.wait = dict(Platform._fields_)["wait"](lambda _: waits.append(1))
    assert [
        driver.open(),
        driver.load(driver.library.the_network().contents, small.image.dram),
        driver.call("run", LOOKS),
    ] == 3 * ["OK"]
    assert driver.modelled.registers[Register.INTERRUPT_ENABLE] == 1 and len(waits) == driver.modelled.busy + 1
    assert driver.call("enable_interrupt", False) == "OK" and driver.modelled.registers[Register.INTERRUPT_ENABLE] == 0
    assert driver.call("run", LOOKS) == "OK" and len(waits) == driver.modelled.busy + 1


def test_errors_and_texts(driver: Driver, small: Driven) -> None:
    library, modelled, error = driver.library, driver.modelled, Error()
    assert driver.load(library.the_network().contents, small.image.dram) == "OK"
    list_, size = BASE + small.image.program.address, small.image.program.bytes
    for code in ErrorCode:
        for at, place in ((list_, 0), (list_ + 24, 3), (list_ + size, 2**32 - 1), (list_ - 8, 2**32 - 1)):
            modelled.registers |= {Register.ERROR_CODE: code, Register.ERROR_ADDRESS: at}
            assert driver.call("get_error", ctypes.byref(error)) == "OK"
            assert (error.code, error.address, error.place) == (code, at, place if code else 2**32 - 1)
        assert library.eyrie_error_text(code).decode() == ERROR_TEXTS[code]
    modelled.registers[Register.ERROR_CODE] = len(ErrorCode)
    assert driver.call("get_error", ctypes.byref(error)) == "NO_ACCELERATOR"
    texts = [library.eyrie_result_text(n).decode() for n in range(len(RESULTS))]
    assert len({*texts, "unknown"}) == len(RESULTS) + 1
    assert [library.eyrie_counter_name(counter).decode() for counter in Counter] == [each.name for each in Counter]
    unknown = [
        (library.eyrie_result_text, len(RESULTS)),
        (library.eyrie_error_text, len(ErrorCode)),
        (library.eyrie_counter_name, len(Counter)),
    ]
    assert {function(number) for function, number in unknown} == {b"unknown"}


def test_counters(driver: Driver, seed: int) -> None:
    """Both halves are of one moment, also of a counter that goes on."""
    rng = np.random.default_rng(seed)
    expected = {counter: int(rng.integers(1 << 63)) for counter in Counter} | {Counter.CYCLES: 2**32 - 1}
    driver.modelled.counters = dict(expected)
    value, values = ctypes.c_uint64(), (ctypes.c_uint64 * len(Counter))()
    for counter in Counter:
        assert driver.call("get_counter", int(counter), ctypes.byref(value)) == "OK"
        assert value.value == expected[counter]
    driver.modelled.counters = dict(expected)
    assert driver.call("get_counters", values) == "OK" and list(values) == [expected[counter] for counter in Counter]


def test_mapping(library: ctypes.CDLL) -> None:
    """Registers and memory at addresses of the processor."""
    registers, memory = (ctypes.c_uint32 * 64)(), (ctypes.c_uint8 * 256)()
    mapping = (ctypes.c_void_p * 2)(ctypes.addressof(registers), ctypes.addressof(memory))
    platform = Platform()
    assert RESULTS[library.eyrie_map_platform(ctypes.byref(platform), mapping)] == "OK" and not platform.wait
    platform.write_register(platform.context, Register.PROGRAM_BASE, 0xFFFF_0001)
    assert registers[Register.PROGRAM_BASE // 4] == 0xFFFF_0001
    assert platform.read_register(platform.context, Register.PROGRAM_BASE) == 0xFFFF_0001
    source, target = (ctypes.c_uint8 * 5)(*b"eyrie"), (ctypes.c_uint8 * 5)()
    platform.write_memory(platform.context, 100, source, 5)
    platform.read_memory(platform.context, 99, target, 5)
    assert bytes(memory[100:105]) == b"eyrie" and bytes(target) == b"\0eyri"
    for part in (0, 1):
        lame = (ctypes.c_void_p * 2)(*mapping)
        lame[part] = None
        assert RESULTS[library.eyrie_map_platform(ctypes.byref(platform), lame)] == "BAD_ARGUMENT"


def test_any_name(small: Driven, tmp_path: Path) -> None:
    """Names of a model are text, whatever they mean in C."""
    names = ['"', "\\n", "??/", "*/", "größe\n%s", "1" * 500]
    [place] = small.image.inputs.values()
    layout = replace(small.image.layout, inputs=dict.fromkeys(names, place))
    (tmp_path / "network.h").write_text(header_text(layout, small.image.dram.tobytes()))
    network = build(tmp_path / "build", tmp_path).the_network().contents
    assert [network.inputs[n].name.decode() for n in range(network.input_count)] == names
    assert network.inputs[0].scale == np.float32(place.scale) and network.inputs[0].zero_point == place.zero_point


@pytest.mark.parametrize("language", [["-std=c99"], ["-x", "c++", "-std=c++17"]], ids=["c99", "c++17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler: str, language: list[str], small: Driven, tmp_path: Path) -> None:
    """The driver as it is for a processor without an operating system, and the programs."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} there")
    small.image.save(tmp_path, "")
    sizes = ",".join(map(str, DEFAULT.parameters.values()))
    hosted = [path for folder in (SOC, EXAMPLES, SIMULATION) for path in folder.glob("*.c")]
    sources = {path: ["-ffreestanding"] for path in DRIVER.glob("*.c")} | {
        path: [f"-DCONFIG_SIZES={{{sizes}}}"] for path in hosted
    }
    [example] = re.findall(
        r"^```c\n(.*?)^```$", (ROOT / "docs" / "howto" / "driver.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "example.c").write_text(example)
    sources[tmp_path / "example.c"] = ["-ffreestanding"]
    assert len(sources) > 6
    for path, options in sources.items():
        command = [
            compiler,
            *language,
            *WARNINGS,
            "-Wconversion",
            "-Wshadow",
            "-O2",
            *options,
            *includes(tmp_path),
            "-c",
            str(path),
            "-o",
            str(tmp_path / "object.o"),
        ]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert ended.returncode == 0 and not ended.stderr, ended.stderr


def test_needs_no_library(tmp_path: Path) -> None:
    """Of a C library the driver uses at most what a compiler asks for everywhere."""
    for path in DRIVER.glob("*.c"):
        subprocess.run(
            [
                "cc",
                "-std=c99",
                "-O2",
                "-ffreestanding",
                "-fno-stack-protector",
                "-c",
                path,
                "-o",
                tmp_path / f"{path.stem}.o",
            ],
            check=True,
        )
    found = subprocess.run(["nm", "-u", *tmp_path.glob("*.o")], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in found.splitlines() if " U " in line}
    assert {name for name in names if not name.startswith("eyrie_")} <= {
        "memcpy",
        "memset",
        "memmove",
        "memcmp",
        "_GLOBAL_OFFSET_TABLE_",
    }
