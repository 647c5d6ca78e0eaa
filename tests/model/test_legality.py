# SPDX-License-Identifier: Apache-2.0
"""The rules of descriptors: what passes of every kind look like is legal, and each kind of nonsense is named."""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.window import Window
from eyrie.model import encoding as enc
from eyrie.model.config import DEFAULT
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Destination, Operation, Stream
from eyrie.model.legality import RULES, broken_rule
from eyrie.model.word import Word
from eyrie.testing import elementwise_layers, layers

KINDS = ("fused", "pointwise", "depthwise", "convolution", "elementwise", "maxima", "tall")


def descriptor(kind: str) -> Descriptor:
    rng = np.random.default_rng(1)
    if kind == "elementwise":
        layer, _ = elementwise_layers.operated(rng, "ADD", layers.int8(rng, 3, 4, 16))
        return layer.parts[0][0].descriptor
    if kind == "convolution":
        layer = layers.convolution(rng, dict(e=8, p=4, q=4, r=1, t=2), 8)
    elif kind == "tall":
        layer = layers.separable(rng, "depthwise", (20, 30, 6, 7), Window((5, 3), pads=(2, 2, 1, 1)))
    else:
        maxima = kind == "maxima"
        layer = layers.separable(
            rng, "fused" if maxima else kind, (20, 30, 6, 8 if maxima else 7), has={"maxima"} if maxima else set()
        )
    return layer.parts[0][0].descriptor


def with_fields(descriptor: Descriptor, word: tuple[int, Word], **fields: int) -> Descriptor:
    """Another one, of whose word so many fields differ."""
    index, format_ = word
    changed = Descriptor(descriptor.words)
    changed.set(index, format_, **{**format_.unpack(changed.words[index]), **fields})
    return changed


