# SPDX-License-Identifier: Apache-2.0
"""Compiled networks part by part: the host's by their golden functions, the accelerator's on a back end."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
from eyrie.runtime.networks import named_on_model, read_arrays

_AGAIN = "compile the network again"


@dataclass(frozen=True)
class AcceleratorRun:
    """What a back end makes of an accelerator part.

    outputs  by name, int8 [N, H, W, C]
    runs     of as many images each as the part takes at once: `counters` by name and, where the back end has them,
             `passes`, the counters at the end of each
    """

    image: Image
    outputs: dict[str, np.ndarray]
    runs: list[dict]


BackEnd = Callable[[Path, dict[str, np.ndarray]], AcceleratorRun]  # of a part's folder and its inputs, as outputs are


def on_functional_simulator(program: Path, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
    """The functional simulator: a BackEnd, which counts nothing. Raises InputError, in one line, for a program that it
    does not run."""
    image = Image.load(program)
    try:
        return AcceleratorRun(image, named_on_model(image, inputs), [])
    except ProgramError as error:
        raise InputError(f"{program}: {error}: {_AGAIN}") from error
    except InputError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # of commands that make no sense
        raise InputError(f"{program}: a damaged program: {_AGAIN}") from error


@dataclass(frozen=True)
class Done:
    """A run of a network.

    outputs     in the model's order and types, N of the model's shape each
    accelerator  the runs of the accelerator parts, in their order
    host_share  of all element operations and MACs, those of the host
    host        the host's operators: place and name
    """

    outputs: list[np.ndarray]
    accelerator: list[AcceleratorRun]
    host_share: float
    host: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Session:
    """A compiled network; folders: of its parts, None for those of the host."""

    graph: Graph
    parts: tuple[Part, ...]
    folders: tuple[Path | None, ...]

    @classmethod
    def load(cls, directory: str | Path) -> "Session":
        """From a folder with network.json. Raises InputError in one line."""
        directory = Path(directory)
        description = read_json(directory / DESCRIPTION, REMEDY)

        def graph(description: dict) -> Graph:
            name = description["model"]
            if name not in MODELS:
                raise InputError(f"the model is none of {', '.join(MODELS)}")
            if description["sha256"] != digest(read_file(directory / name, REMEDY)):
                raise InputError(f"{name} is not the one that was compiled")
            return prepared(directory / name, description["composed"])

        return cls._of(directory, description, graph)

    @classmethod
    def of_graph(cls, graph: Graph, directory: str | Path) -> "Session":
        """From a folder that was made of a Graph (compile_graph), which is not in it. Raises InputError in one line."""
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
        """The host's operators: place and name."""
        return tuple(f"{node.where} {node.operator.name}" for node in Partition(self.parts).host_nodes)

    def run(self, inputs: list[np.ndarray], back_end: BackEnd = on_functional_simulator) -> Done:
        """inputs: in the model's order and types, N of the model's shape each.

        Raises InputError, in one line, for inputs that do not fit, and what the back end raises.
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
        """The golden model's outputs: of the network, whatever its parts are."""
        values = self._values(inputs)
        return self._outputs(values | _on_host(self.graph, values, len(inputs[0])))

    def _values(self, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
        """By name."""
        check_inputs(self.graph, inputs)
        return {tensor.name: _inside(tensor, value) for tensor, value in zip(self.graph.inputs, inputs)}

    def _outputs(self, values: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [_outside(tensor, values[tensor.name]) for tensor in self.graph.outputs]


def file_type(tensor: Tensor) -> str:
    """Of the values that the model takes or gives."""
    return "uint8" if isinstance(tensor, Quantized) and tensor.unsigned else tensor.dtype


def check_inputs(graph: Graph, inputs: list[np.ndarray]) -> None:
    """Raises InputError, in one line, unless there is an array of N values for each input."""
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
    """What the golden model gives, in the model's order, for inputs by name, int8 [N, ...] each; those that are not
    there, since nothing reads them, are zeros."""
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
    """The inputs of a network, as `Session.run` takes them, from a file (`read_arrays`); a batch of 1 may be left out.
    Raises InputError in one line."""
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
    """For each input of a network [N, ...]: all integers alike, real numbers as far as what reads them has values."""
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
    """Raises InputError unless each operator takes what the network takes, or what one before it makes."""
    known = {tensor.name for tensor in graph.inputs}
    for number, part in enumerate(parts):
        for node in part.graph.nodes:
            for tensor in node.activations:
                if tensor.name not in known:
                    raise InputError(f"part {number} takes {tensor.name}, which nothing before it makes")
            known |= {tensor.name for tensor in node.outputs}


def _check_map(part: Part, folder: Path) -> None:
    """Raises InputError unless an accelerator part's image takes and makes what the part does."""
    contents = Image.load(folder).map
    for end, tensors in (("inputs", part.graph.inputs), ("outputs", part.graph.outputs)):
        found = {name: tuple(place["shape"]) for name, place in contents[end].items()}
        wanted = {tensor.name: map_shape(tensor.shape) for tensor in tensors}
        if found != wanted:
            raise InputError(
                f"{folder / 'layout.json'}: its {end} are {_listed(found)}, the network has {_listed(wanted)}: {REMEDY}"
            )


def _listed(shapes: dict[str, tuple[int, int, int]]) -> str:
    return ", ".join(f"{name} {times(shape)}" for name, shape in shapes.items())


def _inside(tensor: Tensor, value: np.ndarray) -> np.ndarray:
    """As nodes have it: uint8 less 128."""
    return (value ^ 0x80).view(np.int8) if file_type(tensor) == "uint8" else value


def _outside(tensor: Tensor, value: np.ndarray) -> np.ndarray:
    return value.view(np.uint8) ^ 0x80 if file_type(tensor) == "uint8" else value


def _on_host(graph: Graph, values: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """What a part makes, by name, [N, ...] each."""
    names = [tensor.name for tensor in graph.outputs]
    runs = [graph.run(*(values[tensor.name][n] for tensor in graph.inputs)) for n in range(count)]
    return {name: np.stack([run[name] for run in runs]) for name in names}


def _on_accelerator(folder: Path, values: dict[str, np.ndarray], count: int, back_end: BackEnd) -> AcceleratorRun:
    places = Image.load(folder).map["inputs"]
    return back_end(
        folder,
        {name: np.ascontiguousarray(values[name].reshape(count, *place["shape"])) for name, place in places.items()},
    )
