# SPDX-License-Identifier: Apache-2.0
"""The code generator: RunCodegen gives it the functions of `partitioned`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import tvm
import tvm_ffi
from tvm import relax

from eyrie.compiler.frontend.qdq.maps import from_accelerator, to_accelerator
from eyrie.compiler.frontend.tvm.read import graph_of_steps, maps_of
from eyrie.compiler.frontend.tvm.steps import CODE_GENERATOR, steps_of
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.session import session_of
from eyrie.tvm.partition import BACK_END, CONFIG

tvm_ffi.register_error("InputError", InputError)


@tvm.register_global_func(f"relax.ext.{CODE_GENERATOR}", override=True)
def generate(functions: Sequence[relax.Function], options: Mapping[str, object], names: Mapping) -> list:
    """Register, under the name of each function, a call of the accelerator. Return no modules to link.

    The accelerator is in this process. Raise InputError for functions that `partitioned` did not make.
    """
    with _through_tvm():
        for function in functions:
            tvm.register_global_func(str(function.attrs["global_symbol"]), _call_of(function), override=True)
    return []


def _call_of(function: relax.Function) -> Callable[..., None]:
    """Return a function that takes the tensors of `function`, followed by the tensors for its outputs."""
    if BACK_END not in function.attrs:
        raise InputError("a function for the code generator eyrie is not compiled: call eyrie.tvm.partitioned")
    config = AcceleratorConfig.of(json.loads(str(function.attrs[CONFIG])))
    name, count = str(function.attrs["global_symbol"]), len(function.params)
    steps = steps_of(function)
    session, maps = session_of(graph_of_steps(steps), name, config, str(function.attrs[BACK_END])), maps_of(steps)

    def call(*tensors: tvm.runtime.Tensor) -> None:
        with _through_tvm():
            made = session.run([to_accelerator(tensor.numpy(), maps) for tensor in tensors[:count]])
        for tensor, values in zip(tensors[count:], made, strict=True):
            tensor.copyfrom(from_accelerator(values, maps))

    return call


@contextmanager
def _through_tvm() -> Iterator[None]:
    """Raise every InputError as that type itself, the one that TVM takes to its caller by name."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error)) from error