SHAPE, LOOPS = (enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE), (enc.ARRAY_LOOPS_INDEX, enc.ARRAY_LOOPS)
DRAIN, PPU = (enc.DRAIN_INDEX, enc.DRAIN), (enc.PPU_INDEX, enc.PPU)
MIDDLE = (enc.DEPTHWISE_INDEX, enc.DEPTHWISE)
IFMAP = (enc.STREAMS_INDEX + Stream.IFMAP * enc.STREAM_WORDS + enc.STREAM_OPTIONS_OFFSET, enc.STREAM_OPTIONS)
FIRST, SECOND = (enc.PPU_FIRST_INDEX, enc.PPU_FIRST), (enc.PPU_SECOND_INDEX, enc.PPU_SECOND)
RESULT = (enc.PPU_RESULT_INDEX, enc.PPU_RESULT)
PLANTED = (
    ("fused", SHAPE, {"pixels": 0}, "a pass needs at least one pixel"),
    ("fused", LOOPS, {"tiles": 0}, "every loop needs at least one iteration"),
    ("convolution", SHAPE, {"pixels": 33}, "psums of set row 0 do not fit a half of the psum buffer"),
    (
        "pointwise",
        SHAPE,
        {"pixels": 15, "filters_0": 1, "filters_1": 1, "filters_2": 1},
        "the pixels do not fit the pixel queue",
    ),
    ("fused", LOOPS, {"bands": 0}, "depthwise work, and no other, needs bands of kernel rows"),
    ("pointwise", LOOPS, {"bands": 1}, "depthwise work, and no other, needs bands of kernel rows"),
    ("fused", SHAPE, {"taps": 0}, "depthwise filters need at least one tap"),
    ("depthwise", SHAPE, {"pixels": 15}, "the depthwise group does not fit the ifmap queue"),
    ("tall", SHAPE, {"pixels": 5}, "a PE adds up the bands of at most 4 pixels"),
    ("depthwise", IFMAP, {"more_bands": 1}, "ifmap rows go to other bands than the pass has"),
    ("tall", SHAPE, {"taps": 7}, "the ifmap rows of all bands do not fit the ifmap queue"),
    ("convolution", SHAPE, {"pixels": 1, "filters_0": 9}, "filters of set row 0 do not fit the filter queue"),
    ("convolution", SHAPE, {"taps": 0}, "a convolution needs one to three taps"),
    ("convolution", SHAPE, {"taps": 4, "filters_0": 1}, "a convolution needs one to three taps"),
    ("convolution", SHAPE, {"rotation": 1}, "rotation needs a pointwise pass with filters in all three set rows"),
    ("fused", MIDDLE, {"act_min": 5, "act_max": -5}, "the clamp of depthwise words is empty"),
    ("fused", SHAPE, {"mode": enc.ArrayMode.DEPTHWISE}, "the drain mode does not match the array mode"),
    ("fused", DRAIN, {"columns": 9}, "the columns in use exceed the array"),
    ("pointwise", DRAIN, {"columns": 0}, "the columns in use exceed the array"),
    ("fused", DRAIN, {"block": 9}, "a block needs 1 to 8 filters"),
    ("fused", DRAIN, {"last_block": 0}, "the last block needs 1 to `block` filters"),
    ("fused", DRAIN, {"last_block": 9}, "the last block needs 1 to `block` filters"),
    ("convolution", DRAIN, {"last_block": 7}, "only pointwise passes may have a smaller last block"),
    ("fused", DRAIN, {"last_block": 5}, "the drain and the array have different filter counts"),
    ("convolution", DRAIN, {"chains": 3, "chain_sets": 1}, "a chain begins at a set beyond the array"),
    ("convolution", DRAIN, {"chains": 1}, "a block has more filters than its chains"),
    ("convolution", DRAIN, {"rows": 3}, "the filters of set row 2 differ from the drain"),
    ("convolution", DRAIN, {"blocks": 2}, "a convolution drains one block of filters per chain"),
    ("fused", DRAIN, {"blocks": 3}, "the drain and the array have different filter counts"),
    (
        "fused",
        DRAIN,
        {"pairs": 1},
        "pointwise filters must be assigned to all three set rows, in pairs only with two lanes",
    ),
    ("depthwise", DRAIN, {"block": 1, "last_block": 1}, "depthwise words need blocks of two halves and no ipsum"),
    ("fused", DRAIN, {"link_enable": 0b01011}, "a chain is cut within a set"),
    ("fused", PPU, {"raw": 1}, "raw words need drain mode WORDS and no other mode"),
    ("fused", PPU, {"pool": 3}, "unknown pooling mode"),
    ("depthwise", PPU, {"pool": enc.PoolMode.MAX}, "raw words cannot be pooled"),
    ("fused", PPU, {"act_min": 1, "act_max": 0}, "the clamp is empty"),
    ("maxima", DRAIN, {"columns": 5}, "max pooling needs an even number of columns and of pixels"),
    ("maxima", SHAPE, {"pixels": 3}, "max pooling needs an even number of columns and of pixels"),
    (
        "fused",
        PPU,
        {"pool": enc.PoolMode.AVERAGE, "pool_count": 0},
        "average pooling needs 1 to 1024 pixels",
    ),
    (
        "fused",
        PPU,
        {"pool": enc.PoolMode.AVERAGE, "pool_count": 1025},
        "average pooling needs 1 to 1024 pixels",
    ),
    ("fused", SECOND, {"operation": Operation.MUL}, "the residual stream does not match the operation"),
    ("fused", SECOND, {"operation": max(Operation) + 1}, "unknown operation"),
    ("elementwise", RESULT, {"act_min": 3, "act_max": 2}, "the clamp of the operation is empty"),
    ("pointwise", RESULT, {"shift": 31}, "the shift is not within -31 to 30"),
    ("pointwise", RESULT, {"shift": -32}, "the shift is not within -31 to 30"),
    ("pointwise", FIRST, {"window": 4}, "windows need MAXIMUM, MINIMUM or SUM in a vector pass"),
    ("fused", SHAPE, {"mode": 5}, "unknown array mode"),
    ("elementwise", SHAPE, {"filters_1": 1}, "a vector pass has no filters"),
    ("elementwise", SHAPE, {"mode": enc.ArrayMode.FUSED}, "a pass needs at least one pixel"),
    ("elementwise", DRAIN, {"mode": enc.DrainMode.POINTWISE}, "the drain mode does not match the array mode"),
    ("elementwise", DRAIN, {"to_ppu": 0}, "a vector pass needs the PPU"),
    ("elementwise", PPU, {"pool": enc.PoolMode.AVERAGE, "pool_count": 4}, "a vector pass cannot pool"),
    ("elementwise", FIRST, {"window": 4}, "windows need MAXIMUM, MINIMUM or SUM in a vector pass"),
    ("elementwise", SECOND, {"operation": Operation.SUM}, "SUM needs a window"),
    ("elementwise", SECOND, {"operation": Operation.NONE}, "the residual stream does not match the operation"),
    ("convolution", SHAPE, {"pixels": 20, "filters_1": 7}, "psums of set row 1 do not fit a half of the psum buffer"),
    ("convolution", SHAPE, {"pixels": 20, "filters_2": 7}, "psums of set row 2 do not fit a half of the psum buffer"),
    ("convolution", SHAPE, {"filters_1": 9}, "filters of set row 1 do not fit the filter queue"),
    ("convolution", SHAPE, {"filters_2": 9}, "filters of set row 2 do not fit the filter queue"),
    ("convolution", SHAPE, {"filters_0": 3}, "the filters of set row 0 differ from the drain"),
    ("convolution", DRAIN, {"rows": 5}, "the filters of set row 1 differ from the drain"),
    (
        "pointwise",
        IFMAP,
        {"destination": Destination.ROWS},
        "the destination of ifmap words does not match the array mode",
    ),
    (
        "fused",
        IFMAP,
        {"destination": Destination.PIXELS},
        "the destination of ifmap words does not match the array mode",
    ),
    (
        "elementwise",
        IFMAP,
        {"destination": Destination.ROWS},
        "the destination of ifmap words does not match the array mode",
    ),
    ("fused", PPU, {"pool": enc.PoolMode.AVERAGE}, "two pixels need psums without ipsum, pooling or operation"),
    ("depthwise", DRAIN, {"two_pixels": 1}, "two pixels need psums without ipsum, pooling or operation"),
    ("maxima", DRAIN, {"two_pixels": 1}, "two pixels need psums without ipsum, pooling or operation"),
    ("convolution", IFMAP, {"packed_pixels": 1, "single": 1}, "packed pixels need two lanes"),
    ("elementwise", IFMAP, {"packed_pixels": 1}, "packed pixels need two lanes"),
    ("elementwise", IFMAP, {"single": 0}, "the words of a vector pass without windows come one by one"),
)
STREAMS = (
    ("fused", Stream.IFMAP, "the ifmap stream is not in use"),
    ("fused", Stream.FILTER, "the filter stream does not match the array mode"),
    ("depthwise", Stream.FILTER, "the filter stream does not match the array mode"),
    ("pointwise", Stream.DEPTHWISE, "the depthwise stream does not match the array mode"),
    ("fused", Stream.PARAMETERS, "the parameter stream does not match the pass"),
    ("fused", Stream.IPSUM, "the ipsum stream does not match the drain"),
    ("fused", Stream.OFMAP, "the ofmap stream does not match the drain"),
    ("fused", Stream.RESIDUAL, "the residual stream does not match the operation"),
    ("elementwise", Stream.FILTER, "the filter stream does not match the array mode"),
    ("elementwise", Stream.PARAMETERS, "the parameter stream does not match the pass"),
    ("elementwise", Stream.RESIDUAL, "the residual stream does not match the operation"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_passes_are_legal(kind: str) -> None:
    assert broken_rule(DEFAULT, descriptor(kind)) is None


@pytest.mark.parametrize(("kind", "word", "fields", "message"), PLANTED)
def test_nonsense_is_named(kind: str, word: tuple[int, Word], fields: dict[str, int], message: str) -> None:
    assert broken_rule(DEFAULT, with_fields(descriptor(kind), word, **fields)) == message


@pytest.mark.parametrize(("kind", "stream", "message"), STREAMS)
def test_streams_go_with_the_work(kind: str, stream: Stream, message: str) -> None:
    wrong = Descriptor(descriptor(kind).words)
    wrong.words[enc.STREAMS_INDEX + stream * enc.STREAM_WORDS + enc.STREAM_OPTIONS_OFFSET] ^= 1
    assert broken_rule(DEFAULT, wrong) == message


def test_each_rule_is_broken_by_something() -> None:
    """By its message, which no other rule has."""
    messages = [rule.message for rule in RULES]
    assert len(set(messages)) == len(messages)
    assert {message for *_, message in (*PLANTED, *STREAMS)} == set(messages)


def test_sizes_count() -> None:
    """What a smaller machine has no room for is illegal there."""
    small = replace(DEFAULT, cols=4)
    assert broken_rule(small, descriptor("convolution")) == "the columns in use exceed the array"
