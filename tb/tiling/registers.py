# SPDX-License-Identifier: Apache-2.0
"""An AXI4-Lite master for the register file."""

import cocotb
from cocotb.triggers import RisingEdge

from eyrie.model.encoding import Counter, counter_register
from eyrie.model.status import Control, Status
from tb.common.bench import Testbench

OKAY, SLVERR = 0, 2
START, SOFT_RESET, CLEAR_INTERRUPT = map(int, Control)
BUSY, DONE, ERROR, INTERRUPT, BUS_WAITS = map(int, Status)


class Registers:
    """Reads and writes registers, with random gaps between the channels."""

    def __init__(self, tb: Testbench) -> None:
        self._rng = tb.rng
        self._edge = RisingEdge(tb.clock)
        self._port = lambda name: getattr(tb.dut, f"reg_{name}")
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

    async def _send(self, channel: str, **values: int) -> None:
        """Offers an address or data, after a while, until it is taken."""
        await self._pause()
        for name, value in values.items():
            self._port(f"{name}_i").value = value
        self._port(f"{channel}valid_i").value = 1
        await self._until(f"{channel}ready_o")
        self._port(f"{channel}valid_i").value = 0

    async def write(self, register: int, value: int, strobe: int = 0xF) -> int:
        """Writes a register and returns the response."""
        await self._edge
        sent = [
            cocotb.start_soon(self._send("aw", awaddr=register)),
            cocotb.start_soon(self._send("w", wdata=value, wstrb=strobe)),
        ]
        for each in sent:  # in any order
            await each
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
        low = await self.value(counter_register(counter))
        return low | await self.value(counter_register(counter) + 4) << 32
