# SPDX-License-Identifier: Apache-2.0
"""The tiling controller's surroundings: registers, memories, a pass side that computes something."""

from collections import deque

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout

from eyrie.model.config import DEFAULT
from eyrie.model.encoding import Counter, ErrorCode, Opcode, Register
from tb.common.bench import PERIOD_NS, Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.streams import ReadySink, StreamMonitor
from tb.sim import dram
from tb.tiling.coded import Codes
from tb.tiling.programs import CHUNK_WORDS, RING, RING_BASE, Pass, Program, RandomProgram, perform
from tb.tiling.registers import BUS_WAITS, CLEAR_INTERRUPT, DONE, ERROR, SOFT_RESET, START, Registers

DRAM_WORDS = (1 << 20) // 8
GLB_WORDS = 8192
WINDOW = (0x8000, 0xC0000)  # bytes from the origin on; the program and all data lie within it
DATA = (0x20000 // 8, 0xB0000 // 8)
CODED = (0xB0000 // 8, 0xC0000 // 8)  # of coded weights


class Harness:
    """One tb_tiling: make it while the reset is active, then await `begin`."""

    def __init__(self, tb: Testbench, stall: float = 0.0, high: bool = False) -> None:
        """high: all addresses lie in the upper half of what 32 bits can name."""
        self.tb = tb
        self.origin = (1 << 31) + (int(tb.rng.integers(0x7000)) << 16) if high else 0
        self.dut = tb.dut
        self.registers = Registers(tb)
        self.stall = stall
        self.handed = Scoreboard("pass side")
        self.results = Scoreboard("memories and registers")
        self.passes: deque[Pass] = deque()  # of the running program, not yet handed over
        self.hang = False  # passes never end
        self._taken: deque[tuple[int, Pass, np.ndarray | None]] = deque()
        self._numbers = 0
        self._busy = False
        self.dut.pass_done_i.value = 0
        self.dut.chunk_freed_i.value = 0
        self.dut.wants_chunk_i.value = 0
        self.dut.auto_i.value = 0
        self.dut.glb_error_i.value = 0
        self.memory()
        StreamMonitor(tb, "config", ("index", "data"), self._on_config)
        StreamMonitor(tb, "pass", ("wait_passes",), self._on_pass)
        ReadySink(tb, "config", stall)
        self.pass_sink = ReadySink(tb, "pass", stall)

    def memory(self, latency: int = DEFAULT.dram_latency, beats: int = 0, cycles: int = 0, stall: int = 0) -> None:
        """Sets the DRAM's latency, its beats per cycles (0: one a cycle), its stalls in 1/256."""
        self.dut.latency_i.value = latency
        self.dut.beats_i.value = beats
        self.dut.cycles_i.value = cycles
        self.dut.stall_i.value = stall
        self.dut.bytes_i.value = self.origin + 8 * DRAM_WORDS
        self.dut.outside_i.value = dram.DECERR
        self.dut.dead_i.value = 0
        self.dut.glb_stall_i.value = stall

    async def begin(self) -> None:
        """Resets everything, fills the memories with random words, opens the window."""
        await self.tb.reset()
        await ClockCycles(self.tb.clock, 2)
        self.dram = dram.view(self.dut.dram_pointer_o, 8 * DRAM_WORDS, self.origin).view("<u8")
        self.glb = dram.view(self.dut.glb_pointer_o, 8 * GLB_WORDS).view("<u8")
        self.dram[:] = self.tb.rng.integers(0, 1 << 64, DRAM_WORDS, np.uint64)
        self.glb[:] = self.tb.rng.integers(0, 1 << 64, GLB_WORDS, np.uint64)
        await self.set_window(*WINDOW)
        await self.registers.write(Register.INTERRUPT_ENABLE, 1)
        cocotb.start_soon(self._pass_side())

    async def set_window(self, base: int, limit: int) -> None:
        """From the origin on."""
        await self.registers.write(Register.WINDOW_BASE, self.origin + base)
        await self.registers.write(Register.WINDOW_LIMIT, self.origin + limit)

    def program(self, base: int, words: list[int] | None = None) -> Program:
        """An empty program, or one of these words, `base` bytes from the origin."""
        return Program(self.origin + base, words or [], origin=self.origin)

    def store_program(self, program: Program) -> None:
        place = (program.base - self.origin) // 8
        self.dram[place : place + len(program.words)] = np.array(program.words, np.uint64)

    async def start(self, program: Program) -> None:
        """Starts a program that lies in the DRAM."""
        self.passes = deque(program.passes)
        self._taken.clear()
        self._numbers = 0
        self._busy = False
        await self.registers.write(Register.PROGRAM_BASE, program.base)
        await self.registers.write(Register.CONTROL, START)

    async def end(self, limit: int = 200_000) -> tuple[int, int, int]:
        """Waits for the interrupt, clears it; returns status, error code and error address.

        After an error what has begun on the bus may still have to end, which the status leaves out.
        """
        if not self.dut.interrupt_o.value:
            try:
                await with_timeout(RisingEdge(self.dut.interrupt_o), limit * PERIOD_NS, "ns")
            except SimTimeoutError as error:
                raise AssertionError(f"no interrupt within {limit} cycles") from error
        await self.registers.write(Register.CONTROL, CLEAR_INTERRUPT)
        read = self.registers.value
        return (
            await read(Register.STATUS) & ~BUS_WAITS,
            await read(Register.ERROR_CODE),
            await read(Register.ERROR_ADDRESS),
        )

    async def soft_reset(self) -> None:
        """Resets the accelerator; returns when it is idle again."""
        await self.registers.write(Register.CONTROL, SOFT_RESET)
        for _ in range(2000):
            if not await self.registers.value(Register.STATUS):
                break
        else:
            raise AssertionError("the accelerator is not idle long after a soft reset")
        self.passes.clear()
        self._taken.clear()

    async def good_run(self, commands: int, what: str) -> None:
        """Runs a random program and compares all it left behind."""
        expected_dram, expected_glb = self.dram.copy(), self.glb.copy()
        base = WINDOW[0] + 8 * int(self.tb.rng.integers(512))
        codes = Codes(self.tb.rng, expected_dram, *CODED) if self.tb.config.weight_codes else None
        program = RandomProgram(
            self.tb.rng, expected_dram, expected_glb, self.origin + base, DATA, commands, self.origin, codes
        ).program
        self.dram[slice(*CODED)] = expected_dram[slice(*CODED)]
        self.store_program(program)
        place = base // 8
        expected_dram[place : place + len(program.words)] = np.array(program.words, np.uint64)
        self.handed.expect_all(program.handed, what)
        await self.start(program)
        status, code, address = await self.end()
        scoreboard = self.results
        scoreboard.expect((DONE, 0, 0), f"{what}: status, error")
        scoreboard.observe((status, code, address))
        scoreboard.compare(expected_dram, self.dram, f"{what}: DRAM word")
        scoreboard.compare(expected_glb, self.glb, f"{what}: GLB word")
        counts = {counter: await self.registers.counter(counter) for counter in Counter}
        scoreboard.expect(
            (len(program.passes), program.transfers, program.loaded_words, program.stored_words),
            f"{what}: counters",
        )
        read = counts[Counter.DRAM_READ_BYTES] - counts[Counter.COMMAND_BYTES]
        scoreboard.observe(
            (counts[Counter.PASSES], counts[Counter.TRANSFERS], read // 8, counts[Counter.DRAM_WRITE_BYTES] // 8)
        )
        spare = counts[Counter.COMMAND_BYTES] // 8 - len(program.words)
        scoreboard.expect(True, f"{what}: command words fetched in vain: {spare}")
        scoreboard.observe(0 <= spare <= 64)

    def prefix(self) -> Program:
        """The start of a program: a few transfers that are good, so that something is under way."""
        rng = self.tb.rng
        program = self.program(WINDOW[0] + 8 * int(rng.integers(512)))
        for _ in range(int(rng.integers(4))):
            opcode = Opcode.LOAD if rng.random() < 0.7 else Opcode.STORE
            program.transfer(opcode, 0x40000, int(rng.integers(4000)), int(rng.integers(1, 300)))
        return program

    async def fails(self, what: str, program: Program, error: tuple[ErrorCode, int]) -> None:
        """Runs a program that ends with an error and its address, checks that all comes to rest, and resets."""
        scoreboard, read = self.results, self.registers.value
        self.store_program(program)
        await self.start(program)
        status = await self.end(5000)
        scoreboard.expect((ERROR, *error), what)
        scoreboard.observe(status)
        # A start is ignored after an error.
        await self.registers.write(Register.CONTROL, START)
        await ClockCycles(self.tb.clock, 400)
        bursts = int(self.dut.bursts_o.value)
        await ClockCycles(self.tb.clock, 400)
        scoreboard.expect((ERROR, bursts), f"{what}: still stopped")
        scoreboard.observe((await read(Register.STATUS), int(self.dut.bursts_o.value)))
        await self.soft_reset()

    def _on_config(self, item: dict[str, int]) -> None:
        self.handed.observe(("config", item["index"], item["data"]))

    def _on_pass(self, wait_passes: int) -> None:
        self.handed.observe(("pass", wait_passes))
        if self.passes:
            what = self.passes.popleft()
            self._taken.append((self._numbers, what, None if self._busy else self._source(what)))
            self._busy = True
            self._numbers += 1

    def _source(self, what: Pass) -> np.ndarray:
        """Reads what a pass reads: at once when it is handed over, since all it waits for is there.

        Only a pass that finds another under way reads later, as it may need what that one writes.
        """
        return self.glb[what.source : what.source + what.words].copy()

    async def _pulse(self, signal: str) -> None:
        handle = getattr(self.dut, signal)
        handle.value = 1
        await RisingEdge(self.tb.clock)
        handle.value = 0

    async def _pass_side(self) -> None:
        """Performs the passes handed over, one at a time, at random speed."""
        edge = RisingEdge(self.tb.clock)
        while True:
            await edge
            if not self._taken or self.hang:
                continue
            number, what, source = self._taken.popleft()
            if source is None:
                source = self._source(what)
            await ClockCycles(self.tb.clock, int(self.tb.rng.integers(1, 120)))
            chunks = []
            for chunk in what.chunks:
                while not self._loaded(chunk) and not self._reset():
                    await edge
                place = RING_BASE + chunk % RING * CHUNK_WORDS
                chunks.append(self.glb[place : place + CHUNK_WORDS].copy())
                await ClockCycles(self.tb.clock, int(self.tb.rng.integers(1, 30)))
                await self._pulse("chunk_freed_i")
            self.glb[what.target : what.target + what.words] = perform(what, number, source, chunks)
            self._busy = bool(self._taken)
            await self._pulse("pass_done_i")

    def _loaded(self, chunk: int) -> bool:
        return int(self.dut.chunks_loaded_o.value) > chunk

    def _reset(self) -> bool:
        return not self.dut.unit_rst_no.value
