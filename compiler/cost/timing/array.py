# SPDX-License-Identifier: Apache-2.0
"""The pass side of the accelerator on the timeline: passes are offered, taken, worked and done.

PEs of the two sets get the same words at the same time: the first set stands for both.
Only in a convolution the second has its psum half later.
"""

from collections.abc import Hashable

from eyrie.compiler.cost.timing.banks import ASK, NETWORK, READ, Banks
from eyrie.compiler.cost.timing.convolution import Convolution
from eyrie.compiler.cost.timing.depthwise import Depthwise
from eyrie.compiler.cost.timing.drain import CHAIN, GATHER
from eyrie.compiler.cost.timing.elementwise import Elementwise
from eyrie.compiler.cost.timing.front import Front, PassCommand
from eyrie.compiler.cost.timing.fused import Fused
from eyrie.compiler.cost.timing.pointwise import Pointwise
from eyrie.compiler.cost.timing.replay import DRAIN_STEP, EARLY, LATE, PassTimes, State
from eyrie.compiler.cost.timing.shape import PassShape, pass_shape
from eyrie.compiler.cost.timing.shorten import shortened
from eyrie.compiler.cost.timing.streams import NEVER, STREAM_START
from eyrie.compiler.cost.timing.units import Begin, Units
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import CONFIG_WORDS, ArrayMode, Stream

OFFER = 2  # pass_controller: from a PASS at the head of the queue to the new epoch: StOffer, epoch
SCANNED = 2  # id_scanner: cycles beside one for each PE
CLEARED = CONFIG_WORDS // 2 + 2  # descriptor: from the start to the first CONFIG word
LOADS = 2  # stream_loader: from a stream's choice to the next one's, beside a cycle for each pair of loops
LAST_WORDS = 1  # as well, from the next stream's choice to the last words of the one before
TAKEN = 2  # pass_controller: from the last unit's take to the next CONFIG word
PPU_OPEN = 1  # ppu: from its take to the first beat, or word of a vector pass
STORING = 64  # cycles from the start of a pass: if a store reads in one of them, the pass is another one
DRAINED = 1  # drain_sequencer: cycles of a vector pass, behind its take
DONE = 2 + ASK  # from the last ofmap word to the pass being counted: write_stream, pass_controller, semaphores


