# SPDX-License-Identifier: Apache-2.0
"""The thresholds of the accelerator, one a line, and their comparison with the results of `eyrie bench` and `eyrie
family`.
"""

from dataclasses import dataclass

COMPARISONS = {"<=": lambda value, limit: value <= limit, ">=": lambda value, limit: value >= limit}


def _by_name(entries: dict | list[dict]) -> dict:
    """Return the entries by name; a list becomes a dictionary by the names of its entries."""
    return {entry["name"]: entry for entry in entries} if isinstance(entries, list) else entries


@dataclass(frozen=True)
class Bar:
    """A bound of a value of summary.json.

    key         names on the way to the value, a list's entry by its `name`: "layers.block2.roofline_share"
    comparison  of COMPARISONS, with the value at the left
    limit       in the unit of the value
    about       meaning of the value
    command     that measures it
    """

    key: str
    comparison: str
    limit: float
    about: str
    command: str

    def value(self, summary: dict) -> float:
        """Return the value in a summary. Raise KeyError if it has none."""
        *outer, last = self.key.split(".")
        for name in outer:
            summary = _by_name(summary[name])
        return summary[last]

    def met(self, value: float) -> bool:
        return COMPARISONS[self.comparison](value, self.limit)

    def line(self, value: float | None) -> str:
        """Return the line about a value; None means that the measurement ran without giving the value."""
        measured = "not measured" if value is None else f"{value:,}"
        verdict = "met" if value is not None and self.met(value) else "MISSED"
        return f"{verdict:6} {self.about}: {measured} {self.comparison} {self.limit:,} ({self.key}, {self.command})"


def _part(name: str) -> str:
    return f"make bench PARTS={name}"


THRESHOLDS = [
    Bar("cycles", "<=", 209_000, "network, cycles", "make bench"),
    Bar("dram_over_compulsory", "<=", 1.03, "network, DRAM bytes / compulsory bytes", "make bench"),
    Bar("glb_bytes", "<=", 3_300_000, "network, GLB bytes", "make bench"),
    *(
        Bar(f"layers.block{n}.roofline_share", ">=", 0.87, f"block {n}, roofline / cycles", "make bench")
        for n in range(2, 6)
    ),
    Bar("latency100.cycles", "<=", 209_600, "network at a DRAM latency of 100, cycles", _part("latency100")),
    Bar("batch4.cycles_per_image", "<=", 148_000, "four images at once, cycles an image", _part("batch4")),
    Bar("codes.cycles", "<=", 182_000, "coded weights, cycles", _part("codes")),
    Bar("codes.dram_bytes_per_image", "<=", 860_000, "coded weights, DRAM bytes", _part("codes")),
    Bar("bus128.cycles", "<=", 159_800, "ports of 128 bits, cycles", _part("bus128")),
    Bar("mult48.cycles", "<=", 585_000, "one multiplier in each PE, cycles", _part("mult48")),
    Bar("cost_model.worst_share_of_bound", "<=", 1, "cost model, worst error / allowed error", _part("cost_model")),
]

# Over the whole family; docs/developer/testbenches.md has the targets.
FAMILY_BARS = [
    Bar("geometric_mean", "<=", 1.18, "family, cycles / roofline, geometric mean", "make family"),
    Bar("most_over_roofline", "<=", 1.38, "family, cycles / roofline, largest", "make family"),
    Bar("searched_over_roofline", "<=", 1.6, "networks from search, cycles / roofline, largest", "make family"),
    Bar("worst_prediction_error", "<=", 0.03, "family, |predicted / measured - 1|, largest", "make family"),
]


def judged(summary: dict, skipped: set[str], thresholds: list[Bar] = THRESHOLDS) -> list[tuple[Bar, float | None]]:
    """Return the thresholds of the measurements that ran, with their values; `skipped` did not run.

    The value is None if the measurement did not give it.
    """
    found: list[tuple[Bar, float | None]] = []
    for bar in thresholds:
        if bar.key.split(".")[0] not in skipped:
            try:
                found.append((bar, bar.value(summary)))
            except KeyError:
                found.append((bar, None))
    return found


def entries(results: list[tuple[Bar, float | None]]) -> list[dict]:
    """Return the entries for summary.json."""
    return [
        {
            "key": bar.key,
            "comparison": bar.comparison,
            "limit": bar.limit,
            "value": value,
            "met": value is not None and bar.met(value),
        }
        for bar, value in results
    ]
