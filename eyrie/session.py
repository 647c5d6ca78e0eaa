# SPDX-License-Identifier: Apache-2.0
"""A network that is ready to run, on one of three back ends."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from PIL.Image import Image as Picture

from eyrie.compiler.frontend.file import load as load_model
from eyrie.compiler.frontend.file import read_model
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about, unknown
from eyrie.profile import Profile, profile_of
from eyrie.runtime.configurations import Configuration, config_of
from eyrie.runtime.portable_c.networks import built
from eyrie.runtime.programs import compiled_parts
from eyrie.runtime.session import AcceleratorRun, file_type, on_functional_simulator
from eyrie.runtime.session import Session as PartsSession
from eyrie.runtime.soc.runs import RtlBackEnd
from eyrie.values import joined, stacked

BACK_ENDS = ("rtl", "functional", "c")

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

    model     path of an int8 .tflite or .onnx file
    config    accelerator configuration: None for the default one, an AcceleratorConfig, names and numbers, or a JSON
              file of these
    back_end  rtl: the driver on the simulated SoC; functional: the functional simulator; c: portable C, with no
              accelerator
    seed      seed of the start values of the accelerator's registers and memories

    Compiled programs are cached (docs/developer/runs.md). Raise InputError, with one line, for an invalid argument or
    a model that cannot be read or run; BuildError if the simulated SoC or the C cannot be built.
    """
    if back_end not in BACK_ENDS:
        raise InputError(unknown("back end", str(back_end), BACK_ENDS))
    if not isinstance(model, str | PathLike):
        raise InputError(f"a model is a file's path, not {type(model).__name__}: write it to a file and give its path")
    if type(seed) is not int:
        raise InputError(f"seed = {seed}: must be an integer")
    return Session(Path(model), config_of(config), back_end, seed)


class Session:
    """A network on a back end.

    Any number of threads may call it at the same time; on the RTL each has its own SoC. A pickled session is created
    again from the model's file when it is unpickled.
    """

    def __init__(self, model: Path, config: AcceleratorConfig, back_end: str, seed: int) -> None:
        self.model, self.config, self.back_end, self.seed = model.absolute(), config, back_end, seed
        self._digest = hashlib.sha256(read_model(model)).hexdigest()
        self._graph = load_model(model)
        self._measured: tuple[AcceleratorRun, ...] = ()
        self._run = self._runs_c() if back_end == "c" else self._runs_parts()

    @property
    def inputs(self) -> tuple[Port, ...]:
        return tuple(map(_port, self._graph.inputs))

    @property
    def outputs(self) -> tuple[Port, ...]:
        return tuple(map(_port, self._graph.outputs))

    def __call__(self, value: Value | Mapping[str, Value] | None = None, /, **values: Value) -> dict[str, np.ndarray]:
        """Run the network; return the outputs by name, in the model's types.

        For a network with one input, give a value; for others, give values by name, in a mapping or as arguments. A
        value is an array or list of the model's type and shape, with or without the batch of 1, or N of them. Real
        numbers for quantised inputs are quantised by their scales. If the network takes one picture, the value may be a
        file or an image of Pillow, which is fitted (docs/developer/runs.md, Pictures). For N values, the outputs have N
        in place of the batch of 1, or before another shape.

        Raise InputError, with one line, if a value does not match.
        """
        given, several = stacked(self._graph, value, values)
        return joined(self._graph, self._run(given), several)

    def golden(self, value: Value | Mapping[str, Value] | None = None, /, **values: Value) -> dict[str, np.ndarray]:
        """Return the outputs of the golden model; arguments and result are as in a call."""
        given, several = stacked(self._graph, value, values)
        return joined(self._graph, self._parts.golden(given), several)

    def profile(self) -> Profile:
        """Return cycles by layer: predicted, and measured if this session has run on the RTL (first image of its last
        run).
        """
        return profile_of(self._parts, self._measured)

    @cached_property
    def _parts(self) -> PartsSession:
        return PartsSession.load(compiled_parts(self.model, self.config))

    def _runs_parts(self) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
        back_end = RtlBackEnd(self.seed) if self.back_end == "rtl" else on_functional_simulator
        parts = self._parts

        def run(given: list[np.ndarray]) -> list[np.ndarray]:
            done = parts.run(given, back_end)
            if self.back_end == "rtl":
                self._measured = tuple(done.accelerator)
            return done.outputs

        return run

    def _runs_c(self) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
        with about(self.model):
            return built(self.model.stem, read_model(self.model), self._graph).run

    def __reduce__(self) -> tuple:
        return _again, (self.model, self.config.as_dict(), self.back_end, self.seed, self._digest)

    def __repr__(self) -> str:
        return f"<eyrie session of {self.model.name} on {self.back_end}>"


def _again(model: Path, config: dict, back_end: str, seed: int, digest: str) -> Session:
    """Create a session again. Raise InputError if the model has changed."""
    session = Session(model, AcceleratorConfig.of(config), back_end, seed)
    if session._digest != digest:
        raise InputError(f"{model}: has changed since the session was opened: open it again")
    return session


def _port(tensor: Tensor) -> Port:
    more = 128 if file_type(tensor) == "uint8" else 0
    return Port(
        tensor.name,
        tensor.shape,
        file_type(tensor),
        tensor.quantization.scale if isinstance(tensor, Quantized) else None,
        tensor.zero_point + more if isinstance(tensor, Quantized) else None,
    )
