# SPDX-License-Identifier: Apache-2.0
"""The process that runs the network of an external delegate: python -m eyrie.litert.server MODEL BACK_END CONFIG

CONFIG is a JSON file, or JSON, or empty. Standard input is the socket of the delegate (external_delegate.c).
"""

import json
import socket
import sys
import traceback
from collections.abc import Mapping
from io import BufferedRWPair
from math import prod

import numpy as np

from eyrie.litert.interpreter import Interpreter
from eyrie.model.errors import InputError
from eyrie.runtime.portable_c.executable import BuildError

LONGEST_TEXT = 4095  # bytes


def main(model: str, back_end: str, config: str) -> None:
    """Run a network until the delegate closes the socket or an error ends the network."""
    with socket.socket(fileno=0) as delegate, delegate.makefile("rwb") as stream:
        try:
            _serve(stream, Interpreter(model, back_end=back_end, config=_config_of(config)))
        except (InputError, BuildError) as error:
            _fail(stream, str(error))
        except Exception as error:
            traceback.print_exc()
            _fail(stream, f"a fault of Eyrie ({error!r}): please report it with the traceback on standard error")


def _serve(stream: BufferedRWPair, interpreter: Interpreter) -> None:
    ends, made = interpreter.get_input_details(), interpreter.get_output_details()
    _send(stream, 0, interpreter.operators, len(ends), len(made))
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


def _send(stream: BufferedRWPair, *numbers: int) -> None:
    stream.write(np.array(numbers, np.int64).tobytes())
    stream.flush()


def _fail(stream: BufferedRWPair, text: str) -> None:
    said = text.encode()[:LONGEST_TEXT]
    try:
        _send(stream, len(said))
        stream.write(said)
        stream.flush()
    except BrokenPipeError:
        pass  # the delegate has gone


def _config_of(config: str) -> Mapping[str, int] | str | None:
    return json.loads(config) if config.startswith("{") else config or None


if __name__ == "__main__":
    main(*sys.argv[1:])
