# SPDX-License-Identifier: Apache-2.0
"""Compiled C networks: a library that this process calls, and a program, which a sanitizer can stop."""

import ctypes
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jinja2
import numpy as np

from eyrie.compiler.c.sources import Sources
from eyrie.compiler.files import write_all
from eyrie.model.errors import InputError

SOURCES = ("compiler/**/*.py", "compiler/c/**/*", "model/**/*.py", "runtime/portable_c/*")  # part of the cache key
LIBRARY = "library.so"
FAST = ("-O3",)
CHECKED = (  # undefined behaviour ends the program
    *("-Wall", "-Wextra", "-Werror", "-pedantic"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)
_ALWAYS = ("-std=c99", "-ffp-contract=off")
SHARED = ("-shared", "-fPIC")
_REMEDY = "install one, like gcc, or name it in CC"


class BuildError(RuntimeError):
    """The C compiler rejects a source; the message is the compiler's."""


class RunError(RuntimeError):
    """The program ended too early; the message is its own, or a sanitizer's."""


@dataclass(frozen=True)
class Library:
    """Networks in a shared library. Threads may call it at the same time: each has an arena of its own."""

    path: Path
    networks: tuple[Sources, ...]

    def run(self, inputs: Sequence[np.ndarray], network: int = 0) -> list[np.ndarray]:
        """Return the outputs of a network in the model's order and types, N of the model's shape each.

        Inputs have the same form. Raise InputError if the library cannot be loaded.
        """
        sources = self.networks[network]
        given = _checked(sources, inputs)
        count = len(given[0])
        made = [np.empty((count, *argument.shape), argument.dtype) for argument in sources.outputs]
        function = self._loaded[f"{sources.name}_run"]
        arrays = [(values.ctypes.data, values.nbytes // max(count, 1)) for values in (*given, *made)]
        for number in range(count):
            failed = function(*(ctypes.c_void_p(start + number * size) for start, size in arrays))
            assert not failed, sources.name
        return made

    @cached_property
    def _loaded(self) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(self.path.absolute()))
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be loaded ({error}): name a compiler for this configuration in CC"
            ) from error


@dataclass(frozen=True)
class Program:
    """Networks in a program that runs in its own process."""

    path: Path
    networks: tuple[Sources, ...]

    def run(self, inputs: Sequence[np.ndarray], network: int = 0) -> list[np.ndarray]:
        """Do the same as `Library.run`. Raise RunError if the program ends too early."""
        sources = self.networks[network]
        given = _checked(sources, inputs)
        ended = subprocess.run(
            [str(self.path), str(network)],
            input=b"".join(values.tobytes() for run in zip(*given, strict=True) for values in map(np.asarray, run)),
            capture_output=True,
            env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
        )
        if ended.returncode:
            raise RunError(f"{sources.name}: {ended.stderr.decode(errors='replace').strip() or ended.returncode}")
        kind = np.dtype([(argument.name, argument.dtype, argument.shape) for argument in sources.outputs])
        made = np.frombuffer(ended.stdout, kind)
        return [np.ascontiguousarray(made[argument.name]) for argument in sources.outputs]


def build_library(networks: Sequence[Sources], folder: Path) -> Library:
    """Build networks with different names in a folder.

    Raise BuildError if the compiler rejects a source, and InputError, with one line, if the compiler is missing or the
    folder cannot be written.
    """
    arenas = [f"-D{network.arena_storage}=static __thread" for network in networks]
    _compile(networks, {}, folder, (*FAST, *SHARED, *arenas, "-o", LIBRARY))
    return Library(folder / LIBRARY, tuple(networks))


def build_program(networks: Sequence[Sources], folder: Path, options: Sequence[str] = CHECKED) -> Program:
    """Do the same as `build_library` for a program. Every network must have at least one input."""
    template = jinja2.Template(
        Path(__file__).with_name("main.c.j2").read_text(), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    main = {"main.c": template.render(networks=networks).encode()}
    _compile(networks, main, folder, (*options, "-o", "program"))
    return Program(folder / "program", tuple(networks))


def _compile(networks: Sequence[Sources], more: dict[str, bytes], folder: Path, options: Sequence[str]) -> None:
    for network in networks:
        network.save(folder)
    write_all(folder, more)
    run_compiler([*options, *more, *(network.source for network in networks)], folder)


def run_compiler(arguments: Sequence[str], folder: Path) -> None:
    """Run the C compiler of CC, or cc, in a folder.

    Raise BuildError if it rejects a source, and InputError, with one line, if it is missing.
    """
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, *_ALWAYS, *arguments]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise InputError(f"{compiler[0]}: C compiler not found: {_REMEDY}") from error
    if ended.returncode:
        raise BuildError(f"{shlex.join(command)}\n{ended.stderr}")


def _checked(sources: Sources, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the inputs of a network in C order. Every input must have the same number of entries."""
    for argument, values in zip(sources.inputs, inputs, strict=True):
        assert (str(values.dtype), values.shape[1:]) == (argument.dtype, argument.shape), argument.name
        assert len(values) == len(inputs[0]), argument.name
    return [np.ascontiguousarray(values) for values in inputs]
