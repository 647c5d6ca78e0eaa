# SPDX-License-Identifier: Apache-2.0
"""LiteRT's interpreter on Eyrie."""

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import interpreter as litert

from eyrie.compiler.frontend.file import read_model
from eyrie.model.errors import InputError
from eyrie.runtime.configurations import Configuration
from eyrie.session import load_bytes


class Interpreter(litert.Interpreter):
    """A LiteRT interpreter whose model runs on a back end of Eyrie.

    It has the tensors of the model's inputs and outputs. Options about speed have no effect. Results equal the results
    of the reference kernels (docs/concepts/quantisation.md); LiteRT's default kernels round otherwise.

    back_end, config  as in `eyrie.load`
    session           the session that runs the model
    """

    def __init__(
        self,
        model_path: str | PathLike | None = None,
        model_content: bytes | None = None,
        *_: object,
        back_end: str = "rtl",
        config: Configuration = None,
        **__: object,
    ) -> None:
        if (model_path is None) == (model_content is None):
            raise InputError("give either model_path or model_content")
        if model_content is None:
            assert model_path is not None
            model_content = read_model(Path(model_path))
        quiet = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        name = fspath(model_path) if model_path else "the model"
        try:
            super().__init__(model_content=model_content, experimental_op_resolver_type=quiet)
        except ValueError as error:
            raise InputError(f"{name}: LiteRT rejects it ({error}): convert the model again") from error
        self.session = load_bytes(bytes(model_content), name, config, back_end)
        self._ends = [each["index"] for each in self.get_input_details()]
        self._made = [each["index"] for each in self.get_output_details()]
        self._values = {
            each["index"]: np.zeros(each["shape"], each["dtype"])
            for each in (*self.get_input_details(), *self.get_output_details())
        }

    def allocate_tensors(self) -> None:
        """Return: the tensors are there."""

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int], strict: bool = False) -> None:
        """Change the batch. Raise InputError for another change: shapes are fixed when a model is compiled."""
        shape = self._of_model(input_index)
        if tuple(tensor_size[1:]) != shape[1:] or tensor_size[0] < 1 or shape[:1] != (1,):
            raise InputError(f"input {input_index}: only a batch of 1 can be resized, to N x {shape[1:]}")
        self._values[input_index] = np.zeros(tensor_size, self._values[input_index].dtype)

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        held, given = self.tensor(tensor_index)(), np.asarray(value)
        if (given.dtype, given.shape) != (held.dtype, held.shape):
            raise InputError(
                f"tensor {tensor_index}: is {held.dtype} of {held.shape}, the value {given.dtype} of {given.shape}"
            )
        held[...] = given

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> np.ndarray:
        return self.tensor(tensor_index)().copy()

    def tensor(self, tensor_index: int) -> Callable[[], np.ndarray]:
        if tensor_index not in self._values:
            raise InputError(f"tensor {tensor_index}: only inputs and outputs of the model have values in Eyrie")
        return lambda: self._values[tensor_index]

    def invoke(self) -> None:
        inputs = [self._values[index].reshape(-1, *self._of_model(index)) for index in self._ends]
        for index, value in zip(self._made, self.session.run(inputs), strict=True):
            shape = value.shape[1:]
            self._values[index] = value[0] if len(value) == 1 else value.reshape(-1, *shape[1:])

    def reset_all_variables(self) -> None:
        self.session.reset()

    def get_signature_runner(self, signature_key: str | None = None) -> Callable[..., dict[str, np.ndarray]]:
        """Return a function that takes inputs and returns outputs by their names in the signature."""
        signatures = self._get_full_signature_list()
        key = next(iter(signatures), None) if signature_key is None and len(signatures) == 1 else signature_key
        if key not in signatures:
            raise InputError(f"signature {signature_key}: choose from {', '.join(signatures) or 'none'}")
        ends = signatures[key]

        def run(**values: Any) -> dict[str, np.ndarray]:
            for name, value in values.items():
                self.set_tensor(ends["inputs"][name], value)
            self.invoke()
            return {name: self.get_tensor(index) for name, index in ends["outputs"].items()}

        return run

    def _of_model(self, index: int) -> tuple[int, ...]:
        [details] = [each for each in self.get_input_details() if each["index"] == index]
        return tuple(map(int, details["shape"]))
