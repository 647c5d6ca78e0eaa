# SPDX-License-Identifier: Apache-2.0
"""Random configurations, legal ones and ones beyond the bounds, and their elaboration by Verilator."""

import re
import subprocess
from collections.abc import Iterator, Mapping

import numpy as np

from eyrie.model.config import GLB_WORDS, AcceleratorConfig, sizes
from eyrie.model.errors import InputError
from eyrie.runtime.folders import ROOT
from eyrie.runtime.simulator import verilator
from eyrie.runtime.simulator.sources import arguments, closure, parameters

LEGAL_SHARE = 0.75  # of the random configurations
# Values that are always included if the number of configurations allows it, besides random ones.
NAMED = {
    "rows": (3, 6, 9, 12, 15),
    "cols": (2, 4, 8, 14, 16),
    "multipliers": (1, 4),
    "glb_banks": (4, 8, 16),
    "psum_words": (32, 64, 128, 256),
    "filter_words": (3, 32),
    "ifmap_words": (4, 32),
    "pixel_words": (2, 32),
    "word_buffer_words": (64, 1024),
    "bus_words": (1, 2),
    "filter_lanes": (1, 2),
    "weight_codes": (0, 1),
    "read_beats": (64, 256, 1024),
    "glb_words": (GLB_WORDS[0], GLB_WORDS[-1]),
}
OTHERS = 3  # values of each parameter beside the named ones, drawn anew
_REJECTED = re.compile(r"%Warning-USER\w+: \S+ (.*)")


class _Deck:
    """A deck of values of a parameter: the named ones and some others, in any order, then again."""

    def __init__(self, rng: np.random.Generator, name: str) -> None:
        self.rng, self.name = rng, name
        self.left: list[int] = []

    def draw(self) -> int:
        if not self.left:
            self.left = list(NAMED[self.name])
            if self.name == "glb_words":
                low, high = np.log2([GLB_WORDS[0], GLB_WORDS[-1]])
                self.left += [int(2 ** self.rng.uniform(low, high)) for _ in range(OTHERS)]
            elif isinstance(values := sizes()[self.name].values, range) and len(values) > len(self.left):
                self.left += self.rng.choice(values, OTHERS).tolist()
            self.rng.shuffle(self.left)
        return self.left.pop()


def random_configs(seed: int, count: int, most_pes: int = 240) -> list[dict[str, int]]:
    """Return random sizes by the names of AcceleratorConfig's fields, in any order.

    Three of four configurations are legal, with at most `most_pes` PEs. The others have one size beyond a bound.
    """
    rng = np.random.default_rng(seed)
    legal, wrong = _legal(rng, most_pes), _wrong_sizes(rng)
    within = -(-int(count * LEGAL_SHARE * 100) // 100)
    drawn = [next(legal) for _ in range(within)] + [next(legal) | next(wrong) for _ in range(count - within)]
    return [drawn[n] for n in rng.permutation(count)]


def _legal(rng: np.random.Generator, most_pes: int) -> Iterator[dict[str, int]]:
    decks = {name: _Deck(rng, name) for name in NAMED}
    while True:
        config = {name: decks[name].draw() for name in NAMED if name not in ("rows", "cols")}
        config["glb_bank_words"] = config.pop("glb_words") // config["glb_banks"]
        for _ in range(100):
            array = {name: decks[name].draw() for name in ("rows", "cols")}
            if array["rows"] * array["cols"] <= most_pes:
                break
        yield config | array


def _wrong_sizes(rng: np.random.Generator) -> Iterator[dict[str, int]]:
    """Yield illegal sizes, one parameter after the other, including the GLB's product."""
    while True:
        for name in rng.permutation([*sizes(), "glb_words"]).tolist():
            if name == "glb_words":
                banks, words = [(4, 511), (8, 255), (8, 8193), (16, 4097)][rng.integers(4)]
                yield {"glb_banks": banks, "glb_bank_words": words}
            else:
                yield {name: int(rng.choice(beyond(name)[:-1]))}


def beyond(name: str) -> list[int]:
    """Return illegal values of a parameter: next to the ends, between legal ones, and one far away."""
    values = sizes()[name].values
    inside = [value for value in range(values[0], values[-1]) if value not in values]
    below = [0, values[0] - 1] if values[0] else []
    return [*below, *inside[:2], values[-1] + 1, 2 * values[-1] + 1, 1 << 20]


def edges(name: str) -> list[int]:
    """Return legal values of a parameter: the ends and their neighbours."""
    values = sizes()[name].values
    return sorted({values[0], values[1], values[-2], values[-1]})


def model_rejection(config: Mapping[str, int]) -> str | None:
    """Return AcceleratorConfig's reason to reject a configuration, in the words of the RTL; None if it is legal."""
    try:
        AcceleratorConfig(**config)
    except InputError as error:
        named, _, rest = str(error).partition(" = ")
        return f"{re.sub('[a-z_]{2,}', lambda word: word[0].upper(), named)} = {rest}"
    return None


def rtl_rejections(config: Mapping[str, int]) -> list[str]:
    """Return the reasons of `configuration_check` to reject a configuration when Verilator elaborates it.

    The list is empty if the configuration is legal.
    """
    said = elaboration("configuration_check", config)
    rejected = _REJECTED.findall(said)
    assert bool(rejected) == bool(said), said
    return rejected


def elaboration(top: str, config: Mapping[str, int]) -> str:
    """Return Verilator's messages for the elaboration of a module with a configuration; an empty text means success."""
    known = parameters(top)
    generics = [f"-G{name.upper()}={value}" for name, value in config.items() if name.upper() in known]
    command = [*verilator.command(), *"--lint-only --quiet --no-timing --assert --top-module".split()]
    ended = subprocess.run(
        [*command, top, *generics, *arguments(closure(top))],
        cwd=ROOT,
        env=verilator.environment(),
        capture_output=True,
        text=True,
    )
    return ended.stdout + ended.stderr if ended.returncode else ""


def disagreement(config: Mapping[str, int], top: str) -> str | None:
    """Return how model and RTL disagree about a configuration, or None if they agree.

    Both must reject an illegal one in the same words, and the module `top`, which has these sizes, must not elaborate.
    Both must accept a legal one, and `top` must elaborate.
    """
    reason, rejections, wrong = model_rejection(config), rtl_rejections(config), elaboration(top, config)
    if (reason in rejections) if reason else not rejections:
        if bool(wrong) == bool(reason):
            return None
        return f"{top} is legal, and does not elaborate:\n{wrong}" if wrong else f"{top} elaborates, but {reason}"
    return f"the model says {reason}, the RTL {rejections}"
