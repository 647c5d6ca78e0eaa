# SPDX-License-Identifier: Apache-2.0
"""Small networks as files, kept and compiled, and what can be done to these: test_damaged_inputs.py does it."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import eyrie
from eyrie.compiler.artefact.files import digest
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.image import sealed
from eyrie.model.interpreters import run_micro
from eyrie.runtime import cached_folders, programs
from eyrie.runtime.portable_c.executable import LIBRARY
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.commands.commands import eyrie as command

FEW = 4  # arrangements that are tried: what they cost does not matter here
SMALL = {"rows": 3, "cols": 4}  # an accelerator
VALUES = (None, [], "word", -1, 0, 1, 2, 8, 2**31, 0.5, True)
HEAD = (0, 1, 2, 3, 4, 5, 6, 18)  # bytes of a library that every loader looks at: magic, class, order, accelerator


# ---- Networks ----


def weights(net: Builder, rng: np.random.Generator, *shape: int) -> list[int]:
    """Add filters of so many outputs and their biases."""
    scales = rng.uniform(0.002, 0.02, shape[0])
    filters = net.tensor(shape, scale=scales, data=rng.integers(-127, 128, shape))
    bias = net.tensor(shape[:1], "int32", scale=scales * 0.1, data=rng.integers(-500, 500, shape[0]))
    return [filters, bias]


def line(rng: np.random.Generator) -> bytes:
    """Return a convolution."""
    net = Builder()
    x, y = net.tensor((1, 4, 4, 12), scale=0.1, zero_point=3), net.tensor((1, 4, 4, 16), scale=0.2, zero_point=-5)
    net.operator("CONV_2D", [x, *weights(net, rng, 16, 3, 3, 12)], [y], **STEPS)
    return net.pack([x], [y])


def branch(rng: np.random.Generator) -> bytes:
    """Return a convolution, an addition of what it takes, and a pooling."""
    net = Builder()
    x, y, added, z = (net.tensor((1, size, size, 16), scale=0.1, zero_point=7) for size in (4, 4, 4, 2))
    net.operator("CONV_2D", [x, *weights(net, rng, 16, 1, 1, 16)], [y], **STEPS)
    net.operator("ADD", [x, y], [added])
    net.operator("MAX_POOL_2D", [added], [z], strideH=2, strideW=2, filterHeight=2, filterWidth=2)
    return net.pack([x], [z])


def mixed(rng: np.random.Generator) -> bytes:
    """Return a network of float32 in parts: the accelerator has a convolution, the host the rest."""
    net = Builder()
    real, made = net.tensor((1, 4, 4, 2), "float32"), net.tensor((1, 4, 4, 6), "float32")
    x, y = net.tensor((1, 4, 4, 2), scale=0.1, zero_point=1), net.tensor((1, 4, 4, 6), scale=0.1, zero_point=9)
    likely = net.tensor((1, 4, 4, 6), scale=1 / 256, zero_point=-128)
    net.operator("QUANTIZE", [real], [x])
    net.operator("CONV_2D", [x, *weights(net, rng, 6, 1, 1, 2)], [y], **STEPS)
    net.operator("SOFTMAX", [y], [likely], beta=1.0)
    net.operator("DEQUANTIZE", [likely], [made])
    return net.pack([real], [made])


NETWORKS = (line, branch, mixed)


def drawn(rng: np.random.Generator) -> bytes:
    return NETWORKS[rng.integers(len(NETWORKS))](rng)


def random_values(shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "float32":
        return rng.normal(0, 5, shape).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, shape, kind, endpoint=True)


@dataclass(frozen=True)
class Base:
    """An undamaged network below `root`: its number in NETWORKS, whether its weights and its accelerator are others."""

    root: Path
    seed: int
    number: int
    twin: bool = False
    small: bool = False

    def other(self, rng: np.random.Generator) -> "Base":
        """Return one that differs in its weights, its accelerator, or as a whole."""
        changes = ({"twin": True}, {"small": True}, {"number": (self.number + 1) % len(NETWORKS)})
        return replace(self, **changes[rng.integers(3)])

    @property
    def folder(self) -> Path:
        found = self.root / f"{NETWORKS[self.number].__name__}-{self.twin:d}{self.small:d}"
        found.mkdir(exist_ok=True)
        return found

    @property
    def config(self) -> dict[str, int]:
        return SMALL if self.small else {}

    @property
    def model(self) -> Path:
        path = self.folder / "net.tflite"
        if not path.exists():
            path.write_bytes(NETWORKS[self.number](np.random.default_rng([self.seed, self.number, self.twin])))
        return path

    @property
    def values(self) -> np.ndarray:
        """The input that all cases share."""
        [tensor] = tflite.load(self.model).inputs
        return random_values(tensor.shape, tensor.dtype, np.random.default_rng(self.seed))

    def kept(self, back_end: str) -> Path:
        """Return the folder that eyrie.load keeps."""
        programs.PROGRAMS = self.folder / back_end
        eyrie.load(self.model, config=self.config, back_end=back_end)
        [found] = [path for path in programs.PROGRAMS.iterdir() if path.is_dir()]
        return found

    def compiled(self) -> Path:
        """Return the folder that eyrie compile writes."""
        target, config = self.folder / "compiled", self.folder / "config.json"
        if not target.exists():
            config.write_text(json.dumps(self.config))
            ended = command("compile", self.model, "-o", target, "--config", config, "--search-iterations", FEW)
            assert ended.returncode == 0, ended.stderr
        return target


@cache
def expected(base: Base) -> np.ndarray:
    """Return the output, which the reference makes."""
    return run_micro(base.model.read_bytes(), base.values)[0]


# ---- Damages: each says what it has done ----


def files(folder: Path) -> dict[str, bytes]:
    """Return what a folder has, but for locks."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.endswith("lock")}


