# SPDX-License-Identifier: Apache-2.0
"""A design space, from a TOML file: models, and the values of parameters that are combined.

models = ["bundled", "kws.tflite"]     # files beside the space's file; "bundled": the bundled network

[configuration]                        # parameters of the accelerator (docs/reference/parameters.md)
rows = [3, 6]
cols = [4, 8]

[options]                              # of the compiler
objective = ["cycles", "energy"]
search_iterations = [100, 800]
"""

import itertools
import math
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from eyrie.compiler.frontend.file import read_model
from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.measure import Entry
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about, unknown
from eyrie.model.reading import check_readable

BUNDLED = "bundled"
OPTIONS: dict[str, object] = {"objective": OBJECTIVES[0], "search_iterations": SEARCH_ITERATIONS}
MANY = 20_000  # combinations that are enumerated
SECTIONS = ("models", "configuration", "options")


@dataclass(frozen=True)
class Point:
    """A point of a space: values that differ from the default, by parameter, of the accelerator and of the compiler."""

    configuration: dict[str, int]
    options: Entry

    @property
    def config(self) -> AcceleratorConfig:
        """The configuration. Raise InputError if it is not legal."""
        return AcceleratorConfig.of(self.configuration)

    @property
    def values(self) -> Entry:
        return self.configuration | self.options

    @property
    def name(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values.items()) or "default"


@dataclass(frozen=True)
class Space:
    """A design space.

    path           its file
    models         files by name
    configuration  values of the accelerator's parameters
    options        values of the compiler's options
    """

    path: Path
    models: dict[str, Path]
    configuration: dict[str, list[int]]
    options: dict[str, list]

    @classmethod
    def load(cls, path: Path) -> "Space":
        """Read a space. Raise InputError, with one line."""
        check_readable(path, "give a TOML file with a design space (docs/howto/explore.md)")
        with about(path):
            try:
                table = tomllib.loads(path.read_text())
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise InputError(f"not a TOML file ({error}): correct it") from error
            for name in table:
                if name not in SECTIONS:
                    raise InputError(unknown("entry", name, SECTIONS))
            known = [each.name for each in fields(AcceleratorConfig)]
            space = cls(
                path,
                _models(table.get("models", [BUNDLED]), path.parent),
                _values(table.get("configuration", {}), "parameter", known),
                _values(table.get("options", {}), "option", list(OPTIONS)),
            )
            _check(space)
        return space

    @property
    def axes(self) -> dict[str, list]:
        """The values of each parameter and option."""
        return {**self.configuration, **self.options}

    @property
    def size(self) -> int:
        """The number of combinations, also of illegal ones."""
        return math.prod(map(len, self.axes.values()))

    def contents(self) -> dict[str, tuple[str, bytes]]:
        """Return the name and the contents of each model's file. Raise InputError."""
        return {name: (path.name, read_model(path)) for name, path in self.models.items()}

    def _combinations(self) -> Iterator[Point]:
        """Yield all points, also with illegal configurations."""
        for values in itertools.product(*self.axes.values()):
            yield self.point(dict(zip(self.axes, values)))

    def points(self) -> list[Point]:
        """Return the points with a legal configuration. Raise InputError if the space is too large."""
        if self.size > MANY:
            raise InputError(f"{self.path}: has {self.size:,} combinations: use --search N or --sample N")
        return [point for point in self._combinations() if not rejection(point)]

    def point(self, values: Entry) -> Point:
        """Return the point with a value for each axis."""
        return Point({name: values[name] for name in self.configuration}, {name: values[name] for name in self.options})

    def sample(self, count: int, seed: int) -> list[Point]:
        """Return `count` random points with legal configurations, or all points if there are no more."""
        rng = random.Random(seed)
        if self.size <= MANY:
            points = self.points()
            chosen = set(rng.sample(range(len(points)), min(count, len(points))))
            return [point for number, point in enumerate(points) if number in chosen]
        found: dict[str, Point] = {}
        for _ in range(MANY):
            point = self.point({name: rng.choice(values) for name, values in self.axes.items()})
            if len(found) < count and not rejection(point):
                found[point.name] = point
        return list(found.values())


def rejection(point: Point) -> str | None:
    """Return the reason why a configuration is not legal, or None."""
    try:
        point.config  # noqa: B018
    except InputError as error:
        return str(error)
    return None


def _models(names: object, folder: Path) -> dict[str, Path]:
    from eyrie.runtime.bundled import MODEL

    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError('models: must be a list of files: models = ["bundled", "net.tflite"]')
    found = {name: MODEL if name == BUNDLED else folder / name for name in names}
    for path in found.values():
        check_readable(path, "name a .tflite or .onnx model beside the space")
    return found


def _values(table: object, kind: str, known: list[str]) -> dict[str, list]:
    if not isinstance(table, dict):
        raise InputError(f"{table!r}: must be a table of {kind}s: name = [value, value]")
    for name, values in table.items():
        if name not in known:
            raise InputError(unknown(kind, name, known))
        if not isinstance(values, list) or not values or len(set(map(repr, values))) < len(values):
            raise InputError(f"{name}: must be a list of different values: {name} = [value, value]")
    return table


def _check(space: Space) -> None:
    """Raise InputError for a value that is illegal whatever the other values are, and for an empty space."""
    for objective in space.options.get("objective", []):
        if objective not in OBJECTIVES:
            raise InputError(unknown("objective", str(objective), OBJECTIVES))
    for count in space.options.get("search_iterations", []):
        if type(count) is not int or count < 1:
            raise InputError(f"search_iterations {count!r}: must be a whole number, 1 or more")
    first = None
    for reason in map(rejection, itertools.islice(space._combinations(), MANY)):
        if reason is None:
            return
        first = first or reason
    if space.size <= MANY:
        raise InputError(f"no configuration is legal: {first}")
