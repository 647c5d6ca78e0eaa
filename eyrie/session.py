# SPDX-License-Identifier: Apache-2.0
"""A network that is ready to run on a back end."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import numpy as np
from PIL.Image import Image as Picture

from eyrie.compiler.artefact import files
from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.options import MOST_SEED
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.model.reading import read_file
from eyrie.profile import Profile, profile_of
from eyrie.runtime.back_end import AcceleratorRun, BackEnd, NetworkRun
from eyrie.runtime.back_ends import BACK_ENDS, back_end_class
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.configurations import Configuration, config_of
from eyrie.runtime.inputs import file_type
from eyrie.runtime.trace.file import check_trace, write_trace
from eyrie.runtime.trace.tracks import Recording
from eyrie.values import joined, stacked

__all__ = ["BACK_ENDS", "Port", "Session", "load"]

Value = np.ndarray | list | Picture | str | PathLike


@dataclass(frozen=True)
class Port:
    """An input or output: shape and dtype as in the model; scale and zero point are None if it is not quantised."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None
    zero_point: int | None


def load(model: str | PathLike, config: Configuration = None, back_end: str = "rtl", seed: int = 1) -> "Session":
    """Return a session that runs a model.

    model     path of an int8 .tflite or .onnx file, or of a folder that `eyrie compile` wrote
    config    accelerator configuration: None for the default one, an AcceleratorConfig, names and numbers, or a JSON
              file of these; a folder has its own
    back_end  rtl: the driver on the simulated SoC; functional: the functional simulator; cosim: both, compared; golden:
              the golden model; c: portable C, with no accelerator
    seed      seed of the start values of the accelerator's registers and memories

    Compiled programs are cached (docs/developer/runs.md). Raise InputError, with one line, for an invalid argument or
    a model that cannot be read or run; BuildError if the simulated SoC or the C cannot be built.
    """
    back_end_class(back_end)
    if not isinstance(model, str | PathLike):
        raise InputError(f"a model is a file's path, not {type(model).__name__}: write it to a file and give its path")
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise InputError(f"seed = {seed}: must be an integer of 0 to {MOST_SEED}")
    if "\0" in str(model) or not str(model):
        raise InputError(f"model = {str(model)!r}: must be the path of a file or a folder")
    path = Path(model).absolute()
    if not path.is_dir():
        return _of_model(path, config_of(config), back_end, seed)
    if config is not None:
        raise InputError(f"{path}: a compiled network has its configuration: leave out config")
    return _of_folder(path, back_end, seed)


class Session:
    """A network on a back end.

    Any number of threads may call it at the same time; on the RTL each has its own SoC. A network with variables
    remembers from call to call: the session keeps their values, and takes N values of a call, and calls of threads, one
    after the other. A pickled session of a file or a folder is opened again when it is unpickled, with the start values
    of variables.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        config: AcceleratorConfig,
        compiled: Callable[[], CompiledNetwork],
        back_end: str,
        seed: int = 1,
        again: tuple | None = None,
    ) -> None:
        """Open a session of a Graph. compiled: returns the compiled network, which not every back end needs; again: a
        function and its arguments that open the session in another process
        """
        self.name, self.graph, self.config, self.back_end, self.seed = name, graph, config, back_end, seed
        self._compiled, self._again = compiled, again
        self._measured: tuple[AcceleratorRun, ...] = ()
        self._state: tuple[np.ndarray, ...] = ()
        self._lock = Lock()
        self._back_end = back_end_class(back_end)(seed)
        self._network = self.network if self._back_end.compiles else CompiledNetwork.of(graph, config)
        self._back_end.prepare(self._network)

    @property
    def inputs(self) -> tuple[Port, ...]:
        return tuple(map(_port, self.graph.arguments))

    @property
    def outputs(self) -> tuple[Port, ...]:
        return tuple(map(_port, self.graph.results))

    @cached_property
    def network(self) -> CompiledNetwork:
        """The compiled network."""
        return self._compiled()

    def __call__(self, value: Value | Mapping[str, Value] | None = None, /, **values: Value) -> dict[str, np.ndarray]:
        """Run the network; return the outputs by name, in the model's types.

        For a network with one input, give a value; for others, give values by name, in a mapping or as arguments. A
        value is an array or list of the model's type and shape, with or without the batch of 1, or N of them. Real
        numbers for quantised inputs are quantised by their scales. If the network takes one picture, the value may be a
        file or an image of Pillow, which is fitted (docs/developer/runs.md, Pictures). For N values, the outputs have N
        in place of the batch of 1, or before another shape.

        Raise InputError, with one line, if a value does not match.
        """
        given, several = stacked(self.graph, value, values)
        return joined(self.graph, self.run(given), several)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run arrays in the order of `inputs`, [N, ...] each, of the model's types; return the outputs in this form."""
        return self._run(self._back_end, inputs).outputs

    def _run(self, back_end: BackEnd, inputs: Sequence[np.ndarray]) -> NetworkRun:
        with self._lock if self._network.start else nullcontext():
            done = back_end.run(self._network, inputs, self._state)
            self._state = done.state
        if done.accelerator and done.accelerator[0].runs:
            self._measured = done.accelerator
        return done

    def reset(self) -> None:
        """Give the variables of the network their start values."""
        with self._lock:
            self._state = ()

    def trace(
        self, file: str | PathLike, value: Value | Mapping[str, Value] | None = None, /, **values: Value
    ) -> dict[str, np.ndarray]:
        """Run the network on the RTL as a call does, and write the events of the first run to a Perfetto trace file.

        The extra `trace` must be installed. Raise InputError, with one line, if the back end is not rtl, a value does
        not match or the file cannot be written.
        """
        if self.back_end != "rtl":
            raise InputError(f"a trace needs the back end rtl: this session has {self.back_end}")
        path = Path(file)
        check_trace(path, self._network)
        given, several = stacked(self.graph, value, values)
        done = self._run(Rtl(self.seed, records=True), given)
        write_trace(path, [Recording.of(run) for run in done.accelerator])
        return joined(self.graph, done.outputs, several)

    def golden(self, value: Value | Mapping[str, Value] | None = None, /, **values: Value) -> dict[str, np.ndarray]:
        """Return the outputs of the golden model; arguments and result are as in a call.

        Variables have the values that the calls before have left, and keep them.
        """
        given, several = stacked(self.graph, value, values)
        return joined(self.graph, golden_outputs(self._network.whole_graph(), given, self._state), several)

    def profile(self) -> Profile:
        """Return cycles by layer: predicted, and measured if this session has run on the RTL (first image of its last
        run).
        """
        return profile_of(self.network, self._measured)

    def __reduce__(self) -> tuple:
        if self._again is None:
            raise InputError(f"{self.name}: a session of a Graph is of this process: open it in the other one")
        return self._again

    def __repr__(self) -> str:
        return f"<eyrie session of {self.name} on {self.back_end}>"


