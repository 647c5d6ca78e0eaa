# SPDX-License-Identifier: Apache-2.0
"""The GLB, cycle by cycle, against a model of its arbiter and its memory."""

from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from model.encoding import Stream
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

CLIENTS = len(Stream) + 2
STORE, LOAD = len(Stream), len(Stream) + 1
PRIORITY = [
    *[LOAD, STORE, Stream.OFMAP, Stream.IFMAP, Stream.FILTER],
    *[Stream.RESIDUAL, Stream.TABLE, Stream.DEPTHWISE, Stream.IPSUM],
]
CYCLES = 3000
NEAR = 512  # words in which clients meet often
# Chance of a request, and its address range as a share of the GLB and so many words.
PHASES = [(0.1, 1, 0), (0.5, 0, NEAR), (0.9, 0, 40), (0.95, 1, 8)]
STROBES = [0x0000, 0x00FF, 0xFF00, 0xFFFF]


@dataclass(frozen=True)
class Request:
    """One access: 16 strobe bits and bytes, lane 0 in the low half."""

    write: bool
    address: int
    strobe: int
    data: bytes

    def lanes(self) -> list[int]:
        return [lane for lane in range(2) if self.strobe >> (8 * lane) & 0xFF]


class Model:
    """The memory as bytes, and who is granted what."""

    def __init__(self, banks: int, words: int) -> None:
        self.banks = banks
        self.words = words
        self.memory = np.zeros((words, 8), np.uint8)

    def grants(self, requests: list[Request | None]) -> list[bool]:
        wanted: set[int] = set()  # by the clients before
        granted = [False] * CLIENTS
        for client in PRIORITY:
            request = requests[client]
            if request is None:
                continue
            digits = sum(request.address // self.banks**n for n in range(3))
            banks = {(digits + lane) % self.banks for lane in request.lanes() if self.inside(request)}
            granted[client] = not banks & wanted
            wanted |= banks
        return granted

    def inside(self, request: Request) -> bool:
        """Whether it is within the memory, a pair at an even address."""
        return request.address < self.words and not (request.strobe >> 8 and request.address % 2)

    def access(self, request: Request) -> bytes:
        """Performs a request; returns the 16 bytes that a read brings."""
        result = np.zeros((2, 8), np.uint8)
        if not self.inside(request):
            return result.tobytes()
        strobe = np.unpackbits(np.array([request.strobe], "<u2").view(np.uint8), bitorder="little")
        data = np.frombuffer(request.data, np.uint8).reshape(2, 8)
        for lane in request.lanes():
            word = self.memory[request.address + lane]
            mask = strobe[8 * lane : 8 * lane + 8].astype(bool)
            if request.write:
                word[mask] = data[lane][mask]
            result[lane] = word
        return result.tobytes()


class Ports:
    """Drives all clients at once and reads what comes back."""

    def __init__(self, tb: Testbench) -> None:
        self.dut = tb.dut
        self.drive([None] * CLIENTS)

    def drive(self, requests: list[Request | None]) -> None:
        def vector(values: list[int], width: int) -> int:
            return sum(value << (width * place) for place, value in enumerate(values))

        known = [request or Request(True, 0xFFFF, 0xFFFF, b"\xa5" * 16) for request in requests]
        self.dut.valid_i.value = vector([request is not None for request in requests], 1)
        self.dut.write_i.value = vector([request.write for request in known], 1)
        self.dut.address_i.value = vector([request.address for request in known], 16)
        self.dut.strobe_i.value = vector([request.strobe for request in known], 16)
        self.dut.data_i.value = vector(
            [int.from_bytes(request.data, "little") for request in known], 128
        )

    def bits(self, name: str) -> list[bool]:
        value = int(getattr(self.dut, name).value)
        return [bool(value >> client & 1) for client in range(CLIENTS)]

    def fields(self, name: str, width: int) -> list[int]:
        value = int(getattr(self.dut, name).value)
        return [value >> (width * client) & ((1 << width) - 1) for client in range(CLIENTS)]


def draw(rng: np.random.Generator, reach: int) -> Request:
    strobe = int(rng.choice(STROBES)) if rng.random() < 0.5 else int(rng.integers(1 << 16))
    address = int(rng.integers(reach)) if rng.random() < 0.97 else int(rng.integers(1 << 16))
    if strobe >> 8 and rng.random() < 0.97:
        address &= ~1
    return Request(bool(rng.random() < 0.5), address, strobe, rng.bytes(16))


class Cycles:
    """Compares what the ports show with what the model says, cycle by cycle."""

    def __init__(self, model: Model, ports: Ports, board: Scoreboard) -> None:
        self.model, self.ports, self.board = model, ports, board
        self.waits = 0  # requests that were not granted
        self._reads: dict[int, bytes] = {}  # due in this cycle
        self._before = False, [0] * CLIENTS, 0  # error, bytes and conflicts of the cycle before

    def compare(self, requests: list[Request | None], where: str) -> list[bool]:
        """A cycle with these requests; returns which are granted."""
        board, dut = self.board, self.ports.dut
        granted = self.model.grants(requests)
        ready = self.ports.bits("ready_o")
        for client, request in enumerate(requests):
            if request is not None:
                board.expect(granted[client], f"{where}: grant of client {client}")
                board.observe(ready[client])
        self._compare_reads(where)
        board.expect(self._before, f"{where}: error, bytes, conflicts")
        board.observe((bool(dut.error_o.value), self.ports.fields("bytes_o", 5), int(dut.conflicts_o.value)))
        outside, counted = False, [0] * CLIENTS
        # Granted requests touch different banks, so their order does not matter.
        for client, request in enumerate(requests):
            if request is not None and granted[client]:
                result = self.model.access(request)
                if not self.model.inside(request):
                    outside = True
                else:
                    counted[client] = request.strobe.bit_count()
                if not request.write:
                    self._reads[client] = result
        conflicts = sum(request is not None for request in requests) - sum(granted)
        self.waits += conflicts
        self._before = outside, counted, conflicts
        return granted

    def _compare_reads(self, where: str) -> None:
        """The words of the cycle before's reads, which are no longer due then."""
        valid, words = self.ports.bits("read_valid_o"), self.ports.fields("read_data_o", 128)
        for client in range(CLIENTS):
            self.board.expect(client in self._reads, f"{where}: read_valid of client {client}")
            self.board.observe(valid[client])
            if client in self._reads:
                self.board.expect(self._reads[client].hex(), f"{where}: read data of client {client}")
                self.board.observe(words[client].to_bytes(16, "little").hex())
        self._reads = {}


@cocotb.test()
async def random_clients(dut):
    tb = Testbench(dut)
    model = Model(tb.machine.glb_banks, tb.machine.glb_words)
    board = Scoreboard("glb")
    ports = Ports(tb)
    cycles = Cycles(model, ports, board)
    await tb.reset()
    requests: list[Request | None] = [None] * CLIENTS
    fill = [Request(True, place, 0xFFFF, tb.rng.bytes(16)) for place in range(0, model.words, 2)]
    begin = len(fill)
    for cycle in range(CYCLES + begin):
        if fill:  # start values are random: write every word first
            requests = [None] * CLIENTS
            requests[LOAD] = fill.pop()
        else:
            chance, share, words = PHASES[(cycle - begin) * len(PHASES) // CYCLES]
            for client in range(CLIENTS):
                if requests[client] is None and tb.rng.random() < chance:
                    requests[client] = draw(tb.rng, share * model.words + words)
        await RisingEdge(dut.clk_i)
        ports.drive(requests)
        await FallingEdge(dut.clk_i)
        granted = cycles.compare(requests, f"cycle {cycle}")
        requests = [None if granted[c] else requests[c] for c in range(CLIENTS)]
    assert cycles.waits > CYCLES // 10, "too few conflicts to call this a test"
    await tb.finish(board)


@cocotb.test()
async def sweeps(dut):
    """A client that writes words in steps of 1, BANKS or BANKS^2, as along a row, a column or the channels of a map,
    leaves one that sweeps word by word three of four cycles, one that writes pairs half."""
    tb = Testbench(dut)
    board = Scoreboard("sweeps")
    ports = Ports(tb)
    await tb.reset()
    banks, cycles = tb.machine.glb_banks, 400
    words = min(tb.machine.glb_words, 8 * banks**2)
    place = {Stream.FILTER: int(tb.rng.integers(words))}  # goes on where it waits
    for step, size in ((1, 1), (banks, 1), (banks**2, 1), (2, 2), (banks, 2), (banks**2, 2)):
        place[Stream.OFMAP] = int(tb.rng.integers(words)) // size * size
        steps, granted = {Stream.OFMAP: step, Stream.FILTER: 1}, dict.fromkeys(place, 0)
        for _ in range(cycles):
            requests: list[Request | None] = [None] * CLIENTS
            for client in place:
                strobe = 0xFFFF if size == 2 and client == Stream.OFMAP else 0x00FF
                requests[client] = Request(client == Stream.OFMAP, place[client], strobe, bytes(16))
            await RisingEdge(dut.clk_i)
            ports.drive(requests)
            await FallingEdge(dut.clk_i)
            ready = ports.bits("ready_o")
            for client in place:
                granted[client] += ready[client]
                # At the end of the memory a stride goes on a word, or a pair, further, as through a map.
                following = place[client] + steps[client]
                further = size if client == Stream.OFMAP else 1
                if ready[client]:
                    place[client] = (following if following < words else following + further) % words
        about = f"{size} words in steps of {step}"
        board.expect(cycles, f"grants of the writer of {about}")
        board.observe(granted[Stream.OFMAP])
        board.expect(True, f"what the reader has beside {about}")
        board.observe(granted[Stream.FILTER] >= cycles * (4 - size) // 4)
        tb.dut._log.info("%s: %d of %d reads granted", about, granted[Stream.FILTER], cycles)
    await tb.finish(board)
