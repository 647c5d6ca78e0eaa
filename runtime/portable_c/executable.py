# SPDX-License-Identifier: Apache-2.0
"""An executable of networks as C."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np

from eyrie.compiler.c.sources import Sources
from eyrie.compiler.files import write_all
from eyrie.model.errors import InputError

SOURCES = ("compiler/**/*.py", "compiler/c/**/*", "model/**/*.py", "runtime/portable_c/*")  # of what is built
FAST = ("-O2",)
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
CHECKED = (*STRICT, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")  # what is undefined ends the program
_ALWAYS = ("-std=c99", "-ffp-contract=off")
_REMEDY = "install one, like gcc, or name it in CC"


class BuildError(RuntimeError):
    """The compiler refuses what is written; the message is its own."""


class RunError(RuntimeError):
    """The program ended before its time; the message is its own, or a sanitizer's."""


@dataclass(frozen=True)
class Executable:
    path: Path
    networks: tuple[Sources, ...]

    def run(self, inputs: Sequence[np.ndarray], network: int = 0) -> list[np.ndarray]:
        """The outputs of a network, in the model's order and types, N of the model's shape each, of inputs that are so,
        too. Raises RunError."""
        sources = self.networks[network]
        for argument, values in zip(sources.inputs, inputs, strict=True):
            assert (str(values.dtype), values.shape[1:]) == (argument.dtype, argument.shape), argument.name
        given = b"".join(values.tobytes() for run in zip(*inputs, strict=True) for values in map(np.asarray, run))
        ended = subprocess.run(
            [str(self.path), str(network)],
            input=given,
            capture_output=True,
            env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
        )
        if ended.returncode:
            raise RunError(f"{sources.name}: {ended.stderr.decode(errors='replace').strip() or ended.returncode}")
        kind = np.dtype([(argument.name, argument.dtype, argument.shape) for argument in sources.outputs])
        made = np.frombuffer(ended.stdout, kind)
        return [np.ascontiguousarray(made[argument.name]) for argument in sources.outputs]


def build(networks: Sequence[Sources], folder: Path, options: Sequence[str] = FAST) -> Executable:
    """Builds networks, with at least one input each and no two of one name, in a folder.

    Raises BuildError, and InputError, in one line, where there is no compiler or no place to write to.
    """
    template = jinja2.Template(
        Path(__file__).with_name("main.c.j2").read_text(), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    for network in networks:
        network.save(folder)
    write_all(folder, {"main.c": template.render(networks=networks).encode()})
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, *_ALWAYS, *options, "-o", "program", "main.c", *(network.source for network in networks)]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise InputError(f"{compiler[0]}: there is no such C compiler: {_REMEDY}") from error
    if ended.returncode:
        raise BuildError(f"{shlex.join(command)}\n{ended.stderr}")
    return Executable(folder / "program", tuple(networks))
