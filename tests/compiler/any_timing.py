# SPDX-License-Identifier: Apache-2.0
"""A command list on an accelerator whose units take as long as somebody wants: straight from the RTL's conditions,
with no notion of what is ordered.

Each step, one unit that can go on does so: a piece of a transfer or of a stream, a turn of the array or of
the drain. Data is who wrote it. A run that reads other data anywhere than the serial run, or leaves other
data, shows a race.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.ir.program import Command, Config, Run, Transfer
from eyrie.model import streams
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, Stream

PIECES = 2  # of a transfer, and of a stream's turn or chunk
WORD_TURNS = 4  # of a vector pass, whose words leave one by one
READERS = tuple(stream for stream in Stream if stream != Stream.OFMAP)
INTO_ARRAY = (Stream.IFMAP, Stream.FILTER, Stream.DEPTHWISE, Stream.IPSUM)
UNITS = ("start", "land", "send", "respond", "offer", *(s.name for s in READERS), "array", "drain", "OFMAP", "done")


@dataclass(frozen=True)
class Piece:
    """Words of a stream. turn: of the array that needs them, or makes them; takes, frees: a filter chunk."""

    words: np.ndarray
    turn: int
    takes: bool = False
    frees: bool = False


@dataclass(frozen=True)
class Work:
    """A pass: its place in the list, tokens, turns, pieces of each stream that it has."""

    command: int
    run: Run
    turns: int
    pieces: dict[Stream, list[Piece]]


@dataclass(frozen=True)
class Move:
    """A transfer: its place in the list, and its words in GLB and DRAM, piece by piece."""

    command: int
    transfer: Transfer
    glb: list[np.ndarray]
    dram: list[np.ndarray]


def _split(words: np.ndarray, there: np.ndarray, count: int) -> list[np.ndarray]:
    """The words of so many equal parts of a stream's positions; words, there: [positions, lanes]."""
    return [part[use] for part, use in zip(np.array_split(words, count), np.array_split(there, count))]


def _turns(descriptor: Descriptor) -> int:
    """How often finished sums leave the array. Depthwise words by themselves leave group by group, once the
    PEs have all ifmap words of the group (depthwise_sequencer.sv: ready_o)."""
    loops = descriptor.loops
    if descriptor.shape["mode"] == ArrayMode.ELEMENTWISE:
        return WORD_TURNS
    groups = loops["groups"] if descriptor.shape["mode"] == ArrayMode.DEPTHWISE else 1
    return loops["outer"] * loops["tiles"] * loops["inner"] * groups


