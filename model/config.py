# SPDX-License-Identifier: Apache-2.0
"""The configuration of an accelerator: the sizes that a user can choose, and which of them are legal.

AcceleratorConfig is their only definition. `scripts/gen_pkg.py` writes the same bounds as `rtl/configuration_check.sv`,
which rejects the same sizes at elaboration. docs/reference/parameters.md is generated from it. Tests check that they
agree. The widths of command and configuration fields do not depend on the sizes; `model/encoding.py` has them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from eyrie.model.errors import InputError
from eyrie.model.messages import about, unknown
from eyrie.model.reading import read_json

SET_ROWS = 3  # rows of a PE set, in every size: one filter row each
WORD_CHANNELS = 4  # int8 channels in the 32-bit word that a PE consumes
GLB_WORD_BYTES = 8  # a GLB word holds 8 channels of one pixel, or of one filter tap
MAX_GLB_WORDS = 1 << 16  # that an address reaches
GLB_WORDS = range(1 << 11, MAX_GLB_WORDS + 1)  # legal: 16 to 512 KiB
DEPTHWISE_TAPS = 7  # most columns of a depthwise kernel in the array
DEPTHWISE_BANDS = 3  # most bands of SET_ROWS rows that such a kernel has; the last one may have rows of zero
DEPTHWISE_PIXELS = 4  # pixels whose depthwise sums a PE holds (DwSumsDepth of pe)


@dataclass(frozen=True)
class Size:
    """One parameter: its legal values, its meaning, and the reason for the bounds."""

    values: range | tuple[int, ...]
    meaning: str
    reason: str

    @property
    def rule(self) -> str:
        """Return the legal values in words."""
        return rule(self.values)


def rule(values: range | tuple[int, ...]) -> str:
    """Return legal values in words."""
    if isinstance(values, range) and values.step == 1:
        return f"{values[0]} to {values[-1]}"
    *others, last = values
    return f"{', '.join(map(str, others))} or {last}"


def _size(default: int, values: range | tuple[int, ...], meaning: str, reason: str) -> int:
    """Return a field of AcceleratorConfig that is also a parameter of the RTL."""
    return field(default=default, metadata={"size": Size(values, meaning, reason)})


def _surrounding(default: int, values: range | tuple[int, ...], meaning: str, reason: str) -> int:
    """Return a field of AcceleratorConfig that describes the system around the accelerator."""
    return field(default=default, metadata={"surrounding": Size(values, meaning, reason)})


def _to(low: int, high: int) -> range:
    return range(low, high + 1)


@dataclass(frozen=True)
class AcceleratorConfig:
    """Sizes of one accelerator. docs/reference/parameters.md lists them.

    Three values describe the system around it and are no parameters of the RTL. Planner, cost model and simulated DRAM
    share those of the DRAM. Raise InputError, with one line, if a value is not legal.
    """

    rows: int = _size(
        6,
        range(SET_ROWS, 16, SET_ROWS),
        "PE rows, in sets of three",
        "a set has a row for each row of a kernel; IDs and link enables of the column adder chain end at 15 rows",
    )
    cols: int = _size(
        8, _to(2, 16), "PE columns", "an ipsum word is two columns; tags and the drain's column count end at 16"
    )
    multipliers: int = _size(
        4, (1, WORD_CHANNELS), "multipliers of a PE", "a word of 4 channels takes 4 cycles, or one"
    )
    glb_banks: int = _size(
        8,
        (4, 8, 16),
        "single-port banks of the GLB",
        "the bank is digits of the address; with fewer than 4 a two-word access occupies all of them, and "
        "the ports cannot use more than 16",
    )
    glb_bank_words: int = _size(
        1024, _to(128, 1 << 14), "64-bit words of a bank", "any number that makes a GLB of 16 to 512 KiB"
    )
    psum_words: int = _size(
        128,
        _to(32, 256),
        "32-bit sums in a half of a PE's psum buffer",
        "a tile has 8 filters at least: 4 of 4 pixels in a row, twice; an index of the column adder chain is 8 bits",
    )
    filter_words: int = _size(
        24, _to(3, 32), "32-bit words of a PE's filter queue", "a convolution holds at least one filter: three taps"
    )
    ifmap_words: int = _size(
        16,
        _to(4, 32),
        "32-bit words of a PE's ifmap queue",
        "a depthwise group is there as a whole: two pixels at stride 1, since blocks begin at even columns",
    )
    pixel_words: int = _size(
        14,
        _to(2, 32),
        "32-bit words of a PE's pixel queue",
        "a pointwise group is there as a whole: two pixels, since blocks begin at even columns",
    )
    word_buffer_words: int = _size(
        256,
        _to(64, 1024),
        "32-bit depthwise words that a SUPER keeps",
        "64 hold four pixels of 128 channels; an index of a word is 10 bits",
    )
    bus_words: int = _size(
        1, (1, 2), "64-bit words in a beat of the DRAM port", "the DMA's ports to the GLB have two lanes"
    )
    filter_lanes: int = _size(
        1, (1, 2), "filter words from the GLB to the array in a cycle", "the filter port has two lanes"
    )
    weight_codes: int = _size(0, (0, 1), "decoders of coded weights", "a LOAD port has one stream of beats")
    read_beats: int = _size(
        256,
        (64, 128, 256, 512, 1024),
        "beats under way from the DRAM, above which no load requests more",
        "a burst has 64 beats; at most 28 bursts of loads are under way",
    )
    clock_hz: int = _surrounding(200_000_000, _to(1, 10_000_000_000), "nominal clock rate", "for time and energy only")
    dram_latency: int = _surrounding(
        30,
        _to(1, 1000),
        "cycles from a request to the first beat of the DRAM, and from the last beat of a store to its response",
        "`read_beats` beats hide about as many cycles",
    )
    dram_interval: int = _surrounding(
        1,
        (1, 2, 4, 8),
        "cycles from a beat of the DRAM to the next one in the same direction",
        "the bytes of a cycle are a whole number",
    )

    def __post_init__(self) -> None:
        for name, size in (sizes() | surroundings()).items():
            if getattr(self, name) not in size.values:
                raise InputError(f"{name} = {getattr(self, name)}: must be {size.rule}")
        if self.glb_words not in GLB_WORDS:
            raise InputError(f"glb_banks x glb_bank_words = {self.glb_words}: must be {rule(GLB_WORDS)}")

    @property
    def sets(self) -> int:
        """Return the number of PE sets, which are stacked vertically."""
        return self.rows // SET_ROWS

    @property
    def glb_words(self) -> int:
        return self.glb_banks * self.glb_bank_words

    @property
    def glb_bytes(self) -> int:
        return self.glb_words * GLB_WORD_BYTES

    @property
    def dram_words(self) -> float:
        """Return the 64-bit words that the DRAM moves in a cycle in each direction."""
        return self.bus_words / self.dram_interval

    @property
    def dram_bytes(self) -> int:
        """Return the bytes that the DRAM moves in a cycle in each direction."""
        return GLB_WORD_BYTES * self.bus_words // self.dram_interval

    @property
    def total_multipliers(self) -> int:
        return self.rows * self.cols * self.multipliers

    @classmethod
    def load(cls, path: str | Path) -> "AcceleratorConfig":
        """Read a JSON object of parameters; a missing parameter keeps its default.

        Raise InputError, with one line, if a name is unknown, or a value is not an integer or out of range.
        """
        values = read_json(path, "give a JSON file with accelerator parameters")
        if not isinstance(values, dict):
            raise InputError(f"{path}: must be a JSON object, parameter by parameter")
        with about(path):
            return cls.of(values)

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "AcceleratorConfig":
        """Create a configuration from JSON values by parameter. Raise InputError as `load` does."""
        known, numbers = sorted(field.name for field in fields(cls)), dict[str, int]()
        for name, value in values.items():
            if name not in known:
                raise InputError(unknown("parameter", name, known))
            if type(value) is not int:
                raise InputError(f"{name} must be an integer, is {json.dumps(value)}")
            numbers[name] = value
        return cls(**numbers)

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    @property
    def parameters(self) -> dict[str, int]:
        """Return the values of the RTL parameters by their names in the RTL."""
        return {name.upper(): getattr(self, name) for name in sizes()}


def sizes() -> dict[str, Size]:
    """Return the RTL parameters by the names of their fields, in order."""
    return _described("size")


def surroundings() -> dict[str, Size]:
    """Return the values of the system by the names of their fields, in order."""
    return _described("surrounding")


def _described(kind: str) -> dict[str, Size]:
    return {item.name: item.metadata[kind] for item in fields(AcceleratorConfig) if kind in item.metadata}


DEFAULT = AcceleratorConfig()
CODED = AcceleratorConfig(filter_lanes=2, weight_codes=1)  # a decoder of weights, and a filter port for its words
WIDE = AcceleratorConfig(bus_words=2, filter_lanes=2)  # DRAM and filter ports of 128 bits
