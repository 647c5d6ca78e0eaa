# SPDX-License-Identifier: Apache-2.0
"""pyuvm agents of the PE array's streams. An item is a pass's share of a stream; the valid/ready work
is done by the shared stream drivers and monitors.

Passes overlap as they do in the accelerator: each driver goes on to the next pass by itself when all its
beats have been taken, and swaps the IDs of its network then.
"""

import cocotb
from cocotb.triggers import Event, RisingEdge
from pyuvm import (
    ConfigDB,
    uvm_agent,
    uvm_analysis_port,
    uvm_driver,
    uvm_monitor,
    uvm_sequence,
    uvm_sequence_item,
    uvm_sequencer,
)

from eyrie.model import encoding as enc
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from tb.common.bench import Testbench
from tb.common.streams import ReadySink, StreamDriver, StreamMonitor

IFMAP = ("data", "lanes", "to_pixels", "half_by_set", "more_bands", "tag")
FILTER = ("data", "lanes", "half_by_set", "tag")
DEPTHWISE = ("data", "half_by_set", "tag")
DRAIN = ("set", "add", "free", "index", "word", "two", "note", "sums")


class StreamItem(uvm_sequence_item):
    """The beats of one pass; `taken` is set when the stream begins with it."""

    def __init__(self, beats: list[dict[str, int]], idle: float, descriptor: Descriptor) -> None:
        super().__init__("beats")
        self.beats, self.idle, self.descriptor = beats, idle, descriptor
        self.taken = Event()


class ConfigItem(uvm_sequence_item):
    """The configuration and IDs of one pass, done when it is requested."""

    def __init__(self, descriptor: Descriptor, idle: float) -> None:
        super().__init__("config")
        self.descriptor, self.idle = descriptor, idle


class OneItem(uvm_sequence):
    """Sends one item and waits until it is done."""

    def __init__(self, item: uvm_sequence_item) -> None:
        super().__init__("one_item")
        self.item = item

    async def body(self) -> None:
        await self.start_item(self.item)
        await self.finish_item(self.item)


class BeatDriver(uvm_driver):
    """Sends beats into a network, after its IDs have been swapped."""

    fields: tuple[str, ...] = DEPTHWISE

    def build_phase(self) -> None:
        self.tb: Testbench = ConfigDB().get(self, "", "tb")
        name = self.get_parent().get_name()
        self.stream = StreamDriver(self.tb, name, self.fields)
        self.swap = getattr(self.tb.dut, f"{name}_swap_i", None)
        if self.swap is not None:
            self.swap.value = 0

    async def begin(self, item: StreamItem) -> None:
        edge = RisingEdge(self.tb.clock)
        await edge
        self.swap.value = 1
        await edge
        self.swap.value = 0

    async def run_phase(self) -> None:
        while True:
            item = await self.seq_item_port.get_next_item()
            await self.begin(item)
            item.taken.set()
            self.stream.idle = item.idle
            self.stream.extend(item.beats)
            await self.stream.drain()
            self.seq_item_port.item_done()


class IfmapDriver(BeatDriver):
    """Two adjacent words a beat."""

    fields = IFMAP


class FilterDriver(BeatDriver):
    """One or two words a beat, as the accelerator has it."""

    fields = FILTER


class DrainDriver(BeatDriver):
    """Sends beats into the column adder chains, whose joints change only while they are empty."""

    fields = DRAIN

    async def begin(self, item: StreamItem) -> None:
        dut, edge = self.tb.dut, RisingEdge(self.tb.clock)
        await edge
        while not dut.drain_empty_o.value:
            await edge
        dut.drain_link_enable_i.value = item.descriptor.drain["link_enable"] & (1 << len(dut.drain_link_enable_i)) - 1
        dut.drain_columns_i.value = (1 << item.descriptor.drain["columns"]) - 1


class ConfigDriver(uvm_driver):
    """Scans IDs in and requests a pass, which it holds until it has been accepted."""

    def build_phase(self) -> None:
        self.tb: Testbench = ConfigDB().get(self, "", "tb")
        self.accelerator: AcceleratorConfig = ConfigDB().get(self, "", "accelerator")
        self.edge = RisingEdge(self.tb.clock)
        self.pass_phase = 0
        for name in ("pass_phase", "row_scan", "column_scan"):
            getattr(self.tb.dut, f"{name}_i").value = 0

    async def scan(self, chain: str, ids: list[int], idle: float) -> None:
        """The last ID first."""
        enable, value = getattr(self.tb.dut, f"{chain}_scan_i"), getattr(self.tb.dut, f"{chain}_id_i")
        for id_ in reversed(ids):
            while self.tb.rng.random() < idle:
                enable.value = 0
                await self.edge
            enable.value, value.value = 1, id_
            await self.edge
        enable.value = 0

    async def run_phase(self) -> None:
        dut = self.tb.dut
        while True:
            item = await self.seq_item_port.get_next_item()
            words = item.descriptor.words
            rows, columns = item.descriptor.ids(self.accelerator.rows, self.accelerator.cols)
            await self.edge
            row_scan = cocotb.start_soon(self.scan("row", [enc.ROW_ID.pack(**row) for row in rows], item.idle))
            await self.scan("column", [enc.COLUMN_ID.pack(**pe) for row in columns for pe in row], item.idle)
            await row_scan
            dut.cfg_shape_i.value = words[enc.ARRAY_SHAPE_INDEX]
            dut.cfg_loops_i.value = words[enc.ARRAY_LOOPS_INDEX]
            dut.cfg_depthwise_i.value = words[enc.DEPTHWISE_INDEX]
            self.pass_phase ^= 1
            dut.pass_phase_i.value = self.pass_phase
            self.seq_item_port.item_done()

    async def taken(self) -> None:
        """Returns when all PEs have taken the request; spoils it then."""
        dut = self.tb.dut
        await self.edge
        while not dut.accepted_o.value:
            await self.edge
        for port in (dut.cfg_shape_i, dut.cfg_loops_i, dut.cfg_depthwise_i):
            port.value = (1 << 64) - 1


class SumsMonitor(uvm_monitor):
    """Publishes each beat of sums that leaves, as its fields."""

    def build_phase(self) -> None:
        tb = ConfigDB().get(self, "", "tb")
        self.port = uvm_analysis_port("port", self)
        self.sink = ReadySink(tb, "sums")
        StreamMonitor(tb, "sums", ("sums", "note"), callback=self.port.write)


class Agent(uvm_agent):
    """A sequencer and the driver of one stream."""

    driver_type: type[uvm_driver] = BeatDriver

    def build_phase(self) -> None:
        super().build_phase()
        self.sequencer = uvm_sequencer("sequencer", self)
        self.driver = self.driver_type("driver", self)

    def connect_phase(self) -> None:
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)


class IfmapAgent(Agent):
    driver_type = IfmapDriver


class FilterAgent(Agent):
    driver_type = FilterDriver


class DrainAgent(Agent):
    driver_type = DrainDriver


class ConfigAgent(Agent):
    driver_type = ConfigDriver