def load_bytes(model: bytes, name: str, config: Configuration = None, back_end: str = "rtl") -> Session:
    """Return a session that runs the contents of a model's file, as `load` does; name: for messages"""
    from eyrie.compiler.frontend.file import load as load_model

    back_end_class(back_end)
    with TemporaryDirectory() as folder, about(name):
        path = Path(folder) / "model"
        path.write_bytes(model)
        try:
            graph = load_model(path)
        except InputError as error:
            raise InputError(str(error).removeprefix(f"{path}: ")) from error
        return session_of(graph, name, config_of(config), back_end)


def session_of(graph: Graph, name: str, config: AcceleratorConfig, back_end: str) -> Session:
    """Return the session of a Graph, compiled first if it is not in the cache. `name` is for the user.

    Raise CompileError if the Graph does not compile.
    """

    def compiled() -> CompiledNetwork:
        from eyrie.runtime.programs import compiled_graph

        return files.load(compiled_graph(graph, name, config))

    return Session(name, graph, config, compiled, back_end)


def _of_model(model: Path, config: AcceleratorConfig, back_end: str, seed: int, digest: str | None = None) -> Session:
    """Open a model's file. Raise InputError if it has another digest."""
    from eyrie.compiler.frontend.file import load as load_model
    from eyrie.compiler.frontend.file import read_model

    found = hashlib.sha256(read_model(model)).hexdigest()
    _check_digest(model, found, digest)

    def compiled() -> CompiledNetwork:
        from eyrie.runtime import programs

        return files.load(programs.compiled(model, config))

    again = _of_model, (model, config, back_end, seed, found)
    with about(model):
        return Session(model.name, load_model(model), config, compiled, back_end, seed, again)


def _of_folder(folder: Path, back_end: str, seed: int, digest: str | None = None) -> Session:
    """Open a compiled network. Raise InputError if it has another digest."""
    network = files.load(folder)
    found = hashlib.sha256(read_file(folder / files.DESCRIPTION, files.REMEDY)).hexdigest()
    _check_digest(folder, found, digest)
    again = _of_folder, (folder, back_end, seed, found)
    with about(folder):
        return Session(folder.name, network.signature, network.config, lambda: network, back_end, seed, again)


def _check_digest(path: Path, found: str, digest: str | None) -> None:
    if digest not in (None, found):
        raise InputError(f"{path}: has changed since the session was opened: open it again")


def _port(tensor: Tensor) -> Port:
    more = 128 if file_type(tensor) == "uint8" else 0
    return Port(
        tensor.name,
        tensor.shape,
        file_type(tensor),
        tensor.quantization.scale if isinstance(tensor, Quantized) else None,
        tensor.zero_point + more if isinstance(tensor, Quantized) else None,
    )
