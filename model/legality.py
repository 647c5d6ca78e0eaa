# SPDX-License-Identifier: Apache-2.0
"""The rules for a legal pass descriptor: one list for the functional simulator and for the RTL.

A PASS whose descriptor breaks a rule stops the accelerator with ErrorCode.DESCRIPTOR before the pass begins. The
rules reject descriptors that lose words or sums silently or that address missing rows, columns or sets. A pass that
waits for words that never come is left to the watchdog. `scripts/gen_pkg.py` writes the rules as
`rtl/pass/descriptor_rules.sv`.

A rule is a Python expression. It may use the fields of the descriptor's words (shape, loops, drain, ppu; middle is the
depthwise output, first and result belong to the elementwise operation, ifmap holds the options of the ifmap stream),
the streams in use (used.IFMAP, ...) and the parameters of the RTL by name. SETS is the number of sets, and
LINKS_WITHIN_SET has the link enable bits within sets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType, SimpleNamespace

from eyrie.model.config import DEPTHWISE_PIXELS, SET_ROWS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import OF_TWO, ArrayMode, Destination, DrainMode, Operation, PoolMode, Stream

PARAMETERS = ("ROWS", "COLS", "IFMAP_WORDS", "FILTER_WORDS", "PIXEL_WORDS", "PSUM_WORDS", "FILTER_LANES")


@dataclass(frozen=True)
class Rule:
    """A rule: `holds` is an expression that is true for a legal descriptor; `message` is the line if it is not."""

    holds: str
    message: str


_DEPTHWISE = "(shape.mode == ArrayMode.FUSED or shape.mode == ArrayMode.DEPTHWISE)"
_ARRAY = "(shape.mode != ArrayMode.ELEMENTWISE)"
_OF_TWO = " or ".join(f"second.operation == Operation.{kind.name}" for kind in OF_TWO)
_OPERANDS = (
    f"({_OF_TWO} or first.window == 0 and "
    "(second.operation == Operation.MAXIMUM or second.operation == Operation.MINIMUM))"
)
_POINTWISE = "(shape.mode == ArrayMode.FUSED or shape.mode == ArrayMode.POINTWISE)"
# Words of a depthwise group, without a multiplier.
_IFMAP_ROW = "(shape.pixels - 1 + (shape.pixels - 1 if shape.stride_2 else 0) + shape.taps)"

RULES = (
    # The array.
    Rule("shape.mode <= ArrayMode.ELEMENTWISE", "unknown array mode"),
    Rule(f"not {_ARRAY} or shape.pixels >= 1", "a pass needs at least one pixel"),
    Rule(
        f"not {_ARRAY} or loops.groups >= 1 and loops.inner >= 1 and loops.tiles >= 1 and loops.outer >= 1",
        "every loop needs at least one iteration",
    ),
    Rule(f"{_ARRAY} or shape.filters_0 + shape.filters_1 + shape.filters_2 == 0", "a vector pass has no filters"),
    *(
        Rule(
            f"shape.mode == ArrayMode.DEPTHWISE or shape.pixels * shape.filters_{row} <= PSUM_WORDS",
            f"psums of set row {row} do not fit a half of the psum buffer",
        )
        for row in range(SET_ROWS)
    ),
    Rule(f"not {_POINTWISE} or shape.pixels <= PIXEL_WORDS", "the pixels do not fit the pixel queue"),
    Rule(f"{_DEPTHWISE} == (loops.bands >= 1)", "depthwise work, and no other, needs bands of kernel rows"),
    Rule(f"not {_DEPTHWISE} or shape.taps >= 1", "depthwise filters need at least one tap"),
    Rule(
        f"not {_DEPTHWISE} or {_IFMAP_ROW} <= IFMAP_WORDS",
        "the depthwise group does not fit the ifmap queue",
    ),
    Rule(
        f"loops.bands <= 1 or shape.pixels <= {DEPTHWISE_PIXELS}",
        f"a PE adds up the bands of at most {DEPTHWISE_PIXELS} pixels",
    ),
    Rule(
        "ifmap.more_bands == 0 or ifmap.more_bands + 1 == loops.bands",
        "ifmap rows go to other bands than the pass has",
    ),
    Rule(  # a product with `bands` would need a multiplier
        f"ifmap.more_bands == 0 or {_IFMAP_ROW} <= (IFMAP_WORDS // 3 if loops.bands == 3 else IFMAP_WORDS // 2)",
        "the ifmap rows of all bands do not fit the ifmap queue",
    ),
    *(
        Rule(
            f"shape.mode != ArrayMode.CONVOLUTION or shape.taps * shape.filters_{row} <= FILTER_WORDS",
            f"filters of set row {row} do not fit the filter queue",
        )
        for row in range(SET_ROWS)
    ),
    Rule(
        f"shape.rotation == 0 or {_POINTWISE} and shape.rotation < 3 and "
        "shape.filters_0 >= 1 and shape.filters_1 >= 1 and shape.filters_2 >= 1",
        "rotation needs a pointwise pass with filters in all three set rows",
    ),
    Rule(
        "shape.mode != ArrayMode.CONVOLUTION or shape.taps >= 1 and shape.taps <= 3",
        "a convolution needs one to three taps",
    ),
    Rule(f"not {_DEPTHWISE} or middle.act_min <= middle.act_max", "the clamp of depthwise words is empty"),
    # The drain.
    Rule(
        "(drain.mode == DrainMode.NONE) == (shape.mode == ArrayMode.ELEMENTWISE) "
        "and (drain.mode == DrainMode.CONVOLUTION) == (shape.mode == ArrayMode.CONVOLUTION) "
        "and (drain.mode == DrainMode.WORDS) == (shape.mode == ArrayMode.DEPTHWISE)",
        "the drain mode does not match the array mode",
    ),
    Rule(f"not {_ARRAY} or 1 <= drain.columns and drain.columns <= COLS", "the columns in use exceed the array"),
    Rule(
        f"not {_ARRAY} or 1 <= drain.block and drain.block <= 8 and drain.blocks >= 1 and drain.set_filters >= 1",
        "a block needs 1 to 8 filters",
    ),
    Rule(
        f"not {_ARRAY} or 1 <= drain.last_block and drain.last_block <= drain.block",
        "the last block needs 1 to `block` filters",
    ),
    Rule(
        f"not {_ARRAY} or drain.mode == DrainMode.POINTWISE or drain.last_block == drain.block",
        "only pointwise passes may have a smaller last block",
    ),
    Rule(
        f"not {_ARRAY} or drain.chains >= 1 and (drain.chains - 1) * drain.chain_sets < SETS",
        "a chain begins at a set beyond the array",
    ),
    Rule(
        f"not {_ARRAY} or drain.mode == DrainMode.POINTWISE or "
        "drain.block <= drain.set_filters * (1 if drain.fold else drain.chains)",
        "a block has more filters than its chains",
    ),
    *(
        Rule(
            f"drain.mode != DrainMode.CONVOLUTION or shape.filters_{row} == "
            f"(drain.set_filters if (drain.rows >> {row}) & 1 else 0)",
            f"the filters of set row {row} differ from the drain",
        )
        for row in range(SET_ROWS)
    ),
    Rule(
        "drain.mode != DrainMode.CONVOLUTION or drain.blocks == 1",
        "a convolution drains one block of filters per chain",
    ),
    Rule(
        "drain.mode != DrainMode.POINTWISE or drain.block * drain.blocks == "
        "shape.filters_0 + shape.filters_1 + shape.filters_2 + (drain.block - drain.last_block)",
        "the drain and the array have different filter counts",
    ),
    Rule(
        "drain.mode != DrainMode.POINTWISE or (drain.rows == 7 and drain.pairs < FILTER_LANES)",
        "pointwise filters must be assigned to all three set rows, in pairs only with two lanes",
    ),
    Rule(
        "drain.mode != DrainMode.WORDS or (drain.block == 2 and not drain.ipsum)",
        "depthwise words need blocks of two halves and no ipsum",
    ),
    Rule(f"not {_ARRAY} or drain.link_enable & LINKS_WITHIN_SET == LINKS_WITHIN_SET", "a chain is cut within a set"),
    # The PPU.
    Rule(f"{_ARRAY} or drain.to_ppu", "a vector pass needs the PPU"),
    Rule(
        "not drain.to_ppu or ppu.raw == (drain.mode == DrainMode.WORDS)",
        "raw words need drain mode WORDS and no other mode",
    ),
    Rule("not drain.to_ppu or ppu.pool <= PoolMode.MAX", "unknown pooling mode"),
    Rule("not drain.to_ppu or not ppu.raw or ppu.pool == PoolMode.NONE", "raw words cannot be pooled"),
    Rule(f"{_ARRAY} or ppu.pool == PoolMode.NONE", "a vector pass cannot pool"),
    Rule("not drain.to_ppu or ppu.raw or ppu.act_min <= ppu.act_max", "the clamp is empty"),
    Rule(
        "not drain.to_ppu or ppu.pool != PoolMode.MAX or ((drain.columns | shape.pixels) & 1 == 0)",
        "max pooling needs an even number of columns and of pixels",
    ),
    Rule(
        "not drain.to_ppu or ppu.pool != PoolMode.AVERAGE or (1 <= ppu.pool_count and ppu.pool_count <= 1024)",
        "average pooling needs 1 to 1024 pixels",
    ),
    # The operation.
    Rule(f"not drain.to_ppu or second.operation <= Operation.{max(Operation).name}", "unknown operation"),
    Rule(
        "not drain.to_ppu or second.operation == Operation.NONE or result.act_min <= result.act_max",
        "the clamp of the operation is empty",
    ),
    Rule("not drain.to_ppu or result.shift != 31 and result.shift + 32 != 0", "the shift is not within -31 to 30"),
    Rule(
        f"not drain.to_ppu or first.window == 0 or not {_ARRAY} and (second.operation == Operation.MAXIMUM or "
        "second.operation == Operation.MINIMUM or second.operation == Operation.SUM)",
        "windows need MAXIMUM, MINIMUM or SUM in a vector pass",
    ),
    Rule("not drain.to_ppu or second.operation != Operation.SUM or first.window >= 1", "SUM needs a window"),
    # The streams.
    Rule("used.IFMAP", "the ifmap stream is not in use"),
    Rule(
        "(ifmap.destination == Destination.PIXELS) == (shape.mode == ArrayMode.POINTWISE) "
        "and (ifmap.destination == Destination.PPU) == (shape.mode == ArrayMode.ELEMENTWISE)",
        "the destination of ifmap words does not match the array mode",
    ),
    Rule(
        "not ifmap.packed_pixels or not ifmap.single",
        "packed pixels need two lanes",
    ),
    Rule(
        f"{_ARRAY} or ifmap.single or first.window != 0",
        "the words of a vector pass without windows come one by one",
    ),
    Rule(
        f"used.FILTER == ({_ARRAY} and shape.mode != ArrayMode.DEPTHWISE)",
        "the filter stream does not match the array mode",
    ),
    Rule(f"used.DEPTHWISE == {_DEPTHWISE}", "the depthwise stream does not match the array mode"),
    Rule(
        f"used.PARAMETERS == (drain.to_ppu and (not ppu.raw if {_ARRAY} else second.operation == Operation.SUM))",
        "the parameter stream does not match the pass",
    ),
    Rule(f"used.IPSUM == (drain.ipsum and {_ARRAY})", "the ipsum stream does not match the drain"),
    Rule("used.OFMAP == drain.to_ppu", "the ofmap stream does not match the drain"),
    Rule(
        f"used.RESIDUAL == (drain.to_ppu and ({_OPERANDS} or second.operation == Operation.TABLE))",
        "the residual stream does not match the operation",
    ),
    # The psum readout and the units that receive its sums.
    Rule(
        "not drain.two_pixels or ((drain.mode == DrainMode.CONVOLUTION or drain.mode == DrainMode.POINTWISE) and "
        "not drain.ipsum and (not drain.to_ppu or ppu.pool == PoolMode.NONE and "
        "second.operation == Operation.NONE))",
        "two pixels need psums without ipsum, pooling or operation",
    ),
)


def sizes(config: AcceleratorConfig) -> dict[str, int]:
    """Return the names of sizes that rules use, with their values."""
    within = sum(1 << row for row in range(config.rows - 1) if row % SET_ROWS != SET_ROWS - 1)
    return {
        "SETS": config.sets,
        "LINKS_WITHIN_SET": within,
        **{name: getattr(config, name.lower()) for name in PARAMETERS},
    }


@cache
def _compiled(holds: str) -> CodeType:
    return compile(holds, "rule", "eval")


def broken_rule(config: AcceleratorConfig, descriptor: Descriptor) -> str | None:
    """Return the message of the first rule that a descriptor breaks, or None if it is legal."""
    words: dict[str, Mapping[str, int]] = {
        "shape": descriptor.shape,
        "loops": descriptor.loops,
        "middle": descriptor.depthwise,
        "drain": descriptor.drain,
        "ppu": descriptor.ppu,
        "first": descriptor.first,
        "second": descriptor.second,
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
