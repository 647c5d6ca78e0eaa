# SPDX-License-Identifier: Apache-2.0
"""Agents for valid/ready streams with lowRISC names, on cocotb-bus.

A stream NAME with the fields a, b that enters the design has the wrapper ports
    NAME_valid_i, NAME_ready_o, NAME_a_i, NAME_b_i
and one that leaves it has NAME_valid_o, NAME_ready_i, NAME_a_o, NAME_b_o. An item is the value of
the only field, or a dict of the fields' values. A wide packed port is one value: pack and unpack it
with NumPy or int.from_bytes, not bit by bit.

Agents are made before Testbench.reset(), which lets them drive their ports from the start; items
are queued after it. Idle and stall are probabilities per cycle, from the test bench's generator.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import cocotb
from cocotb.triggers import Event, RisingEdge
from cocotb_bus.drivers import BusDriver
from cocotb_bus.monitors import BusMonitor

from tb.common.bench import Testbench

Item = int | Mapping[str, int]


def _signals(fields: Sequence[str], enters: bool) -> dict[str, str]:
    """cocotb-bus's map from attribute to signal name."""
    forward, backward = ("_i", "_o") if enters else ("_o", "_i")
    names = {field: field + forward for field in ("valid", *fields)}
    return names | {"ready": "ready" + backward}


class StreamDriver(BusDriver):
    """Sends queued items (append, extend) into the design; before each one it may idle."""

    def __init__(self, tb: Testbench, name: str, fields: Sequence[str] = ("data",), idle: float = 0.0) -> None:
        self.idle = idle  # may be changed at any time
        self._signals = _signals(fields, enters=True)
        self._rng = tb.rng
        super().__init__(tb.dut, name, tb.clock, case_insensitive=False)
        self._edge = RisingEdge(tb.clock)
        self._fields = {field: getattr(self.bus, field) for field in fields}
        self._masks = {field: (1 << len(self._fields[field])) - 1 for field in fields}
        self.bus.valid.value = 0

    def extend(self, items: Iterable[Item]) -> None:
        """Queues items to be sent in order."""
        for item in items:
            self.append(item)

    async def drain(self) -> None:
        """Returns when the last item queued so far has been accepted; at once if none is queued."""
        if self._sendQ:
            # Its place in the queue is last, so that its event is that of all.
            item, callback, event, options = self._sendQ.pop()
            event = event or Event()
            self._sendQ.append((item, callback, event, options))
            await event.wait()

    async def _driver_send(self, item: Item, sync: bool = True) -> None:
        """Offers one item until it is taken. Unless `sync`, an edge has just passed."""
        if sync:
            await self._edge
        if self.idle:
            for _ in range(self._rng.geometric(1.0 - self.idle) - 1):
                await self._edge
        values = item if isinstance(item, Mapping) else dict.fromkeys(self._fields, item)
        for field, handle in self._fields.items():
            handle.value = int(values[field])
        self.bus.valid.value = 1
        await self._edge
        while not self.bus.ready.value:
            await self._edge
        if self.idle or not self._sendQ:
            self.bus.valid.value = 0
            # Data without valid means nothing: its complement shows a design that looks at it.
            for field, handle in self._fields.items():
                handle.value = ~int(values[field]) & self._masks[field]


class StreamMonitor(BusMonitor):
    """Passes each item that crosses a stream, in either direction, to `callback`, or keeps it.

    `signed` names the fields to be read as two's complement.
    """

    def __init__(
        self,
        tb: Testbench,
        name: str,
        fields: Sequence[str] = ("data",),
        callback: Callable[[Item], None] | None = None,
        signed: Collection[str] = (),
    ) -> None:
        self._signals = _signals(fields, enters=hasattr(tb.dut, f"{name}_valid_i"))
        self._fields = tuple(fields)
        self._signed = signed
        super().__init__(tb.dut, name, tb.clock, reset_n=tb.dut.rst_ni, callback=callback, case_insensitive=False)

    @property
    def items(self) -> list[Item]:
        """What has crossed so far, if there is no callback."""
        return list(self._recvQ)

    async def _monitor_recv(self) -> None:
        edge = RisingEdge(self.clock)
        valid, ready = self.bus.valid, self.bus.ready
        fields = [(field, getattr(self.bus, field)) for field in self._fields]
        while True:
            await edge
            if not valid.value or not ready.value or self.in_reset:
                continue
            values = {field: self._read(field, handle) for field, handle in fields}
            self._recv(values[self._fields[0]] if len(values) == 1 else values)

    def _read(self, field: str, handle: cocotb.handle.ValueObjectBase) -> int:
        value = int(handle.value)
        width = len(handle)
        return value - (1 << width) if field in self._signed and value >> (width - 1) else value


class ReadySink:
    """Drives the ready of a stream that leaves the design; each cycle it may stall."""

    def __init__(self, tb: Testbench, name: str, stall: float = 0.0) -> None:
        self._tb = tb
        self._ready = getattr(tb.dut, f"{name}_ready_i")
        self._task: cocotb.task.Task | None = None
        self.pace(stall)

    def pace(self, stall: float) -> None:
        """Sets the probability of a stall from now on; 0 takes everything, 1 nothing."""
        if self._task:
            self._task.cancel()
        self._ready.value = int(stall < 1)
        # A constant ready costs no simulation time.
        self._task = cocotb.start_soon(self._toggle(stall)) if 0 < stall < 1 else None

    async def _toggle(self, stall: float) -> None:
        edge = RisingEdge(self._tb.clock)
        ready = True
        while True:
            await edge
            wanted = bool(self._tb.rng.random() >= stall)
            if wanted != ready:  # a write costs more than all the rest
                ready = wanted
                self._ready.value = int(ready)
