# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed into an environment of its own, outside any checkout and with no index of packages."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import BUILD, ROOT
from tests.commands.small_nets import separable

PARTS = ("eyrie", "model", "compiler", "runtime", "rtl", "data", "pyproject.toml", "README.md", "LICENSE")
MOST_BYTES = 10_000_000
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
CHECKOUT_COMMANDS = tuple(
    "sim fifo0,list,golden,check,lint,docs,mutate,machines,synth,layer x.npz y.npz,bench --parts x,study".split(",")
)


@dataclass(frozen=True)
class Installed:
    """wheel: the file; bin: the environment's programs; home: a user's folder; work: the user's own project."""

    wheel: Path
    bin: Path
    home: Path
    work: Path

    def run(self, *command: object, **variables: str) -> subprocess.CompletedProcess:
        """Run a program of the environment in the user's project, as a fresh shell does."""
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], **variables}
        words = [str(self.bin / str(command[0])), *map(str, command[1:])]
        return subprocess.run(words, cwd=self.work, env=environment, capture_output=True, text=True)

    def succeed(self, *command: object) -> str:
        ended = self.run(*command)
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
        return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("package")
    source = place / "source"
    source.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    build = ["wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", place, source]
    subprocess.run([sys.executable, *PIP, *build], check=True, capture_output=True)
    [found] = place.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(wheel, tmp_path_factory.mktemp("installed"))


def install(wheel: Path, place: Path) -> Installed:
    """Install a wheel into a new environment in a folder."""
    environment = place / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, *PIP, "install", "--no-index", "--no-deps", wheel], check=True, capture_output=True)
    # The packages that it depends on, behind its own modules.
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    home, work = place / "home", place / "work"
    (home / ".cache" / "eyrie").mkdir(parents=True)
    (work / "compiler").mkdir(parents=True)
    for name in ("model.py", "runtime.py", "compiler/__init__.py"):
        (work / name).write_text("raise RuntimeError('the user has a module of this name')\n")
    (BUILD / "models").mkdir(parents=True, exist_ok=True)
    (home / ".cache" / "eyrie" / "models").symlink_to(BUILD / "models")  # the same sources: no need to build anew
    return Installed(wheel, environment / "bin", home, work)


def test_the_wheel_has_everything(installed: Installed) -> None:
    assert installed.wheel.name.startswith(f"eyrie_accelerator-{eyrie.__version__}-")
    assert installed.wheel.stat().st_size < MOST_BYTES
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    wanted = {"eyrie/py.typed"}
    for folder in ("model", "compiler", "runtime", "rtl", "data"):
        paths = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        wanted |= {f"eyrie/{path.relative_to(ROOT)}" for path in paths}
    assert not wanted - names
    assert {name.split("/")[0] for name in names} == {"eyrie", f"eyrie_accelerator-{eyrie.__version__}.dist-info"}


def test_it_is_the_installed_package(installed: Installed) -> None:
    lines = "import eyrie, eyrie.model.config, eyrie.compiler.network as n; print(n.__file__); print(eyrie.load)"
    where = installed.succeed("python", "-c", lines)
    assert where.startswith(str(installed.bin.parent)) and "function load" in where
    assert installed.succeed("eyrie", "--version") == f"eyrie {eyrie.__version__}\n"


def test_a_photo_is_classified(installed: Installed) -> None:
    said = installed.succeed("eyrie", "demo", "--quiet")
    assert "cat.png is a cat" in said and said.endswith("match\n")
    assert (installed.home / ".cache" / "eyrie" / "demo" / "summary.json").exists()


def test_a_model_is_compiled_and_run(installed: Installed) -> None:
    rng = np.random.default_rng(1)
    (installed.work / "net.tflite").write_bytes(separable(rng))
    np.save(installed.work / "x.npy", rng.integers(-128, 128, (8, 8, 3)).astype(np.int8))
    installed.succeed("eyrie", "compile", "net.tflite", "-o", "net", "--quiet")
    installed.succeed("eyrie", "run", "net", "--input", "x.npy", "--output", "rtl.npy", "--quiet")
    installed.succeed(
        "eyrie", "run", "net", "--input", "x.npy", "--output", "model.npy", "--back-end", "functional", "--quiet"
    )
    found = np.load(installed.work / "rtl.npy")
    assert np.array_equal(found, np.load(installed.work / "model.npy"))
    lines = "import eyrie, numpy as n; s = eyrie.load('net.tflite', back_end='c'); [y] = s(n.load('x.npy')).values()"
    said = installed.succeed("python", "-c", f"{lines}; print(y.ravel().tolist())")
    assert said == f"{found.ravel().tolist()}\n"


@pytest.mark.parametrize("command", CHECKOUT_COMMANDS)
def test_commands_of_a_checkout_say_so(command: str, installed: Installed, tmp_path: Path) -> None:
    for name in ("cocotb_tools", "find_libpython"):
        (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError('the extra dev is not installed')\n")
    ended = installed.run("eyrie", *command.split(), PYTHONPATH=str(tmp_path))
    name = command.split()[0]
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1, ended.stderr
    assert ended.stderr.startswith(f"eyrie {name}: ") and "in a clone of the repository" in ended.stderr


def test_a_missing_compiler_is_one_line(installed: Installed, tmp_path: Path) -> None:
    for name in ("sh", "make"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    ended = installed.run("eyrie", "demo", "--quiet", PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("eyrie demo: the simulator is built with g++, not found: ")


def test_nothing_is_left(wheel: Path, tmp_path: Path) -> None:
    installed = install(wheel, tmp_path)
    installed.succeed("eyrie", "graph", MODEL, "--quiet")
    (installed.home / ".cache" / "eyrie" / "models").unlink()
    assert "removed" in installed.succeed("eyrie", "cache", "--clear")
    assert not any(path.is_file() for path in installed.home.rglob("*"))
    installed.succeed("python", "-m", "pip", "uninstall", "--yes", "eyrie-accelerator")
    [packages] = installed.bin.parent.glob("lib/python*/site-packages")
    assert not [path for path in packages.iterdir() if "eyrie" in path.name] and not (installed.bin / "eyrie").exists()