def a_file(folder: Path, rng: np.random.Generator) -> Path:
    return folder / rng.choice([name for name, data in files(folder).items() if data])


def flip(path: Path, rng: np.random.Generator) -> str:
    """Flip 1 to 16 bits, mostly few."""
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    chosen = rng.choice(8 * len(data), int(2 ** rng.uniform(0, 4.08)), replace=False)
    for place in chosen:
        data[place // 8] ^= 1 << place % 8
    path.write_bytes(data.tobytes())
    return f"{path}: bits {chosen} flipped"


def cut(path: Path, rng: np.random.Generator) -> str:
    """Leave a beginning: half of the time nearly all."""
    size = path.stat().st_size
    left = int(rng.integers(max(size - 16, 0) if rng.random() < 0.5 else 0, size))
    path.write_bytes(path.read_bytes()[:left])
    return f"{path}: {left} bytes left"


def swap(folder: Path, other: Path, rng: np.random.Generator) -> tuple[str, bool]:
    """Exchange two files, or take one, or all, from another folder. Return also whether all is the other's."""
    choice, path = rng.integers(3), a_file(folder, rng)
    theirs = other / path.relative_to(folder)
    if choice == 0:
        second = a_file(folder, rng)
        contents = path.read_bytes(), second.read_bytes()
        path.write_bytes(contents[1])
        second.write_bytes(contents[0])
        return f"{path} and {second.name} exchanged", False
    if choice == 1 and theirs.exists():
        path.write_bytes(theirs.read_bytes())
        return f"{path}: that of {other}", False
    shutil.rmtree(folder)
    shutil.copytree(other, folder)
    return f"{folder}: all of {other}", True


def places(value: object) -> Iterator[tuple]:
    """Every entry of what a JSON file holds: what it is in, and its key or number."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def edit_json(path: Path, rng: np.random.Generator) -> str:
    """Change an entry, or leave it out, but no size of an accelerator."""
    contents = json.loads(path.read_text())
    options = [place for place in places(contents) if place[0] is not contents.get("config")]
    container, key = options[rng.integers(len(options))]
    before = json.dumps(container)
    if rng.random() < 0.15:
        del container[key]
    elif type(container[key]) is int and rng.random() < 0.6:
        container[key] += int(rng.choice([-64, -8, -1, 1, 2, 8, 64]))
    else:
        container[key] = VALUES[rng.integers(len(VALUES))]
    path.write_text(json.dumps(contents))
    return f"{path}: {before} is now {json.dumps(container)}"


def edit(folder: Path, rng: np.random.Generator) -> str:
    """Change an entry of a compiled folder, and seal all of it anew."""
    what = edit_json(rng.choice(sorted(folder.rglob("layout.json")) + sorted(folder.glob("network.json"))), rng)
    reseal(folder)
    return what


def edit_library(folder: Path, rng: np.random.Generator) -> str:
    """Change a byte of the head of a library, or of the sources beside it."""
    path = folder / rng.choice([LIBRARY, *sorted(path.name for path in folder.glob("network*"))])
    data = bytearray(path.read_bytes())
    place = int(rng.choice(HEAD) if path.name == LIBRARY else rng.integers(len(data)))
    data[place] ^= 0x55
    path.write_bytes(data)
    return f"{path}: byte {place} changed"


def edit_cached(folder: Path, rng: np.random.Generator) -> str:
    """Change an entry of the manifest of a kept folder, or something else that the manifest is then made to have."""
    if rng.random() < 0.3:
        return edit_json(folder / cached_folders.MANIFEST, rng)
    what = edit_library(folder, rng) if (folder / LIBRARY).exists() else edit(folder, rng)
    cached_folders.seal(folder, folder.name)
    return what


def other_weights(folder: Path, twin: Path) -> str:
    """Make a compiled folder that of the same network with other weights, and seal it anew."""
    for path in [*folder.rglob("image.bin"), *folder.glob("constants.bin")]:
        path.write_bytes((twin / path.relative_to(folder)).read_bytes())
    reseal(folder)
    return f"{folder}: weights of {twin}"


def reseal(folder: Path) -> None:
    """Make the digests of a compiled folder go with its files."""
    for path in folder.rglob("layout.json"):
        contents = json.loads(path.read_text())
        path.write_text(json.dumps(sealed(contents, path.with_name("image.bin").read_bytes())))
    for path in folder.glob("network.json"):
        contents = json.loads(path.read_text())
        digests = contents.get("digests") if isinstance(contents, dict) else None
        for name in digests if isinstance(digests, dict) else ():
            if (folder / name).is_file():
                digests[name] = digest((folder / name).read_bytes())
        path.write_text(json.dumps(sealed(contents, b"") if isinstance(contents, dict) else contents))
