# SPDX-License-Identifier: Apache-2.0
"""Compiled networks that run subgraph by subgraph: golden functions for the host, a back end for the accelerator."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.folder import DESCRIPTION
from eyrie.compiler.ir.graph import Graph, map_shape
from eyrie.compiler.ir.image import REMEDY, Image
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.parts import MODELS, digest, prepared
from eyrie.compiler.passes.partition import Part, Partition, Side, part_of
from eyrie.compiler.passes.simplify import simplified
from eyrie.model.errors import InputError
from eyrie.model.functional_simulator import ProgramError
from eyrie.model.messages import array, times
from eyrie.model.reading import read_file, read_json
from eyrie.runtime.metrics import prediction_of
from eyrie.runtime.networks import named_on_model, read_arrays

_AGAIN = "compile the network again"


@dataclass(frozen=True)
class AcceleratorRun:
    """The result of a back end for a subgraph of the accelerator.

    outputs  by name, int8 [N, H, W, C]
    runs     of as many images each as the subgraph takes at once: `counters` by name and, if the back end has them,
             `passes`, the counters at the end of each
    """

    image: Image
    outputs: dict[str, np.ndarray]
    runs: list[dict]

    @cached_property
    def prediction(self) -> Prediction | None:
        """The prediction of the cost model for a run."""
        return prediction_of(self.image)


BackEnd = Callable[[Path, dict[str, np.ndarray]], AcceleratorRun]  # takes a subgraph's folder and inputs by name


def on_functional_simulator(program: Path, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
    """Run a program on the functional simulator: a BackEnd without counters.

    Raise InputError, with one line, if the simulator cannot run the program.
    """
    image = Image.load(program)
    try:
        return AcceleratorRun(image, named_on_model(image, inputs), [])
    except ProgramError as error:
        raise InputError(f"{program}: {error}: {_AGAIN}") from error
    except InputError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # damaged commands
        raise InputError(f"{program}: a damaged program: {_AGAIN}") from error


@dataclass(frozen=True)
class Done:
    """A run of a network.

    outputs      in the model's order and types, N of the model's shape each
    accelerator  the runs of the accelerator's subgraphs, in order
    host_share   share of all element operations and MACs that the host computed
    host         the host's operators: position and name
    """

    outputs: list[np.ndarray]
    accelerator: list[AcceleratorRun]
    host_share: float
    host: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Session:
    """A compiled network. `folders` has the folder of each subgraph, None if the host runs it."""

    graph: Graph
    parts: tuple[Part, ...]
    folders: tuple[Path | None, ...]

    @classmethod
    def load(cls, directory: str | Path) -> "Session":
        """Load a folder with network.json. Raise InputError, with one line, if it is damaged."""
        directory = Path(directory)
        description = read_json(directory / DESCRIPTION, REMEDY)

        def graph(description: dict) -> Graph:
            name = description["model"]
            if name not in MODELS:
                raise InputError(f"the model must be one of {', '.join(MODELS)}")
            if description["sha256"] != digest(read_file(directory / name, REMEDY)):
                raise InputError(f"{name} is not the one that was compiled")
            return prepared(directory / name, description["composed"])

        return cls._of(directory, description, graph)

    @classmethod
    def of_graph(cls, graph: Graph, directory: str | Path) -> "Session":
        """Load a folder that compile_graph made from a Graph. The folder does not contain the Graph.

        Raise InputError, with one line, if the folder is damaged.
        """
        description = read_json(Path(directory) / DESCRIPTION, REMEDY)
        return cls._of(Path(directory), description, lambda description: simplified(graph, description["composed"]))

    @classmethod
    def _of(cls, directory: Path, description: object, graph_of: Callable[[dict], Graph]) -> "Session":
        try:
            if not isinstance(description, dict):
                raise TypeError("the description is no object")
            if not isinstance(description["composed"], bool):
                raise InputError("composed is neither true nor false")
            graph = graph_of(description)
            by_text = {str(node): node for node in graph.nodes}
            parts, folders = [], []
            for entry in description["parts"]:
                nodes = [by_text.pop(text) for text in entry["nodes"]]
                parts.append(Part(Side(entry["side"]), part_of(graph, nodes)))
                folders.append(_folder(directory, entry) if parts[-1].side == Side.ACCELERATOR else None)
            if by_text:
                raise InputError("operators are missing")
            _check_order(graph, parts)
        except InputError as error:
            if str(error).endswith(REMEDY):
                raise
            raise InputError(f"{directory / DESCRIPTION}: {error}: {REMEDY}") from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{directory / DESCRIPTION}: an entry is unknown, missing or of the wrong kind: {REMEDY}"
            ) from error
        for part, folder in zip(parts, folders):
            if folder:
                _check_map(part, folder)
        return cls(graph, tuple(parts), tuple(folders))

    @property
    def host_share(self) -> float:
        return Partition(self.parts).host_share

    @property
    def host(self) -> tuple[str, ...]:
        """Return the host's operators: position and name."""
        return tuple(f"{node.where} {node.operator.name}" for node in Partition(self.parts).host_nodes)

    def run(self, inputs: list[np.ndarray], back_end: BackEnd = on_functional_simulator) -> Done:
        """Run the network; `inputs` are in the model's order and types, N of the model's shape each.

        Raise InputError, with one line, if the inputs do not match the network, and every error of the back end.
        """
        values, count = self._values(inputs), len(inputs[0])
        accelerator = []
        for part, folder in zip(self.parts, self.folders):
            if folder is None:
                values |= _on_host(part.graph, values, count)
            else:
                done = _on_accelerator(folder, values, count, back_end)
                accelerator.append(done)
                values |= {
                    tensor.name: done.outputs[tensor.name].reshape(count, *tensor.shape)
                    for tensor in part.graph.outputs
                }
        return Done(self._outputs(values), accelerator, self.host_share, self.host)

    def golden(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs of the golden model for the whole network, whatever its subgraphs are."""
        values = self._values(inputs)
        return self._outputs(values | _on_host(self.graph, values, len(inputs[0])))

    def _values(self, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the inputs by name."""
        check_inputs(self.graph, inputs)
        return {tensor.name: _inside(tensor, value) for tensor, value in zip(self.graph.inputs, inputs)}

    def _outputs(self, values: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [_outside(tensor, values[tensor.name]) for tensor in self.graph.outputs]


def file_type(tensor: Tensor) -> str:
    """Return the type of the values in the model's file."""
    return "uint8" if isinstance(tensor, Quantized) and tensor.unsigned else tensor.dtype


def check_inputs(graph: Graph, inputs: list[np.ndarray]) -> None:
    """Raise InputError, with one line, unless each input has an array of N values."""
    if len(inputs) != len(graph.inputs):
        raise InputError(f"{len(inputs)} inputs are given, the network takes {len(graph.inputs)}")
    for tensor, value in zip(graph.inputs, inputs):
        if (
            str(value.dtype) != file_type(tensor)
            or value.shape[1:] != tensor.shape
            or (len(value) != len(inputs[0]) or not len(value))
        ):
            raise InputError(
                f"input {tensor.name} is {array(value)}, the network takes N of {Form(file_type(tensor), tensor.shape)}"
            )


def golden_outputs(graph: Graph, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of the golden model in the model's order.

    `inputs` are int8 [N, ...] by name. Missing inputs, which no operator reads, are zeros.
    """
    count = len(next(iter(inputs.values())))
    values = {
        tensor.name: inputs[tensor.name].reshape(count, *tensor.shape)
        if tensor.name in inputs
        else np.zeros((count, *tensor.shape), np.int8)
        for tensor in graph.inputs
    }
    made = _on_host(graph, values, count)
    return [made[tensor.name] for tensor in graph.outputs]


def read_session_inputs(path: str | Path, graph: Graph) -> list[np.ndarray]:
    """Read the inputs of a network for `Session.run` from a file (see `read_arrays`). A batch axis of 1 may be missing.

    Raise InputError, with one line, if the file does not match the network.
    """
    inputs = []
    for tensor, values in zip(graph.inputs, read_arrays(path, [tensor.name for tensor in graph.inputs])):
        shape = tensor.shape
        if shape[:1] == (1,) and values.shape[values.ndim - len(shape) + 1 :] == shape[1:]:
            values = values.reshape(-1, *shape)
        inputs.append(values)
    try:
        check_inputs(graph, inputs)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return inputs


def random_inputs(graph: Graph, count: int, seed: int) -> list[np.ndarray]:
    """Return random values [N, ...] for each input of a network.

    Integers are uniform over their type. Real numbers cover the range of the quantised tensor that they become.
    """
    rng = np.random.default_rng(seed)
    return [_drawn(tensor, graph, count, rng) for tensor in graph.inputs]


def _drawn(tensor: Tensor, graph: Graph, count: int, rng: np.random.Generator) -> np.ndarray:
    shape, kind = (count, *tensor.shape), file_type(tensor)
    if kind == "float32":
        made = (node.outputs[0] for node in graph.readers.get(tensor.name, []))
        ranges = [of.quantization for of in made if isinstance(of, Quantized)]
        low, high = (
            ((-128 - ranges[0].zero_point) * ranges[0].scale, (127 - ranges[0].zero_point) * ranges[0].scale)
            if ranges
            else (-1, 1)
        )
        return rng.uniform(low, high, shape).astype(np.float32)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, kind, endpoint=True)


def _folder(directory: Path, entry: dict) -> Path:
    folder = directory / Path(entry["folder"]).name
    if digest(read_file(folder / "layout.json", REMEDY)) != entry["sha256"]:
        raise InputError(f"{folder.name} is not the one that was compiled with it")
    return folder


def _check_order(graph: Graph, parts: list[Part]) -> None:
    """Raise InputError unless each operator reads only inputs of the network and outputs of earlier operators."""
    known = {tensor.name for tensor in graph.inputs}
    for number, part in enumerate(parts):
        for node in part.graph.nodes:
            for tensor in node.activations:
                if tensor.name not in known:
                    raise InputError(f"subgraph {number} reads {tensor.name}, which no earlier operator computes")
            known |= {tensor.name for tensor in node.outputs}


def _check_map(part: Part, folder: Path) -> None:
    """Raise InputError unless the image of an accelerator's subgraph has the inputs and outputs of the subgraph."""
    image = Image.load(folder)
    for end, maps, tensors in (
        ("inputs", image.inputs, part.graph.inputs),
        ("outputs", image.outputs, part.graph.outputs),
    ):
        found = {name: map_.shape for name, map_ in maps.items()}
        wanted = {tensor.name: map_shape(tensor.shape) for tensor in tensors}
        if found != wanted:
            raise InputError(
                f"{folder / 'layout.json'}: its {end} are {_listed(found)}, the network has {_listed(wanted)}: {REMEDY}"
            )


def _listed(shapes: dict[str, tuple[int, int, int]]) -> str:
    return ", ".join(f"{name} {times(shape)}" for name, shape in shapes.items())


def _inside(tensor: Tensor, value: np.ndarray) -> np.ndarray:
    """Convert an input to the values inside a Graph: uint8 less 128."""
    return (value ^ 0x80).view(np.int8) if file_type(tensor) == "uint8" else value


def _outside(tensor: Tensor, value: np.ndarray) -> np.ndarray:
    return value.view(np.uint8) ^ 0x80 if file_type(tensor) == "uint8" else value


def _on_host(graph: Graph, values: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Compute the outputs of a subgraph by name, [N, ...] each."""
    names = [tensor.name for tensor in graph.outputs]
    runs = [graph.run(*(values[tensor.name][n] for tensor in graph.inputs)) for n in range(count)]
    return {name: np.stack([run[name] for run in runs]) for name in names}


def _on_accelerator(folder: Path, values: dict[str, np.ndarray], count: int, back_end: BackEnd) -> AcceleratorRun:
    maps = Image.load(folder).inputs
    return back_end(
        folder,
        {name: np.ascontiguousarray(values[name].reshape(count, *map_.shape)) for name, map_ in maps.items()},
    )
