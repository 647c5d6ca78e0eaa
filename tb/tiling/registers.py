# SPDX-License-Identifier: Apache-2.0
"""An AXI4-Lite master for the register file."""

from cocotb.triggers import RisingEdge

from model.encoding import Counter, Register
from tb.common.bench import Testbench

OKAY, SLVERR = 0, 2
START, SOFT_RESET, CLEAR_INTERRUPT = 1, 2, 4
BUSY, DONE, ERROR, INTERRUPT = 1, 2, 4, 8


class Registers:
    """Reads and writes registers, with random gaps between the channels."""

    def __init__(self, tb: Testbench, prefix: str = "reg") -> None:
        self._rng = tb.rng
        self._edge = RisingEdge(tb.clock)
        self._port = lambda name: getattr(tb.dut, f"{prefix}_{name}")
        for name in ("awvalid_i", "wvalid_i", "bready_i", "arvalid_i", "rready_i"):
            self._port(name).value = 0

    async def _pause(self) -> None:
        for _ in range(int(self._rng.integers(3))):
            await self._edge

    async def _until(self, name: str) -> None:
        """Returns after the edge at which the named signal was high."""
        await self._edge
        while not self._port(name).value:
            await self._edge

    async def write(self, register: int, value: int, strobe: int = 0xF) -> int:
        """Writes a register and returns the response."""
        await self._edge
        self._port("awaddr_i").value = register
        self._port("awvalid_i").value = 1
        await self._pause()  # data may come later than the address, and has to be waited for
        self._port("wdata_i").value = value
        self._port("wstrb_i").value = strobe
        self._port("wvalid_i").value = 1
        await self._until("awready_o")  # both are taken at once
        self._port("awvalid_i").value = 0
        self._port("wvalid_i").value = 0
        await self._pause()
        self._port("bready_i").value = 1
        await self._until("bvalid_o")
        self._port("bready_i").value = 0
        return int(self._port("bresp_o").value)

    async def read(self, register: int) -> tuple[int, int]:
        """Reads a register; returns value and response."""
        await self._edge
        self._port("araddr_i").value = register
        self._port("arvalid_i").value = 1
        await self._until("arready_o")
        self._port("arvalid_i").value = 0
        await self._pause()
        self._port("rready_i").value = 1
        await self._until("rvalid_o")
        self._port("rready_i").value = 0
        return int(self._port("rdata_o").value), int(self._port("rresp_o").value)

    async def value(self, register: int) -> int:
        """The value of a register that exists."""
        value, response = await self.read(register)
        assert response == OKAY, f"register {register:#x} does not exist"
        return value

    async def counter(self, counter: Counter) -> int:
        return await self.value(Register.COUNTERS + 4 * counter)
