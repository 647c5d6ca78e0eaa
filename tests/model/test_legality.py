# SPDX-License-Identifier: Apache-2.0
"""The rules of descriptors: what passes of every kind look like is legal, and each kind of nonsense is named."""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.model import encoding as enc
from eyrie.model.config import DEFAULT
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Destination, Operation, Stream
from eyrie.model.legality import RULES, broken_rule
from eyrie.model.word import Word
from eyrie.testing import elementwise_layers, layers

KINDS = ("fused", "pointwise", "depthwise", "convolution", "elementwise", "maxima")


def descriptor(kind: str) -> Descriptor:
    rng = np.random.default_rng(1)
    if kind == "elementwise":
        layer, _ = elementwise_layers.operated(rng, "ADD", layers.int8(rng, 3, 4, 16))
        return layer.parts[0][0].descriptor
    if kind == "convolution":
        layer = layers.convolution(rng, dict(e=8, p=4, q=4, r=1, t=2), 8)
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
FIRST, RESULT = (enc.PPU_FIRST_INDEX, enc.PPU_FIRST), (enc.PPU_RESULT_INDEX, enc.PPU_RESULT)
PLANTED = (
    ("fused", SHAPE, {"pixels": 0}, "a pass of no pixels"),
    ("fused", LOOPS, {"tiles": 0}, "a loop of none"),
    ("convolution", SHAPE, {"pixels": 33}, "sums of row 0 of a set do not fit a psum half"),
    (
        "pointwise",
        SHAPE,
        {"pixels": 15, "filters_0": 1, "filters_1": 1, "filters_2": 1},
        "pixels do not fit the pixel queue",
    ),
    ("fused", SHAPE, {"taps": 2}, "depthwise work has three taps"),
    ("depthwise", SHAPE, {"pixels": 14}, "a depthwise group does not fit the ifmap queue"),
    ("convolution", SHAPE, {"pixels": 1, "filters_0": 9}, "filters of row 0 of a set do not fit the filter queue"),
    ("convolution", SHAPE, {"taps": 0}, "a convolution of no taps"),
    ("convolution", SHAPE, {"deal": 1}, "a deal that goes on where there is none, or to rows without filters"),
    ("fused", MIDDLE, {"act_min": 5, "act_max": -5}, "an empty clamp of depthwise words"),
    ("fused", SHAPE, {"mode": enc.ArrayMode.DEPTHWISE}, "the drain takes other sums than the array makes"),
    ("fused", DRAIN, {"columns": 9}, "columns that there are not"),
    ("pointwise", DRAIN, {"columns": 0}, "columns that there are not"),
    ("fused", DRAIN, {"block": 9}, "a block of none, or of more than 8"),
    ("fused", DRAIN, {"last_block": 0}, "a last block of none, or of more than the others"),
    ("fused", DRAIN, {"last_block": 9}, "a last block of none, or of more than the others"),
    ("convolution", DRAIN, {"last_block": 7}, "a last block of fewer filters where these are not dealt"),
    ("fused", DRAIN, {"last_block": 5}, "the drain takes other filters than the array has"),
    ("convolution", DRAIN, {"heads": 3, "head_sets": 1}, "a chain at a set that there is not"),
    ("convolution", DRAIN, {"heads": 1}, "a block of more filters than its chains have"),
    ("convolution", DRAIN, {"rows": 3}, "row 2 of a set has other filters than the drain takes"),
    ("convolution", DRAIN, {"blocks": 2}, "a convolution drains block by block"),
    ("fused", DRAIN, {"blocks": 3}, "the drain takes other filters than the array has"),
    ("fused", DRAIN, {"pairs": 1}, "filters are not dealt as they come"),
    ("depthwise", DRAIN, {"block": 1, "last_block": 1}, "words are halves without ipsum"),
    ("fused", DRAIN, {"ln": 0b01011}, "a chain is cut within a set"),
    ("fused", PPU, {"raw": 1}, "the PPU gets other words than it takes"),
    ("fused", PPU, {"pool": 3}, "a pooling that there is not"),
    ("depthwise", PPU, {"pool": enc.PoolMode.MAX}, "raw words are not pooled"),
    ("fused", PPU, {"act_min": 1, "act_max": 0}, "an empty clamp"),
    ("maxima", DRAIN, {"columns": 5}, "maxima of an odd number of columns or pixels"),
    ("maxima", SHAPE, {"pixels": 3}, "maxima of an odd number of columns or pixels"),
    (
        "fused",
        PPU,
        {"pool": enc.PoolMode.AVERAGE, "pool_count": 0},
        "an average over none, or over more than 1024 pixels",
    ),
    (
        "fused",
        PPU,
        {"pool": enc.PoolMode.AVERAGE, "pool_count": 1025},
        "an average over none, or over more than 1024 pixels",
    ),
    ("fused", RESULT, {"operation": Operation.MUL}, "a residual without use, or none"),
    ("fused", RESULT, {"operation": Operation.ADD, "act_min": 3, "act_max": 2}, "an empty clamp of an operation"),
    ("pointwise", RESULT, {"shift": 31}, "a shift beyond -31 to 30"),
    ("pointwise", RESULT, {"shift": -32}, "a shift beyond -31 to 30"),
    ("pointwise", FIRST, {"window": 4}, "a window of what has none"),
    ("fused", SHAPE, {"mode": 5}, "a mode that there is not"),
    ("elementwise", SHAPE, {"filters_1": 1}, "filters of an elementwise pass"),
    ("elementwise", SHAPE, {"mode": enc.ArrayMode.FUSED}, "a pass of no pixels"),
    ("elementwise", DRAIN, {"mode": enc.DrainMode.POINTWISE}, "the drain takes other sums than the array makes"),
    ("elementwise", DRAIN, {"to_ppu": 0}, "an elementwise pass without the PPU"),
    ("elementwise", PPU, {"pool": enc.PoolMode.AVERAGE, "pool_count": 4}, "a pooling of an elementwise pass"),
    ("elementwise", FIRST, {"window": 4}, "a window of what has none"),
    ("elementwise", RESULT, {"operation": Operation.SUM}, "a sum over no window"),
    ("elementwise", RESULT, {"operation": Operation.NONE}, "a residual without use, or none"),
    ("convolution", SHAPE, {"pixels": 20, "filters_1": 7}, "sums of row 1 of a set do not fit a psum half"),
    ("convolution", SHAPE, {"pixels": 20, "filters_2": 7}, "sums of row 2 of a set do not fit a psum half"),
    ("convolution", SHAPE, {"filters_1": 9}, "filters of row 1 of a set do not fit the filter queue"),
    ("convolution", SHAPE, {"filters_2": 9}, "filters of row 2 of a set do not fit the filter queue"),
    ("convolution", SHAPE, {"filters_0": 3}, "row 0 of a set has other filters than the drain takes"),
    ("convolution", DRAIN, {"rows": 5}, "row 1 of a set has other filters than the drain takes"),
    ("pointwise", IFMAP, {"destination": Destination.ROWS}, "ifmap words to where they are not taken"),
    ("fused", IFMAP, {"destination": Destination.PIXELS}, "ifmap words to where they are not taken"),
    ("elementwise", IFMAP, {"destination": Destination.ROWS}, "ifmap words to where they are not taken"),
    ("fused", PPU, {"pool": enc.PoolMode.AVERAGE}, "two pixels at a time of what leaves one by one"),
    ("depthwise", DRAIN, {"two_pixels": 1}, "two pixels at a time of what leaves one by one"),
    ("maxima", DRAIN, {"two_pixels": 1}, "two pixels at a time of what leaves one by one"),
    ("convolution", IFMAP, {"packed_pixels": 1, "single": 1}, "packed pixels that come one by one"),
    ("elementwise", IFMAP, {"packed_pixels": 1}, "packed pixels that come one by one"),
)
STREAMS = (
    ("fused", Stream.IFMAP, "a pass without ifmap"),
    ("fused", Stream.FILTER, "filters without use, or none"),
    ("depthwise", Stream.FILTER, "filters without use, or none"),
    ("pointwise", Stream.DEPTHWISE, "depthwise filters without use, or none"),
    ("fused", Stream.TABLE, "tables without use, or none"),
    ("fused", Stream.IPSUM, "an ipsum without use, or none"),
    ("fused", Stream.OFMAP, "an ofmap without words, or none"),
    ("fused", Stream.RESIDUAL, "a residual without use, or none"),
    ("elementwise", Stream.FILTER, "filters without use, or none"),
    ("elementwise", Stream.TABLE, "tables without use, or none"),
    ("elementwise", Stream.RESIDUAL, "a residual without use, or none"),
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
    """What a smaller configuration has no room for is illegal there."""
    small = replace(DEFAULT, cols=4)
    assert broken_rule(small, descriptor("convolution")) == "columns that there are not"