class Array:
    """Runs the passes of a list in turn."""

    def __init__(self, config: AcceleratorConfig, front: Front, banks: Banks) -> None:
        self._config, self._front, self._banks = config, front, banks
        self._units = Units(config, front, banks)
        self._idle = CLEARED  # first cycle in which CONFIG is taken
        self._ids_written = False  # and not scanned
        self._before: Hashable = None  # pattern of the last pass
        self._states: dict[Hashable, State] = {}

    def run(self, command: PassCommand, descriptor: Descriptor, pattern: Hashable) -> PassTimes:
        """Run a pass. pattern: equal for passes that are alike (replay.py)"""
        offered = self._offer(command, ArrayMode(descriptor.shape["mode"]))
        units, free = self._units, max(self._units.held.free)
        tokens = self._front.passes_done[command.wait_passes - 1] + ASK + READ if command.wait_passes else 0
        start = max(offered, free)
        before: tuple[Hashable, int, int] = None, LATE, 0  # the last pass is over
        if max(free, units.drain.written) >= offered:
            before = self._before, min(max(offered - free, EARLY), LATE), (units.drain.left - start) // DRAIN_STEP
        self._front.know_transfers(start + STORING)
        storing = self._banks.stores_between(start, start + STORING)
        key, self._before = (before, pattern, max(tokens - start, 0), storing), pattern
        state = self._states.get(key)
        if state is None:
            shape = pass_shape(self._config, descriptor)
            short = shortened(shape)
            found = self._run(offered, tokens, short.shape if short else shape, waits=not short)
            state = self._states[key] = State.of(units, shape, start, found, self._idle, short)
            if not short:
                self._front.passes_done.append(found.done)
                return found
        self._front.catch_up(offered)
        self._banks.forget(free)
        waits = self._wait_for_chunks(state, start)
        found, self._idle = state.times(offered, start, waits)
        state.put(units, start + waits)
        self._front.passes_done.append(found.done)
        return found

    def _wait_for_chunks(self, state: State, start: int) -> int:
        """Load and free the chunks of a pass. Return the cycles that the pass waits for them in all.

        A pass that waits for a chunk goes on as it would have without waiting, so many cycles later.
        """
        front, waits, loaded = self._front, 0, len(self._front.chunks_freed)
        for after, is_used in state.chunks:
            at = start + after + waits
            if is_used:
                loaded += 1
                waits += max(0, front.chunk(loaded) - at)
            else:
                front.chunks_freed.append(at)
        self._units.filters.skip(len(state.chunks) // 2)
        return waits

    def _run(self, offered: int, tokens: int, shape: PassShape, waits: bool) -> PassTimes:
        """Follow a pass word by word. waits: for filter chunks that are not there"""
        units, drain = self._units, self._units.drain
        units.begins.clear()
        units.filters.stream.gated.clear()  # of the last pass: a vector pass has no filters
        pe_free = max(units.held.free)
        self._banks.forget(pe_free)

        def take(last: int) -> int:
            """The cycle in which a unit takes the pass, its work on the one before ending in cycle `last`."""
            return max(offered, last + 1)

        pes, drains, ppu = take(pe_free - 1), take(drain.left), take(drain.written)
        supers = take(units.held.sent - 1)
        ifmap, filters, depthwise, tables, ofmap, residual = _loaded(
            shape.level_pairs,
            take(max(units.ifmap.reader.handed, units.words.reader.handed)),
            take(units.filters.stream.reader.handed),
            take(units.depthwise.reader.handed),
            take(drain.tables.reader.handed),
            ppu,
            take(units.others.reader.handed),
        )
        beats = max(drains + 1, ppu + PPU_OPEN - CHAIN - GATHER)
        drain.take(shape, beats, tables + STREAM_START, residual + STREAM_START)
        if shape.mode == ArrayMode.ELEMENTWISE:
            begun, first = ppu + PPU_OPEN, max(ifmap + STREAM_START, tokens)
            worked = Elementwise(units, shape).run(first, begun, ofmap + 1) + 1
            drain.left = drains + DRAINED
        else:
            units.ifmap.take(shape, max(ifmap + STREAM_START, tokens) + NETWORK)
            filters_first = filters + STREAM_START + NETWORK
            units.filters.take(filters_first, shape, waits)
            begun = pes + 1
            finish = max(offered + 1, supers)  # in the first set, whose SUPERs take it a cycle before
            columns = [take(free - 1) + 1 for free in units.held.free]
            worked = self._walk(shape, Begin(columns, begun, finish, filters_first, depthwise + STREAM_START + NETWORK))
            if shape.mode != ArrayMode.POINTWISE:
                units.held.free = [worked] * len(columns)
            drain.run_until(NEVER)
        done = drain.written + DONE
        self._idle = max(pes, supers, ifmap, filters, depthwise, tables, ofmap, residual, drains, ppu) + TAKEN
        return PassTimes(offered, begun, worked, done, shape.sets, shape.columns)

    def _walk(self, shape: PassShape, begin: Begin) -> int:
        if shape.mode == ArrayMode.FUSED:
            return Fused(self._units, shape, begin).run()
        if shape.mode == ArrayMode.CONVOLUTION:
            return Convolution(self._units, shape, begin).run()
        if shape.mode == ArrayMode.POINTWISE:
            return Pointwise(self._units, shape, begin).run()
        return Depthwise(self._units, shape, begin).run()

    def _offer(self, command: PassCommand, mode: ArrayMode) -> int:
        """CONFIG words and PASS leave the queue; returns the first cycle of the new epoch."""
        at, left = self._idle - 1, self._front.left
        for word in command.configs:
            at = max(at + 1, self._front.word(word) + 1)
            left.append(at)
        tokens = self._front.transfer_done(command.wait_transfers)
        at = max(at + 1, self._front.word(command.word) + 1, tokens)
        self._ids_written |= command.ids_written
        if self._ids_written and mode != ArrayMode.ELEMENTWISE:
            self._ids_written = False
            at += self._config.rows * self._config.cols + SCANNED
        left.append(at + OFFER - 1)
        return at + OFFER


STREAMS = Stream.IFMAP, Stream.FILTER, Stream.DEPTHWISE, Stream.PARAMETERS, Stream.OFMAP, Stream.RESIDUAL


def _loaded(level_pairs: dict[Stream, int], *wanted: int) -> list[int]:
    """When the streams of STREAMS take a pass that each wants from a cycle on.

    A stream that the pass does not use takes it at once; the others get their words one after the other.
    """
    taken, waiting, free = list(wanted), [n for n, stream in enumerate(STREAMS) if stream in level_pairs], 0
    while waiting:
        at = max(free, min(wanted[n] for n in waiting))
        stream = next(n for n in waiting if wanted[n] <= at)
        waiting.remove(stream)
        free = at + LOADS + level_pairs[STREAMS[stream]]
        taken[stream] = free + LAST_WORDS
    return taken
