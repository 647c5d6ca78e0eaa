# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's sessions on Eyrie: a program that runs a model with onnxruntime runs it on Eyrie with one more line.

import onnxruntime
import eyrie.onnxruntime as onnxruntime

Names that this module does not have are onnxruntime's own, if it is installed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.runtime.configurations import Configuration
from eyrie.session import Port, load, load_bytes

_TYPES = {"float32": "float", "float64": "double", "float16": "float16", "bool": "bool"}


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a model."""

    name: str
    shape: list[int]
    type: str


class InferenceSession:
    """A session with the methods of onnxruntime's that programs use to run a model.

    The options of onnxruntime about providers and speed have no effect. back_end, config: as in `eyrie.load`
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | PathLike,
        *_: object,
        back_end: str = "rtl",
        config: Configuration = None,
        **__: object,
    ) -> None:
        if isinstance(path_or_bytes, bytes):
            self._session = load_bytes(path_or_bytes, "the model", config, back_end)
        else:
            self._session = load(Path(path_or_bytes), config, back_end)

    def get_inputs(self) -> list[NodeArg]:
        return [_argument(port) for port in self._session.inputs]

    def get_outputs(self) -> list[NodeArg]:
        return [_argument(port) for port in self._session.outputs]

    def get_providers(self) -> list[str]:
        return ["EyrieExecutionProvider"]

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: object = None
    ) -> list[np.ndarray]:
        """Run the model. Raise InputError, with one line, for a name that it does not have or a value that does not
        match."""
        names = [port.name for port in self._session.outputs]
        for name in output_names or ():
            if name not in names:
                raise InputError(unknown("output", name, names))
        found = self._session({name: np.asarray(value) for name, value in input_feed.items()})
        return [found[name] for name in output_names or names]


def _argument(port: Port) -> NodeArg:
    return NodeArg(port.name, list(port.shape), f"tensor({_TYPES.get(port.dtype, port.dtype)})")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # Python asks for some of its own, such as __path__, while it imports a module
        raise AttributeError(name)
    return getattr(import_module("onnxruntime"), name)
