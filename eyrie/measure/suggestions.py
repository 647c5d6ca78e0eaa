# SPDX-License-Identifier: Apache-2.0
"""Changes that make slow layers faster: a larger configuration, more images a run, or fewer channels. The cost model
predicts each one."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from eyrie.compiler.artefact import files
from eyrie.compiler.artefact.network import AcceleratorSubgraph, CompiledNetwork
from eyrie.compiler.artefact.performance import Layer, Performance
from eyrie.compiler.options import MOST_IMAGES
from eyrie.measure.layer_shapes import alone, narrower, shape_of
from eyrie.model.config import AcceleratorConfig, sizes
from eyrie.model.errors import InputError
from eyrie.runtime import progress
from eyrie.runtime.programs import compiled
from eyrie.runtime.reasons.slow import is_slow

WORTHWHILE = 0.9  # times the cycles of today; a change that needs more is not suggested
PARAMETERS = ("rows", "cols", "multipliers", "glb_bank_words", "psum_words", "bus_words", "filter_lanes")


@dataclass(frozen=True)
class Suggestion:
    """A change that makes a layer faster.

    before            predicted cycles today: of the layer in the network, or of the layer alone if its shape changes
    predicted_cycles  the same with the change, for as many images
    """

    change: str
    before: int
    predicted_cycles: int


def suggestions(model: Path, network: CompiledNetwork) -> list[dict[str, list[dict]]]:
    """Return the suggestions for each program by layer, the best first, with the fields of `Suggestion`.

    network: of `model`, compiled without options other than the configuration and the number of images
    """
    slow = [predicted_slow(program.performance) for program in network.programs]
    if not any(slow):
        return [{} for _ in slow]
    found = [
        {layer.name: _with_fewer_channels(program, layer.name) for layer in layers}
        for program, layers in zip(network.programs, slow)
    ]
    for change, other, runs in _changed(model, network):
        for known, layers, changed in zip(found, slow, other.programs, strict=True):
            matches = {(layer.name, layer.kind): layer for layer in _performance(changed.performance).layers}
            for layer in layers:
                if match := matches.get((layer.name, layer.kind)):
                    cycles = round(match.predicted_cycles / runs)
                    known[layer.name].append(Suggestion(change, layer.predicted_cycles, cycles))
    return [{name: _best(each) for name, each in known.items()} for known in found]


def _with_fewer_channels(program: AcceleratorSubgraph, layer: str) -> list[Suggestion]:
    """Return the suggestions of other shapes; an empty list if the layer alone does not fit."""
    [step] = [step for step in program.image.steps if step.name == layer]
    shape, config = shape_of(step), program.image.config
    with suppress(InputError):
        fewer = list(narrower(shape)) if shape else []
        return [Suggestion(text, alone(shape, config), alone(each, config)) for text, each in fewer]
    return []


def predicted_slow(performance: Performance | None) -> list[Layer]:
    """Return the layers that are slow by prediction."""
    return [
        layer
        for layer in _performance(performance).layers
        if is_slow({"cycles": layer.predicted_cycles, "roofline_cycles": layer.roofline_cycles})
    ]


def _performance(found: Performance | None) -> Performance:
    assert found, "a program that was compiled from a model has a prediction"
    return found


def _best(found: list[Suggestion]) -> list[dict]:
    worthwhile = [each for each in found if each.predicted_cycles <= WORTHWHILE * each.before]
    return [asdict(each) for each in sorted(worthwhile, key=lambda each: each.predicted_cycles / each.before)]


def _changed(model: Path, network: CompiledNetwork) -> Iterator[tuple[str, CompiledNetwork, int]]:
    """Yield each change with the network that it gives, and the runs of today that a run replaces.

    A change is left out if the network does not fit, or if its division between accelerator and host changes.
    """
    images = network.images
    changes = [(change, config, images) for change, config in changed_configurations(network.config)]
    if 2 * images <= MOST_IMAGES:
        changes.append((f"{2 * images} images a run", network.config, 2 * images))
    for number, (change, config, count) in enumerate(changes, 1):
        with suppress(InputError), progress.step(number, len(changes)):
            other = files.load(compiled(model, config, count))
            if len(other.programs) == len(network.programs):
                yield change, other, count // images


def changed_configurations(config: AcceleratorConfig) -> Iterator[tuple[str, AcceleratorConfig]]:
    """Yield configurations with one larger parameter: its next legal value, or twice the value if all are legal."""
    for name in PARAMETERS:
        value, legal = getattr(config, name), sizes()[name].values
        larger = [each for each in legal if each > value]
        if isinstance(legal, range) and legal.step == 1:
            larger = [each for each in larger if each <= 2 * value][-1:]
        if larger:
            with suppress(InputError):  # a GLB beyond the largest
                yield f"{name} {larger[0]:,}", replace(config, **{name: larger[0]})
