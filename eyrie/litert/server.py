# SPDX-License-Identifier: Apache-2.0
"""The process that runs the network of an external delegate: python -m eyrie.litert.server MODEL BACK_END CONFIG

CONFIG is a JSON file, or JSON, or empty. Standard input is the socket of the delegate (external_delegate.c).
"""

import json
import socket
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from io import BufferedRWPair
from math import prod
from pathlib import Path
from zlib import crc32

import numpy as np
from ai_edge_litert.schema_py_generated import Model

from eyrie.compiler.frontend.file import read_model
from eyrie.litert.interpreter import Interpreter
from eyrie.model.errors import InputError
from eyrie.runtime.portable_c.executable import BuildError

LONGEST_TEXT = 4095  # bytes


def main(model: str, back_end: str, config: str) -> None:
    """Run a network until the delegate closes the socket or an error ends the network."""
    with suppress(ConnectionError, KeyboardInterrupt):  # the program with the delegate ends
        with socket.socket(fileno=0) as delegate, delegate.makefile("rwb") as stream:
            try:
                _serve(stream, Path(model), back_end, config)
            except ConnectionError:
                raise
            except (InputError, BuildError, NotImplementedError) as error:
                _fail(stream, str(error))
            except Exception as error:
                traceback.print_exc()
                _fail(stream, f"a fault of Eyrie ({error!r}): please report it with the traceback on standard error")


def _serve(stream: BufferedRWPair, path: Path, back_end: str, config: str) -> None:
    contents = read_model(path)
    interpreter = Interpreter(path, back_end=back_end, config=_config_of(config))
    ends, made = interpreter.get_input_details(), interpreter.get_output_details()
    if not ends:
        raise InputError(f"{path}: a model without inputs does not run by a delegate: use eyrie.load")
    model = Model.GetRootAs(contents)
    graphs = [model.Subgraphs(number) for number in range(model.SubgraphsLength())]
    _send(stream, 0, _crc_of_constants(model), len(graphs), len(ends), len(made))
    for graph in graphs:
        _send(stream, graph.OperatorsLength(), graph.TensorsLength())
    for each, port in zip((*ends, *made), (*interpreter.session.inputs, *interpreter.session.outputs), strict=True):
        _send(stream, each["index"], prod(port.shape) * np.dtype(each["dtype"]).itemsize)
        _send(stream, len(port.shape), *port.shape)
    while stream.read(1):
        for each in ends:
            held = interpreter.tensor(each["index"])()
            values = stream.read(held.nbytes)
            if len(values) < held.nbytes:
                return  # the program with the delegate has ended
            held[...] = np.frombuffer(values, held.dtype).reshape(held.shape)
        interpreter.invoke()
        _send(stream, 0)
        for each in made:
            stream.write(interpreter.get_tensor(each["index"]).tobytes())
        stream.flush()


def _crc_of_constants(model: Model) -> int:
    """Return the CRC-32 of the constants of the main graph, tensor by tensor."""
    graph, crc = model.Subgraphs(0), 0
    for number in range(graph.TensorsLength()):
        values = model.Buffers(graph.Tensors(number).Buffer()).DataAsNumpy()
        if isinstance(values, np.ndarray):
            crc = crc32(values.tobytes(), crc)
    return crc


def _send(stream: BufferedRWPair, *numbers: int) -> None:
    stream.write(np.array(numbers, np.int64).tobytes())
    stream.flush()


def _fail(stream: BufferedRWPair, text: str) -> None:
    said = text.encode()[:LONGEST_TEXT]
    _send(stream, len(said))
    stream.write(said)
    stream.flush()


def _config_of(config: str) -> Mapping[str, int] | str | None:
    if not config.startswith("{"):
        return config or None
    try:
        return json.loads(config)
    except ValueError as error:
        raise InputError(f"option config: is no JSON ({error})") from error


if __name__ == "__main__":
    main(*sys.argv[1:])
