# SPDX-License-Identifier: Apache-2.0
"""Which descriptors an accelerator runs: one list of rules, for the model and for the RTL.

A PASS whose descriptor breaks a rule stops the accelerator with ErrorCode.DESCRIPTOR before it begins. The rules
catch what would lose words or sums without a word, or reach where there is nothing; a pass that only waits for
words that never come is the watchdog's. `scripts/gen_pkg.py` writes them as `rtl/pass/descriptor_rules.sv`.

A rule is a Python expression of the fields of the descriptor's words (shape, loops, middle: of the depthwise
words, drain, ppu, first and result: of the operation on words, ifmap: the options of its stream), of the streams that
are used (used.IFMAP, ...), and of the accelerator's sizes: RTL parameters by their names, SETS, and LN_WITHIN, the
joints within sets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, SimpleNamespace

from eyrie.model.config import SET_ROWS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, Destination, DrainMode, Operation, PoolMode, Stream

PARAMETERS = ("ROWS", "COLS", "IFMAP_WORDS", "FILTER_WORDS", "PIXEL_WORDS", "PSUM_WORDS", "FILTER_LANES")


@dataclass(frozen=True)
class Rule:
    """`holds` is true of a legal descriptor; else `message` says what is wrong."""

    holds: str
    message: str


_DEPTHWISE = "(shape.mode == ArrayMode.FUSED or shape.mode == ArrayMode.DEPTHWISE)"
_ARRAY = "(shape.mode != ArrayMode.ELEMENTWISE)"
_OPERANDS = (
    "(result.operation == Operation.ADD or result.operation == Operation.SUB or "
    "result.operation == Operation.MUL or first.window == 0 and "
    "(result.operation == Operation.MAXIMUM or result.operation == Operation.MINIMUM))"
)
_POINTWISE = "(shape.mode == ArrayMode.FUSED or shape.mode == ArrayMode.POINTWISE)"

RULES = (
    # The array.
    Rule("shape.mode <= ArrayMode.ELEMENTWISE", "a mode that there is not"),
    Rule(f"not {_ARRAY} or shape.pixels >= 1", "a pass of no pixels"),
    Rule(
        f"not {_ARRAY} or loops.groups >= 1 and loops.inner >= 1 and loops.tiles >= 1 and loops.outer >= 1",
        "a loop of none",
    ),
    Rule(f"{_ARRAY} or shape.filters_0 + shape.filters_1 + shape.filters_2 == 0", "filters of an elementwise pass"),
    *(
        Rule(
            f"shape.mode == ArrayMode.DEPTHWISE or shape.pixels * shape.filters_{row} <= PSUM_WORDS",
            f"sums of row {row} of a set do not fit a psum half",
        )
        for row in range(SET_ROWS)
    ),
    Rule(f"not {_POINTWISE} or shape.pixels <= PIXEL_WORDS", "pixels do not fit the pixel queue"),
    Rule(f"not {_DEPTHWISE} or shape.taps == 3", "depthwise work has three taps"),
    Rule(
        f"not {_DEPTHWISE} or (shape.pixels - 1) * (shape.stride_2 + 1) + 3 <= IFMAP_WORDS",
        "a depthwise group does not fit the ifmap queue",
    ),
    *(
        Rule(
            f"shape.mode != ArrayMode.CONVOLUTION or shape.taps * shape.filters_{row} <= FILTER_WORDS",
            f"filters of row {row} of a set do not fit the filter queue",
        )
        for row in range(SET_ROWS)
    ),
    Rule(
        f"shape.deal == 0 or {_POINTWISE} and shape.deal < 3 and "
        "shape.filters_0 >= 1 and shape.filters_1 >= 1 and shape.filters_2 >= 1",
        "a deal that goes on where there is none, or to rows without filters",
    ),
    Rule("shape.mode != ArrayMode.CONVOLUTION or shape.taps >= 1", "a convolution of no taps"),
    Rule(f"not {_DEPTHWISE} or middle.act_min <= middle.act_max", "an empty clamp of depthwise words"),
    # The drain.
    Rule(
        "(drain.mode == DrainMode.NONE) == (shape.mode == ArrayMode.ELEMENTWISE) "
        "and (drain.mode == DrainMode.CONVOLUTION) == (shape.mode == ArrayMode.CONVOLUTION) "
        "and (drain.mode == DrainMode.WORDS) == (shape.mode == ArrayMode.DEPTHWISE)",
        "the drain takes other sums than the array makes",
    ),
    Rule(f"not {_ARRAY} or 1 <= drain.columns and drain.columns <= COLS", "columns that there are not"),
    Rule(
        f"not {_ARRAY} or 1 <= drain.block and drain.block <= 8 and drain.blocks >= 1 and drain.set_filters >= 1",
        "a block of none, or of more than 8",
    ),
    Rule(
        f"not {_ARRAY} or 1 <= drain.last_block and drain.last_block <= drain.block",
        "a last block of none, or of more than the others",
    ),
    Rule(
        f"not {_ARRAY} or drain.mode == DrainMode.POINTWISE or drain.last_block == drain.block",
        "a last block of fewer filters where these are not dealt",
    ),
    Rule(
        f"not {_ARRAY} or drain.heads >= 1 and (drain.heads - 1) * drain.head_sets < SETS",
        "a chain at a set that there is not",
    ),
    Rule(
        f"not {_ARRAY} or drain.mode == DrainMode.POINTWISE or "
        "drain.block <= drain.set_filters * (1 if drain.fold else drain.heads)",
        "a block of more filters than its chains have",
    ),
    *(
        Rule(
            f"drain.mode != DrainMode.CONVOLUTION or shape.filters_{row} == "
            f"(drain.set_filters if (drain.rows >> {row}) & 1 else 0)",
            f"row {row} of a set has other filters than the drain takes",
        )
        for row in range(SET_ROWS)
    ),
    Rule("drain.mode != DrainMode.CONVOLUTION or drain.blocks == 1", "a convolution drains block by block"),
    Rule(
        "drain.mode != DrainMode.POINTWISE or drain.block * drain.blocks == "
        "shape.filters_0 + shape.filters_1 + shape.filters_2 + (drain.block - drain.last_block)",
        "the drain takes other filters than the array has",
    ),
    Rule(
        "drain.mode != DrainMode.POINTWISE or (drain.rows == 7 and drain.pairs < FILTER_LANES)",
        "filters are not dealt as they come",
    ),
    Rule("drain.mode != DrainMode.WORDS or (drain.block == 2 and not drain.ipsum)", "words are halves without ipsum"),
    Rule(f"not {_ARRAY} or drain.ln & LN_WITHIN == LN_WITHIN", "a chain is cut within a set"),
    # The PPU.
    Rule(f"{_ARRAY} or drain.to_ppu", "an elementwise pass without the PPU"),
    Rule("not drain.to_ppu or ppu.raw == (drain.mode == DrainMode.WORDS)", "the PPU gets other words than it takes"),
    Rule("not drain.to_ppu or ppu.pool <= PoolMode.MAX", "a pooling that there is not"),
    Rule("not drain.to_ppu or not ppu.raw or ppu.pool == PoolMode.NONE", "raw words are not pooled"),
    Rule(f"{_ARRAY} or ppu.pool == PoolMode.NONE", "a pooling of an elementwise pass"),
    Rule("not drain.to_ppu or ppu.raw or ppu.act_min <= ppu.act_max", "an empty clamp"),
    Rule(
        "not drain.to_ppu or ppu.pool != PoolMode.MAX or ((drain.columns | shape.pixels) & 1 == 0)",
        "maxima of an odd number of columns or pixels",
    ),
    Rule(
        "not drain.to_ppu or ppu.pool != PoolMode.AVERAGE or (1 <= ppu.pool_count and ppu.pool_count <= 1024)",
        "an average over none, or over more than 1024 pixels",
    ),
    # The operation.
    Rule(
        "not drain.to_ppu or result.operation == Operation.NONE or result.act_min <= result.act_max",
        "an empty clamp of an operation",
    ),
    Rule("not drain.to_ppu or result.shift != 31 and result.shift + 32 != 0", "a shift beyond -31 to 30"),
    Rule(
        f"not drain.to_ppu or first.window == 0 or not {_ARRAY} and (result.operation == Operation.MAXIMUM or "
        "result.operation == Operation.MINIMUM or result.operation == Operation.SUM)",
        "a window of what has none",
    ),
    Rule("not drain.to_ppu or result.operation != Operation.SUM or first.window >= 1", "a sum over no window"),
    # The streams.
    Rule("used.IFMAP", "a pass without ifmap"),
    Rule(
        "(ifmap.destination == Destination.PIXELS) == (shape.mode == ArrayMode.POINTWISE) "
        "and (ifmap.destination == Destination.PPU) == (shape.mode == ArrayMode.ELEMENTWISE)",
        "ifmap words to where they are not taken",
    ),
    Rule(
        "not ifmap.packed_pixels or not ifmap.single and ifmap.destination != Destination.PPU",
        "packed pixels that come one by one",
    ),
    Rule(f"used.FILTER == ({_ARRAY} and shape.mode != ArrayMode.DEPTHWISE)", "filters without use, or none"),
    Rule(f"used.DEPTHWISE == {_DEPTHWISE}", "depthwise filters without use, or none"),
    Rule(
        f"used.TABLE == (drain.to_ppu and (not ppu.raw if {_ARRAY} else result.operation == Operation.SUM))",
        "tables without use, or none",
    ),
    Rule(f"used.IPSUM == (drain.ipsum and {_ARRAY})", "an ipsum without use, or none"),
    Rule("used.OFMAP == drain.to_ppu", "an ofmap without words, or none"),
    Rule(
        f"used.RESIDUAL == (drain.to_ppu and ({_OPERANDS} or result.operation == Operation.TABLE))",
        "a residual without use, or none",
    ),
    # The drain and what takes its sums.
    Rule(
        "not drain.two_pixels or ((drain.mode == DrainMode.CONVOLUTION or drain.mode == DrainMode.POINTWISE) and "
        "not drain.ipsum and (not drain.to_ppu or ppu.pool == PoolMode.NONE and "
        "result.operation == Operation.NONE))",
        "two pixels at a time of what leaves one by one",
    ),
)


def sizes(config: AcceleratorConfig) -> dict[str, int]:
    """The names of sizes that rules use."""
    within = sum(1 << row for row in range(config.rows - 1) if row % SET_ROWS != SET_ROWS - 1)
    return {"SETS": config.sets, "LN_WITHIN": within, **{name: getattr(config, name.lower()) for name in PARAMETERS}}


@cache
def _compiled(holds: str) -> CodeType:
    return compile(holds, "rule", "eval")


def broken_rule(config: AcceleratorConfig, descriptor: Descriptor) -> str | None:
    """The message of the first rule that a descriptor breaks; None: it is legal."""
    words: dict[str, Mapping[str, int]] = {
        "shape": descriptor.shape,
        "loops": descriptor.loops,
        "middle": descriptor.depthwise,
        "drain": descriptor.drain,
        "ppu": descriptor.ppu,
        "first": descriptor.first,
        "result": descriptor.result,
        "ifmap": descriptor.stream(Stream.IFMAP).options,
        "used": {stream.name: descriptor.uses(stream) for stream in Stream},
    }
    names: dict[str, object] = {name: SimpleNamespace(**fields) for name, fields in words.items()}
    kinds = ArrayMode, DrainMode, PoolMode, Operation, Destination
    names |= {kind.__name__: kind for kind in kinds}
    names |= sizes(config)
    for rule in RULES:
        if not eval(_compiled(rule.holds), {"__builtins__": {}}, names):
            return rule.message
    return None