def _pieces(descriptor: Descriptor, stream: Stream, config: AcceleratorConfig) -> list[Piece]:
    program, loops = descriptor.stream(stream), descriptor.loops
    lanes = {Stream.IFMAP: 2, Stream.FILTER: config.filter_lanes}.get(stream, 1)
    at = streams.positions(program, lanes)
    there = streams.written(descriptor, at) if stream == Stream.OFMAP else streams.fetched(program, at, lanes)
    words = at.address[:, None] + np.arange(there.shape[1])
    turns = list(range(_turns(descriptor)))
    if descriptor.shape["mode"] == ArrayMode.FUSED and stream in (Stream.IFMAP, Stream.DEPTHWISE):
        turns = [turn for turn in turns if turn // loops["inner"] % loops["tiles"] == 0]  # the first tile's
    found: list[Piece] = []
    if not program.options["chunk"]:
        parts = (np.array_split(values, len(turns)) for values in (words, there))
        for turn, part, use in zip(turns, *parts):
            found += [Piece(piece, turn) for piece in _split(part, use, PIECES)]
        return found
    level = program.options["chunk_level"]
    counts = [v.count for v in program.levels]
    chunks = int(np.prod(counts[level:]))
    for n, (part, use) in enumerate(zip(np.array_split(words, chunks), np.array_split(there, chunks))):
        again = n // counts[level] % counts[level + 1]
        for k, piece in enumerate(_split(part, use, PIECES)):
            found.append(
                Piece(
                    piece,
                    n // counts[level],
                    takes=again == 0 and k == 0,
                    frees=again == counts[level + 1] - 1 and k == PIECES - 1,
                )
            )
    return found


class Program:
    """A command list, taken apart once for many runs; `glb` and `dram`: words."""

    def __init__(self, commands: list[Command], config: AcceleratorConfig) -> None:
        self.moves: list[Move] = []
        self.passes: list[Work] = []
        shadow, known = Descriptor(), {}
        for number, command in enumerate(commands):
            if isinstance(command, Config):
                shadow.words[command.index : command.index + len(command.words)] = command.words
            elif isinstance(command, Transfer):
                assert command.block is None
                words = np.array_split(np.arange(command.words), PIECES)
                self.moves.append(
                    Move(
                        number,
                        command,
                        [command.glb_address + w for w in words],
                        [command.dram_address // GLB_WORD_BYTES + w for w in words],
                    )
                )
            elif isinstance(command, Run):
                key = tuple(shadow.words)
                if key not in known:
                    known[key] = {
                        stream: _pieces(shadow, stream, config)
                        for stream in Stream
                        if shadow.stream(stream).options["enable"]
                    }
                self.passes.append(Work(number, command, _turns(shadow), known[key]))
        self.glb = config.glb_words
        self.dram = 1 + max((int(w.max(initial=0)) for move in self.moves for w in move.dram), default=0)
        self.seen: dict[tuple, np.ndarray] = {}  # by the serial run

    def serial(self) -> None:
        """Notes what a run in list order reads: the oldest command first, and its reads before its writes."""
        order = {name: n for n, name in enumerate(UNITS)}
        run = Timing(self, lambda units: min(units, key=lambda unit: (unit[1], order[unit[0]])))
        run.finish(note=self.seen)
        assert run.over, f"the serial run stops: {run.candidates()}"
        self.seen["glb",], self.seen["dram",] = run.glb, run.dram


Unit = tuple[str, int, int]  # name, place of the command that it works on, piece


@dataclass
class Timing:
    """One run. choose: of the units that can go on, the one that does."""

    program: Program
    choose: Callable[[list[Unit]], Unit]
    different: list[tuple] = field(default_factory=list)  # (command, unit) that read other data

    def __post_init__(self) -> None:
        self.glb, self.dram = np.zeros(self.program.glb, np.int64), np.zeros(self.program.dram, np.int64)
        self.started = self.landed = self.sent = self.transfers_done = 0  # transfers
        self.at_piece = 0  # of the transfer that lands or is sent
        self.offered = self.passes_done = 0
        self.taken = dict.fromkeys([*(s.name for s in Stream), "array", "drain"], 0)  # passes
        self.step_of = dict.fromkeys(self.taken, 0)  # pieces or turns done of the pass taken last
        self.chunks_loaded = self.chunks_taken = self.chunks_freed = 0

    # ---- What each unit has to do in the pass that it took last ----

    def _length(self, unit: str) -> int:
        if not self.taken[unit]:
            return 0
        work = self.program.passes[self.taken[unit] - 1]
        return work.turns if unit in ("array", "drain") else len(work.pieces.get(Stream[unit], ()))

    def _idle(self, unit: str) -> bool:
        return self.step_of[unit] == self._length(unit)

    def _finished(self, unit: str) -> int:
        """Passes that a unit has finished."""
        return self.taken[unit] - (not self._idle(unit))

    def _read_for(self, place: int, stream: Stream, turn: int, most: bool = True) -> bool:
        """Whether a stream has read what pass `place` (from 1) needs up to a turn; not most: up to the turn's
        first piece."""
        pieces = self.program.passes[place - 1].pieces.get(stream, [])
        if self.taken[stream.name] != place:
            return not pieces or self.taken[stream.name] > place
        rest = pieces[self.step_of[stream.name] :]
        needed = [piece for piece in rest if piece.turn <= turn]
        return not needed or (not most and len(needed) < PIECES)

    # ---- Which units can go on ----

    def candidates(self) -> list[Unit]:
        found: list[Unit] = []
        for unit in self.taken:
            if self._idle(unit):
                if self.taken[unit] < self.offered:
                    found.append((unit, self.program.passes[self.taken[unit]].command, -1))
            elif self._ready(unit):
                found.append((unit, self.program.passes[self.taken[unit] - 1].command, self.step_of[unit]))
        passes, moves = self.program.passes, self.program.moves
        if self.offered < len(passes) and all(taken == self.offered for taken in self.taken.values()):
            if self.transfers_done >= passes[self.offered].run.wait_transfers:
                found.append(("offer", passes[self.offered].command, 0))
        if min(self._finished("drain"), self._finished("OFMAP")) > self.passes_done:
            found.append(("done", passes[self.passes_done].command, 0))
        if self.started < len(moves) and self._starts(moves[self.started].transfer):
            found.append(("start", moves[self.started].command, 0))
        if self.transfers_done < self.started:
            if moves[self.transfers_done].transfer.load:
                found.append(("land", moves[self.transfers_done].command, self.at_piece))
            elif self.sent > self.transfers_done:
                found.append(("respond", moves[self.transfers_done].command, 0))
        if self.sent < self.started and not moves[self.sent].transfer.load:
            found.append(("send", moves[self.sent].command, self.at_piece))
        return found

    def _starts(self, transfer: Transfer) -> bool:
        under_way = self.transfers_done < self.started
        return (
            self.passes_done >= transfer.wait_passes
            and self.chunks_freed >= transfer.wait_chunks
            and (not under_way or self.program.moves[self.started - 1].transfer.load == transfer.load)
        )

    def _ready(self, unit: str) -> bool:
        place, at = self.taken[unit], self.step_of[unit]
        work = self.program.passes[place - 1]
        if unit == "array":
            return all(self._read_for(place, stream, at) for stream in INTO_ARRAY)
        if unit == "drain":
            return self._array_did(place, at)
        piece = work.pieces[Stream[unit]][at]
        if unit == "IFMAP":
            return self.passes_done >= work.run.wait_passes
        if unit == "FILTER":
            return not piece.takes or self.chunks_taken < self.chunks_loaded
        if unit == "OFMAP":
            turn, behind = piece.turn, work.pieces[Stream.OFMAP][at + 1 :]
            last = not behind or behind[0].turn != turn
            there = all(self._read_for(place, s, turn, most=last) for s in (Stream.PARAMETERS, Stream.RESIDUAL))
            drain = self.taken["drain"]
            drains = drain > place or (drain == place and self.step_of["drain"] >= turn)
            return there and drains and self._array_did(place, turn)
        return True

    def _array_did(self, place: int, turn: int) -> bool:
        return self.taken["array"] > place or (self.taken["array"] == place and self.step_of["array"] > turn)

    # ---- Going on ----

    @property
    def over(self) -> bool:
        return self.passes_done == len(self.program.passes) and self.transfers_done == len(self.program.moves)

    def finish(self, note: dict[tuple, np.ndarray] | None = None) -> None:
        """Runs until nothing can go on. note: where to put what is read, in place of comparing it."""
        self.note = note
        while units := self.candidates():
            self._step(self.choose(units))

    def shows_race(self) -> bool:
        """Whether a run to the end saw or left other data than the serial one, or did not end."""
        self.finish()
        seen = self.program.seen
        return (
            not self.over
            or bool(self.different)
            or not np.array_equal(self.glb, seen["glb",])
            or not np.array_equal(self.dram, seen["dram",])
        )

    def _see(self, unit: Unit, data: np.ndarray) -> None:
        if self.note is not None:
            self.note[unit] = data.copy()
        elif not np.array_equal(self.program.seen[unit], data):
            self.different.append(unit)

    def _step(self, unit: Unit) -> None:
        name, _command, at = unit
        if name in self.taken:
            if at < 0:
                self.taken[name], self.step_of[name] = self.taken[name] + 1, 0
                return
            if name not in ("array", "drain"):
                self._stream(unit, self.program.passes[self.taken[name] - 1].pieces[Stream[name]][at])
            self.step_of[name] += 1
        elif name == "offer":
            self.offered += 1
        elif name == "done":
            self.passes_done += 1
        elif name == "start":
            self.started += 1
            if self.program.moves[self.started - 1].transfer.load:
                self.sent = self.started
        elif name == "respond":
            self.transfers_done += 1
        else:
            self._move(unit, self.program.moves[self.transfers_done if name == "land" else self.sent])

    def _stream(self, unit: Unit, piece: Piece) -> None:
        if unit[0] == "OFMAP":
            self.glb[piece.words] = unit[1] + 1
        else:
            self._see(unit, self.glb[piece.words])
        self.chunks_taken += piece.takes
        self.chunks_freed += piece.frees

    def _move(self, unit: Unit, move: Move) -> None:
        name, command, at = unit
        if name == "land":
            self._see(unit, self.dram[move.dram[at]])
            self.glb[move.glb[at]] = command + 1
        else:
            self._see(unit, self.glb[move.glb[at]])
            self.dram[move.dram[at]] = command + 1
        self.at_piece = (at + 1) % PIECES
        if self.at_piece == 0:
            if name == "land":
                self.transfers_done += 1
                self.chunks_loaded += move.transfer.chunk
            else:
                self.sent += 1


def random_choice(rng: np.random.Generator) -> Callable[[list[Unit]], Unit]:
    """Units have ranks, of which one is drawn anew now and then: some starve for long."""
    ranks = dict(zip(UNITS, rng.random(len(UNITS))))
    often = rng.choice([0.003, 0.02, 0.1])

    def choose(units: list[Unit]) -> Unit:
        if rng.random() < often:
            ranks[UNITS[rng.integers(len(UNITS))]] = rng.random()
        return max(units, key=lambda unit: ranks[unit[0]])

    return choose


def holding(held: Callable[[Unit], bool], rng: np.random.Generator) -> Callable[[list[Unit]], Unit]:
    """Units that are held go on only when no other can."""
    among = random_choice(rng)

    def choose(units: list[Unit]) -> Unit:
        return among([unit for unit in units if not held(unit)] or units)

    return choose
