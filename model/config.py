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
DRAM_LATENCIES = range(1, 1001)  # legal, in cycles
READ_BEATS = 256  # while more are on their way, no load asks for others (BEATS of rtl/bus/axi_reader.sv)
DEPTHWISE_TAPS = 3  # columns of a depthwise kernel in the array; a smaller one has taps of zero


@dataclass(frozen=True)
class Size:
    """One parameter: its legal values, its meaning, and the reason for the bounds."""

    values: range | tuple[int, ...]
    meaning: str
    reason: str

    @property
    def rule(self) -> str:
        """Return the legal values in words."""
        if isinstance(self.values, range) and self.values.step == 1:
            return f"{self.values[0]} to {self.values[-1]}"
        *others, last = self.values
        return f"{', '.join(map(str, others))} or {last}"


def _size(default: int, values: range | tuple[int, ...], meaning: str, reason: str) -> int:
    """Return a field of AcceleratorConfig that is also a parameter of the RTL."""
    return field(default=default, metadata={"size": Size(values, meaning, reason)})


def _to(low: int, high: int) -> range:
    return range(low, high + 1)


@dataclass(frozen=True)
class AcceleratorConfig:
    """Sizes of one accelerator. docs/reference/parameters.md lists them.

    Two values describe the system around it and are no parameters of the RTL: clock_hz, a nominal clock rate for time
    and energy, and dram_latency, the cycles from a request to the DRAM's first beat, and from the last beat of a store
    to its response. Raise InputError, with one line, if a value is not legal.
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
        15,
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
    clock_hz: int = 200_000_000
    dram_latency: int = 30

    def __post_init__(self) -> None:
        for name, size in sizes().items():
            if getattr(self, name) not in size.values:
                raise InputError(f"{name} = {getattr(self, name)}: must be {size.rule}")
        if self.glb_words not in GLB_WORDS:
            raise InputError(f"glb_banks x glb_bank_words = {self.glb_words}: must be {GLB_RULE}")
        if self.clock_hz < 1:
            raise InputError(f"clock_hz = {self.clock_hz}: must be at least 1")
        if self.dram_latency not in DRAM_LATENCIES:
            raise InputError(f"dram_latency = {self.dram_latency}: must be {LATENCY_RULE}")

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
    return {item.name: item.metadata["size"] for item in fields(AcceleratorConfig) if item.metadata}


GLB_RULE = f"{GLB_WORDS[0]} to {GLB_WORDS[-1]}"
LATENCY_RULE = f"{DRAM_LATENCIES[0]} to {DRAM_LATENCIES[-1]}"
DEFAULT = AcceleratorConfig()
WIDE = AcceleratorConfig(bus_words=2, filter_lanes=2)  # DRAM and filter ports of 128 bits
