# SPDX-License-Identifier: Apache-2.0
"""The GLB, cycle by cycle, against a model of its arbiter, its queues and its memory; and what holds however it does
that: words that were announced are there, writers and readers do not hold each other up."""

from collections import deque
from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from eyrie.model.encoding import Stream
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

CLIENTS = len(Stream) + 2
STORE, LOAD = len(Stream), len(Stream) + 1
READERS = [STORE, Stream.IFMAP, Stream.FILTER, Stream.RESIDUAL, Stream.PARAMETERS, Stream.DEPTHWISE, Stream.IPSUM]
WRITERS = [LOAD, Stream.OFMAP]
CYCLES = 3000
NEAR = 512  # words in which clients meet often
# Chance of a request, and its address range as a share of the GLB and so many words.
PHASES = [(0.1, 1, 0), (0.5, 0, NEAR), (0.9, 0, 40), (0.95, 1, 8)]
LAST = 0.1  # chance that what is written is the last of something
STROBES = [0x0000, 0x00FF, 0xFF00, 0xFFFF]


@dataclass(frozen=True)
class Request:
    """One access: 16 strobe bits and bytes, lane 0 in the low half. last: of what is written before it is read."""

    last: bool
    address: int
    strobe: int
    data: bytes

    def lanes(self) -> list[int]:
        return [lane for lane in range(2) if self.strobe >> (8 * lane) & 0xFF]


