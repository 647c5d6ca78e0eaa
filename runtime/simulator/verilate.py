"""Builds Verilator models, one for each top module and parameter set, and keeps them.

A model lives in build/models/<top>-<hash>/, where the hash covers the files the top needs, the
parameters and the flags: it is reused while none of them changes. Two processes may ask for the
same model at once; one of them builds it. A model appears by renaming, so an interrupted build
leaves none.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from cocotb_tools import config

from runtime.folders import ROOT
from runtime.simulator.sources import arguments, closure

MODELS = ROOT / "build" / "models"

# Only the wrapper's own variables are visible to Python: making every signal of the design visible
# would stop most of Verilator's optimisations and costs a factor of four in speed.
_VISIBLE = '`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n'

# Start values are random, by the seed given at run time: nothing may depend on zeros.
_FLAGS = (
    "--cc --exe --build --vpi --no-timing --assert -O3 --x-assign unique --x-initial unique "
    "--timescale 1ns/1ps --prefix Vtop -o model"
).split()


class BuildError(ValueError):
    """Verilator or the C++ compiler refused; the message has the first errors and the log."""


def build_model(
    top: str,
    parameters: Mapping[str, int | str] | None = None,
    sources: tuple[str, ...] = (),
    waves: bool = False,
    main: str | None = None,
) -> Path:
    """Returns the executable model of module `top`, building it if it does not exist yet.

    `parameters` are the top's; `sources` are files in addition to what sources.closure finds (C++
    for DPI), relative to the repository. With `waves` the model can write a VCD file, slowly. With
    `main`, a C++ file that drives the top's ports, the model has neither cocotb nor what cocotb
    needs (VPI, visible variables); all other flags are the same. The environment variable EYRIE_OPT
    holds more flags for Verilator: "-CFLAGS -O0" builds fast.
    """
    files = [*closure(top), *(ROOT / source for source in (*sources, *([main] if main else [])))]
    flags = [flag for flag in _FLAGS if flag != "--vpi" or not main]
    flags += os.environ.get("EYRIE_OPT", "").split()
    flags += ["--top-module", top, *_generics(parameters or {})]
    if waves:
        flags += ["--trace-vcd", "--trace-structs"]
    folder = MODELS / f"{top}-{_digest(flags, files)}"
    with _locked(folder.with_suffix(".lock")):
        if not folder.exists():
            _build(top, flags, files, folder, cocotb=not main)
    return folder / "model"


def _generics(parameters: Mapping[str, int | str]) -> list[str]:
    literals = {
        name: f'"{value}"' if isinstance(value, str) else int(value)
        for name, value in sorted(parameters.items())
    }
    return [f"-G{name}={literal}" for name, literal in literals.items()]


@cache
def _version() -> str:
    return subprocess.run(
        ["verilator", "--version"], capture_output=True, text=True, check=True, env=_environment()
    ).stdout


def _digest(flags: list[str], files: list[Path]) -> str:
    digest = hashlib.sha256("\n".join([_version(), _VISIBLE, *flags]).encode())
    for path in files:
        digest.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file closes, however the process ends
        yield


def _environment() -> dict[str, str]:
    """The build's: the virtual environment's tools first, and no knobs of the calling make."""
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    environment["PATH"] = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    return environment


def _cocotb(top: str, part: Path) -> list[str]:
    """Verilator's arguments for a model that cocotb drives."""
    control = part / "visible.vlt"
    control.write_text(_VISIBLE.format(top=top))
    libraries = f"-Wl,-rpath,{config.libs_dir} -L{config.libs_dir} -lcocotbvpi_verilator"
    main = config.share_dir / "lib" / "verilator" / "verilator.cpp"
    return ["-LDFLAGS", libraries, str(control), str(main)]


def _build(top: str, flags: list[str], files: list[Path], folder: Path, cocotb: bool) -> None:
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    extra = [str(path) for path in files if path.suffix not in (".sv", ".svh")]
    command = [
        *["verilator", *flags, "-j", "2", "-Mdir", str(part)],
        *[*(_cocotb(top, part) if cocotb else []), *arguments(files), *extra],
    ]
    log = folder.with_suffix(".log")
    with log.open("w") as file:
        status = subprocess.run(command, env=_environment(), stdout=file, stderr=file).returncode
    if status != 0:
        lines = [line for line in log.read_text().splitlines() if "rror" in line or "%Warn" in line]
        raise BuildError("\n".join([*lines[:12], f"cannot build {top}: {log.relative_to(ROOT)}"]))
    for path in part.iterdir():  # the generated C++ is a hundred times the size of the model
        if path.name != "model":
            path.unlink()
    part.rename(folder)
