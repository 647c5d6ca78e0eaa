# SPDX-License-Identifier: Apache-2.0
"""What the functional simulator says of a program: memory, counters, passes, error."""

from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from eyrie.model import streams
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, ErrorCode, Stream
from eyrie.model.functional_simulator import FunctionalSimulator, ProgramError
from eyrie.model.passes import PassTrace
from eyrie.testing.beats import multiplications
from tb.net.programs import Program


@dataclass(frozen=True)
class PassEnd:
    """A pass: its number in the run, the signature of its ofmap, ofmap bytes written until its end.

    signature: None where it depends on old words between the rows of a map (docs/hardware/overview.md)
    one_row: whether the pass may take the rows of a map as one, with the words between them
    """

    number: int
    signature: int | None
    ofmap_bytes: int
    one_row: bool = field(default=False, compare=False)

    def beside(self, other: "PassEnd") -> "PassEnd":
        """As it is where old words are other ones, too."""
        return replace(self, signature=None) if self.one_row and self.signature != other.signature else self


@dataclass(frozen=True)
class Outcome:
    """The end of a run.

    memory      uint8: all of the DRAM
    unwritten   bool, as `memory`: bytes stored that no LOAD and no pass put into the GLB: the ends of rows
                and channel groups of a map
    counters    by name: those that timing does not change
    """

    code: ErrorCode
    address: int
    memory: np.ndarray
    unwritten: np.ndarray
    counters: dict[str, int]
    passes: list[PassEnd]


def stream_bytes(descriptor: Descriptor, stream: Stream, config: AcceleratorConfig) -> int:
    """Bytes that a read stream fetches from the GLB in a pass: words inside its range that are sent."""
    program = descriptor.stream(stream)
    if not program.options["enable"]:
        return 0
    at = streams.positions(program)
    rows, columns = program.range["rows"], program.range["cols"]
    places = [(at.x, np.ones(len(at.x), bool))]  # columns, and whether their words are sent
    pairs = stream == Stream.IFMAP or (stream == Stream.FILTER and config.filter_lanes == 2)
    if pairs and not program.options["single"]:  # two words a position, from an even column on
        first = at.x // 2 * 2
        begins = at.first_pair & (first < at.x)
        ends = at.last_pair & (first == at.x if program.options["odd_words"] else first < at.x)
        places = [(first, ~begins), (first + 1, ~ends)]
    row_inside = (at.y >= 0) & (at.y < rows)
    taken = [row_inside & (x >= 0) & (x < columns) & kept for x, kept in places]
    if pairs and program.options["packed_pixels"]:  # one word for both
        taken = [taken[0] | taken[1]]
    if stream == Stream.RESIDUAL:  # a word that comes again and again is fetched once
        return GLB_WORD_BYTES * len(list(groupby(at.address[taken[0]].tolist())))
    return GLB_WORD_BYTES * int(np.sum(taken))


def run_model(program: Program, memory: np.ndarray, rng: np.random.Generator, config: AcceleratorConfig) -> Outcome:
    """Runs a program on copies of the memory (uint8), with random words in the GLB and with their inverse:
    nothing but unwritten bytes, and signatures of words between rows, may depend on them."""
    glb = rng.integers(0, 1 << 64, config.glb_words, np.uint64)
    one, other = (_run(program, memory, words, config) for words in (glb, ~glb))
    one, other = (
        replace(run, passes=[end.beside(again) for end, again in zip(run.passes, beside.passes)])
        for run, beside in ((one, other), (other, one))
    )
    for name in ("code", "address", "counters", "passes"):
        assert getattr(one, name) == getattr(other, name), f"{program.about}: {name} depends on old GLB words"
    unwritten = one.memory != other.memory
    unwritten[program.base :][: len(program.ends)] |= program.ends
    return replace(one, unwritten=unwritten)


def _run(program: Program, memory: np.ndarray, glb: np.ndarray, config: AcceleratorConfig) -> Outcome:
    reads = {f"GLB_{stream.name}_BYTES": 0 for stream in Stream if stream != Stream.OFMAP}
    macs, ofmap_bytes, passes = 0, 0, []

    def observe(trace: PassTrace) -> None:
        nonlocal macs, ofmap_bytes
        for stream in Stream:
            if stream != Stream.OFMAP:
                reads[f"GLB_{stream.name}_BYTES"] += stream_bytes(trace.descriptor, stream, config)
        macs += multiplications(config, trace.descriptor)
        ofmap_bytes += trace.written
        ifmap = trace.descriptor.stream(Stream.IFMAP)
        one_row = trace.descriptor.shape["mode"] == ArrayMode.POINTWISE and ifmap.range["rows"] == 1
        passes.append(PassEnd(len(passes), trace.signature, ofmap_bytes, one_row))

    simulator = FunctionalSimulator(memory.copy(), config, program.window, observe)
    simulator.glb[:] = glb
    code, address = ErrorCode.NONE, 0
    try:
        simulator.run(program.start)
    except ProgramError as error:
        code, address = error.code, error.address
    counters = {**simulator.counters, **reads, "MACS": macs}
    return Outcome(code, address, simulator.dram, np.zeros(len(memory), bool), counters, passes)
