# SPDX-License-Identifier: Apache-2.0
"""Back ends: what runs a compiled network. Each has a class in runtime/back_ends."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eyrie.compiler.artefact.network import AcceleratorSubgraph, CompiledNetwork
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.tensor import Tensor
from eyrie.model.operators.quantization import from_uint8
from eyrie.runtime.inputs import fitted, in_file, is_unsigned

if TYPE_CHECKING:  # the cost model and traces
    from eyrie.compiler.cost.predict import Prediction
    from eyrie.runtime.trace.events import Events


@dataclass(frozen=True)
class AcceleratorRun:
    """The result of a program of the accelerator.

    outputs  by name, int8 [N, H, W, C]
    runs     of as many images each as the program takes at once: `counters` by name and, if the back end has them,
             `passes`, the counters at the end of each
    events   of the first run, if the back end records them
    """

    image: Image
    outputs: dict[str, np.ndarray]
    runs: list[dict]
    events: "Events | None" = None

    @property
    def output(self) -> np.ndarray:
        """Return the output of a program with one output."""
        [output] = self.outputs.values()
        return output

    @cached_property
    def prediction(self) -> "Prediction | None":
        """The prediction of the cost model for a run."""
        from eyrie.runtime.metrics import prediction_of

        return prediction_of(self.image)


@dataclass(frozen=True)
class NetworkRun:
    """The result of a network.

    outputs      in the model's order and types, N of the model's shape each
    accelerator  the runs of the accelerator's programs, in order
    state        after the run, in the model's types, one of the model's shape each
    """

    network: CompiledNetwork
    outputs: list[np.ndarray]
    accelerator: tuple[AcceleratorRun, ...] = ()
    state: tuple[np.ndarray, ...] = ()


class BackEnd(ABC):
    """A back end. Any number of threads may use it.

    about     its work, in a few words
    compiles  whether it needs programs of the accelerator, or only the Graph of the network
    seed      seed of the start values of registers and memories
    """

    about: ClassVar[str]
    compiles: ClassVar[bool] = True

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def prepare(self, network: CompiledNetwork) -> None:  # noqa: B027 (most back ends prepare no network)
        """Do the work that all runs share."""

    def run(
        self, network: CompiledNetwork, inputs: Sequence[np.ndarray], state: Sequence[np.ndarray] = ()
    ) -> NetworkRun:
        """Run a network; `inputs` are in the model's order and types, N of the model's shape each.

        A network with a state takes them one after the other; `state` is the one of a run before, or empty for the
        start values. Raise InputError, with one line, if the inputs do not match the network, and every error of the
        back end.
        """
        given = fitted(network.arguments, inputs)
        if not network.start:
            return self._run(network, given)
        state = state or first_state(network)
        runs = []
        for n in range(len(given[0])):
            frame = [*(values[n : n + 1] for values in given), *(value[None] for value in state)]
            runs.append(self._run(network, frame))
            state = tuple(value[0] for value in runs[-1].outputs[-len(state) :])
        return _in_order(network, runs, tuple(state))

    @abstractmethod
    def _run(self, network: CompiledNetwork, inputs: list[np.ndarray]) -> NetworkRun: ...


class AcceleratorBackEnd(BackEnd):
    """A back end that runs the programs of the accelerator; golden functions run the host's operators."""

    @abstractmethod
    def run_program(self, program: AcceleratorSubgraph, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
        """Run a program; `inputs` are int8 [N, H, W, C] by name."""

    def _run(self, network: CompiledNetwork, inputs: list[np.ndarray]) -> NetworkRun:
        values, count, runs = inside(network.inputs, inputs), len(inputs[0]), []
        for subgraph in network.subgraphs:
            if isinstance(subgraph, AcceleratorSubgraph):
                maps = subgraph.image.inputs
                given = {name: np.ascontiguousarray(values[name].reshape(count, *maps[name].shape)) for name in maps}
                runs.append(self.run_program(subgraph, given))
                values |= runs[-1].outputs
            else:
                values |= on_host(subgraph.graph, values, count)
        return NetworkRun(network, outside(network.outputs, values, count), tuple(runs))


def on_host(graph: Graph, values: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Return the outputs of a Graph's golden functions by name, [N, ...] each; values: of N images by name"""
    taken = [values[tensor.name].reshape(count, *tensor.shape) for tensor in graph.inputs]
    runs = [graph.run(*(stack[n] for stack in taken)) for n in range(count)]
    return {tensor.name: np.stack([run[tensor.name] for run in runs]) for tensor in graph.outputs}


def first_state(network: CompiledNetwork) -> tuple[np.ndarray, ...]:
    """Return the start values of a network's state, in the model's types."""
    tensors = network.inputs[len(network.arguments) :]
    return tuple(in_file(value, tensor) for tensor, value in zip(tensors, network.start))


def _in_order(network: CompiledNetwork, runs: Sequence[NetworkRun], state: tuple[np.ndarray, ...]) -> NetworkRun:
    """Return runs of one image each as one run."""
    outputs = [np.concatenate(values) for values in zip(*(run.outputs for run in runs))]
    accelerator = tuple(
        replace(
            parts[0],
            outputs={name: np.concatenate([part.outputs[name] for part in parts]) for name in parts[0].outputs},
            runs=[each for part in parts for each in part.runs],
        )
        for parts in zip(*(run.accelerator for run in runs))
    )
    return NetworkRun(network, outputs[: len(outputs) - len(state)], accelerator, state)


def inside(tensors: Sequence[Tensor], inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return inputs by name, with the values inside a Graph: uint8 less 128."""
    return {tensor.name: from_uint8(value) if is_unsigned(tensor) else value for tensor, value in zip(tensors, inputs)}


def outside(tensors: Sequence[Tensor], values: Mapping[str, np.ndarray], count: int) -> list[np.ndarray]:
    """Return outputs, N of the model's shape and type each."""
    found = [values[tensor.name].reshape(count, *tensor.shape) for tensor in tensors]
    return [in_file(value, tensor) for tensor, value in zip(tensors, found)]