class Model:
    """The memory as bytes, the words on their way into each bank, and who is granted what."""

    def __init__(self, banks: int, words: int, depth: int) -> None:
        self.banks, self.words, self._depth = banks, words, depth
        self.memory = np.zeros((words, 8), np.uint8)
        # Of each bank: word, bytes that are written, bytes; and how many of these come before those who read.
        self._queues: list[deque[tuple[int, np.ndarray, np.ndarray]]] = [deque() for _ in range(banks)]
        self._settling = [0] * banks
        self.full = 0  # bank cycles in which a queue was

    def cycle(self, requests: list[Request | None]) -> tuple[list[bool], dict[int, bytes]]:
        """One cycle: who is granted, and the 16 bytes that each read brings."""
        urgent = {bank for bank, queue in enumerate(self._queues) if self._settling[bank] or len(queue) == self._depth}
        self.full += sum(len(queue) == self._depth for queue in self._queues)
        granted, read = [False] * CLIENTS, self._grant(READERS, requests, urgent)
        for client in read.granted + self._grant(WRITERS, requests, set()).granted:
            granted[client] = True
        words = {client: self._read(requests[client]) for client in read.granted}
        for bank, queue in enumerate(self._queues):
            if queue and (bank in urgent or bank not in read.wanted):
                word, mask, data = queue.popleft()
                self.memory[word, mask] = data[mask]
            self._settling[bank] = max(self._settling[bank] - 1, 0)
        for client in WRITERS:
            if granted[client]:
                self._push(requests[client])
        if any(granted[client] and requests[client].last for client in WRITERS):
            self._settling = [len(queue) for queue in self._queues]
        return granted, words

    @dataclass
    class Granted:
        """granted: of clients of a kind; wanted: banks that those want that ask, granted or not."""

        granted: list[int]
        wanted: set[int]

    def _grant(self, order: list[int], requests: list[Request | None], taken: set[int]) -> Granted:
        result = self.Granted([], set())
        for client in order:
            if (request := requests[client]) is not None:
                banks = {self.bank(word) for word, _ in self._places(request)}
                if not banks & (result.wanted | taken):
                    result.granted.append(client)
                result.wanted |= banks
        return result

    def bank(self, word: int) -> int:
        return sum(word // self.banks**n for n in range(3)) % self.banks

    def inside(self, request: Request) -> bool:
        """Whether it is within the memory, a pair at an even address; what accesses nothing is."""
        return not request.strobe or (
            request.address < self.words and not (request.strobe >> 8 and request.address % 2)
        )

    def _places(self, request: Request) -> list[tuple[int, int]]:
        """Words that are accessed, each with its lane."""
        return [(request.address + lane, lane) for lane in request.lanes() if self.inside(request)]

    def _read(self, request: Request) -> bytes:
        result = np.zeros((2, 8), np.uint8)
        for word, lane in self._places(request):
            result[lane] = self.memory[word]
        return result.tobytes()

    def _push(self, request: Request) -> None:
        strobe = np.unpackbits(np.array([request.strobe], "<u2").view(np.uint8), bitorder="little").reshape(2, 8)
        data = np.frombuffer(request.data, np.uint8).reshape(2, 8)
        for word, lane in self._places(request):
            self._queues[self.bank(word)].append((word, strobe[lane].astype(bool), data[lane]))


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
        self.dut.last_i.value = vector([request.last for request in known], 1)
        self.dut.address_i.value = vector([request.address for request in known], 16)
        self.dut.strobe_i.value = vector([request.strobe for request in known], 16)
        self.dut.data_i.value = vector([int.from_bytes(request.data, "little") for request in known], 128)

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
    return Request(bool(rng.random() < LAST), address, strobe, rng.bytes(16))


class Cycles:
    """Compares what the ports show with what the model says, cycle by cycle."""

    def __init__(self, model: Model, ports: Ports, scoreboard: Scoreboard) -> None:
        self.model, self.ports, self.scoreboard = model, ports, scoreboard
        self.waits = 0  # requests that were not granted
        self._reads: dict[int, bytes] = {}  # due in this cycle
        self._before = False, [0] * CLIENTS, 0  # error, bytes and conflicts of the cycle before

    def compare(self, requests: list[Request | None], where: str) -> list[bool]:
        """A cycle with these requests; returns which are granted."""
        scoreboard, dut = self.scoreboard, self.ports.dut
        granted, words = self.model.cycle(requests)
        ready = self.ports.bits("ready_o")
        for client, request in enumerate(requests):
            if request is not None:
                scoreboard.expect(granted[client], f"{where}: grant of client {client}")
                scoreboard.observe(ready[client])
        self._compare_reads(where)
        scoreboard.expect(self._before, f"{where}: error, bytes, conflicts")
        scoreboard.observe((bool(dut.error_o.value), self.ports.fields("bytes_o", 5), int(dut.conflicts_o.value)))
        self._reads = words
        done = [request if taken else None for request, taken in zip(requests, granted)]
        outside = any(request is not None and not self.model.inside(request) for request in done)
        counted = [
            request.strobe.bit_count() if request is not None and self.model.inside(request) else 0 for request in done
        ]
        conflicts = sum(request is not None for request in requests) - sum(granted)
        self.waits += conflicts
        self._before = outside, counted, conflicts
        return granted

    def _compare_reads(self, where: str) -> None:
        """The words of the cycle before's reads, which are no longer due then."""
        valid, words = self.ports.bits("read_valid_o"), self.ports.fields("read_data_o", 128)
        for client in range(CLIENTS):
            self.scoreboard.expect(client in self._reads, f"{where}: read_valid of client {client}")
            self.scoreboard.observe(valid[client])
            if client in self._reads:
                self.scoreboard.expect(self._reads[client].hex(), f"{where}: read data of client {client}")
                self.scoreboard.observe(words[client].to_bytes(16, "little").hex())
        self._reads = {}


@cocotb.test()
async def random_clients(dut):
    tb = Testbench(dut)
    model = Model(tb.config.glb_banks, tb.config.glb_words, tb.arguments["depth"])
    scoreboard = Scoreboard("glb")
    ports = Ports(tb)
    cycles = Cycles(model, ports, scoreboard)
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
    assert model.full > CYCLES // 100, "too few full queues to call this a test"
    await tb.finish(scoreboard)


@cocotb.test()
async def announced(dut):
    """Once the last of some words is granted, the caller that asks then reads them, however busy the banks are."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("announced")
    ports = Ports(tb)
    await tb.reset()
    reader, others = Stream.FILTER, [client for client in READERS if client != Stream.FILTER]
    requests: list[Request | None] = [None] * CLIENTS
    for turn in range(300):
        writer = WRITERS[tb.rng.integers(2)]
        address = int(tb.rng.integers(tb.config.glb_words - 64)) & ~1
        words = {
            address + int(place): tb.rng.bytes(8)
            for place in tb.rng.choice(16, int(tb.rng.integers(1, 12)), replace=False) * tb.rng.integers(1, 5)
        }
        writes = [Request(False, word & ~1, 0xFF00 if word & 1 else 0x00FF, data * 2) for word, data in words.items()]
        if tb.rng.random() < 0.5:  # what announces them need not write itself
            writes.append(Request(True, address, 0, bytes(16)))
        else:
            writes[-1] = Request(True, writes[-1].address, writes[-1].strobe, writes[-1].data)
        reads = [Request(False, word, 0x00FF, bytes(16)) for word in words]
        expected, due = list(words.values()), False
        while reads or due:
            for client in others:
                if requests[client] is None and tb.rng.random() < 0.8:
                    requests[client] = Request(False, address + int(tb.rng.integers(64)) & ~1, 0xFFFF, bytes(16))
            requests[writer] = writes[0] if writes else None
            requests[reader] = reads[0] if reads and not writes else None
            await RisingEdge(dut.clk_i)
            ports.drive(requests)
            await FallingEdge(dut.clk_i)
            if due:
                scoreboard.expect(expected.pop(0).hex(), f"turn {turn}: word read")
                scoreboard.observe(
                    (ports.fields("read_data_o", 128)[reader] & ((1 << 64) - 1)).to_bytes(8, "little").hex()
                )
            ready = ports.bits("ready_o")
            due = requests[reader] is not None and ready[reader]
            if due:
                reads.pop(0)
            if writes and ready[writer]:
                writes.pop(0)
            requests = [None if ready[c] else requests[c] for c in range(CLIENTS)]
    await tb.finish(scoreboard)


@cocotb.test()
async def sweeps(dut):
    """Clients that write words in steps of 1, BANKS or BANKS^2, as along a row, a column or the channels of a map, each
    wait for no reader, and leave all of its cycles to one that sweeps word by word."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("sweeps")
    ports = Ports(tb)
    await tb.reset()
    banks, cycles = tb.config.glb_banks, 400
    words = min(tb.config.glb_words, 8 * banks**2)
    place = {Stream.FILTER: int(tb.rng.integers(words))}  # goes on where it waits
    for writer in WRITERS:
        for step, size in ((1, 1), (banks, 1), (banks**2, 1), (2, 2), (banks, 2), (banks**2, 2)):
            place = {Stream.FILTER: place[Stream.FILTER], writer: int(tb.rng.integers(words)) // size * size}
            steps, granted = {writer: step, Stream.FILTER: 1}, dict.fromkeys(place, 0)
            for _ in range(cycles):
                requests: list[Request | None] = [None] * CLIENTS
                for client in place:
                    strobe = 0xFFFF if size == 2 and client == writer else 0x00FF
                    requests[client] = Request(False, place[client], strobe, bytes(16))
                await RisingEdge(dut.clk_i)
                ports.drive(requests)
                await FallingEdge(dut.clk_i)
                ready = ports.bits("ready_o")
                for client in place:
                    granted[client] += ready[client]
                    # At the end of the memory a stride goes on a word, or a pair, further, as through a map.
                    following = place[client] + steps[client]
                    further = size if client == writer else 1
                    if ready[client]:
                        place[client] = (following if following < words else following + further) % words
            about = f"{size} words in steps of {step}, client {writer}"
            scoreboard.expect(cycles, f"grants of the writer of {about}")
            scoreboard.observe(granted[writer])
            scoreboard.expect(cycles, f"grants of the reader beside {about}")
            scoreboard.observe(granted[Stream.FILTER])
    await tb.finish(scoreboard)
