# SPDX-License-Identifier: Apache-2.0
"""Damaged inputs, a thousand of them: each is rejected in one line, repaired, or taken with the right result.

Three targets: model files, the folders that eyrie.load keeps, and the folders that eyrie compile writes. Four kinds:

flip  1 to 16 bits of a file
cut   a file ends early
edit  an entry is changed, and every seal (digest, manifest) is made to go with it
swap  a file or a folder is that of another network or accelerator, or two files are exchanged

The right result of a model file is what the golden model makes of that very file, and TensorFlow Lite's reference
kernels, as far as they take it. What is kept is never anything but what the model says: its result is that of the
model, whatever was done. A compiled folder is the network that its memory holds: another one where everything is that
of another, or where the weights of another are sealed anew. Every other edit leaves the results as they are; but an
output that is said to have fewer channels has the first ones. Edits leave the accelerator's sizes alone, as nothing
else in a folder says for which accelerator its program is, and the commands and the instructions of a library: the
caller that seals others has made another program.
"""

import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import eyrie
from eyrie.compiler.parts import compile_parts
from eyrie.model.errors import InputError
from eyrie.model.interpreters import Rejected, run_litert, run_micro
from eyrie.runtime import programs
from eyrie.runtime.folders import unfinished
from eyrie.testing.samples import scale, scaled
from tests.commands.commands import assert_rejected
from tests.commands.commands import eyrie as command
from tests.compiler.test_command_line import PYTHON
from tests.compiler.test_damaged import structure
from tests.runtime import damages
from tests.runtime.damages import Base, a_file, drawn, expected, files, random_values

COUNT = 84  # of each target and kind
DRAWN = scaled(COUNT) if scale() >= 1 else scaled(COUNT // 2)  # most of them compile a network
LIMIT_S = 100.0  # for a case
KINDS = ("flip", "cut", "edit", "swap")
OF_FILES = {"flip": damages.flip, "cut": damages.cut}
VERDICTS = {  # that have to occur, where so many are drawn that they do
    ("models", "flip"): {"accepted", "rejected"},
    ("models", "cut"): {"rejected"},
    ("models", "edit"): {"accepted", "rejected"},
    ("models", "swap"): {"accepted"},
    ("caches", "flip"): {"repaired"},
    ("caches", "cut"): {"repaired"},
    ("caches", "edit"): {"accepted", "rejected", "repaired"},
    ("caches", "swap"): {"repaired"},
    **{("folders", kind): {"accepted", "rejected"} for kind in KINDS},
}
REFERENCES = (run_litert, run_micro)


@dataclass(frozen=True)
class Case:
    target: str
    kind: str
    number: int
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.number, *f"{self.target} {self.kind}".encode()])


@dataclass(frozen=True)
class Verdict:
    """A word, and of a model that is taken the file, the inputs and the outputs."""

    word: str
    model: bytes = b""
    inputs: tuple | list = ()
    outputs: tuple | list = ()


# ---- Cases, which run in a process of their own ----


def same(found: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    return len(found) == len(wanted) and all(
        np.array_equal(one, other) and one.dtype == other.dtype for one, other in zip(found, wanted)
    )


def check_line(error: InputError) -> None:
    assert str(error) and "\n" not in str(error) and not PYTHON.search(str(error)), error


def of_models(case: Case, folder: Path, root: Path) -> Verdict:
    rng, path = case.rng, folder / "net.tflite"
    path.write_bytes(drawn(rng))
    back_end = str(rng.choice(["functional", "c"]))
    programs.PROGRAMS = folder / "programs"
    if case.kind == "edit":
        path.write_bytes(structure(path.read_bytes(), rng, most=1))
    elif case.kind == "swap":
        eyrie.load(path, back_end=back_end)  # of the same name
        path.write_bytes(drawn(rng))
    else:
        OF_FILES[case.kind](path, rng)
    before = {place for place in folder.glob("programs/*") if place.is_dir()}
    try:
        session = eyrie.load(path, back_end=back_end)
        values = {port.name: random_values(port.shape, port.dtype, rng) for port in session.inputs}
        found = session(values)
        outputs = [found[port.name] for port in session.outputs]  # a damaged model may have an output twice
    except InputError as error:
        check_line(error)
        assert {place for place in folder.glob("programs/*") if place.is_dir()} == before
        return Verdict("rejected")
    golden = session.golden(values)
    assert same(outputs, [golden[port.name] for port in session.outputs]), "not what the golden model makes"
    return Verdict("accepted", path.read_bytes(), list(values.values()), outputs)


def of_caches(case: Case, folder: Path, root: Path) -> Verdict:
    rng = case.rng
    base, back_end = Base(root, case.seed, int(rng.integers(3))), str(rng.choice(["functional", "c"]))
    whole = base.kept(back_end)
    own = folder / "programs" / whole.name
    shutil.copytree(whole, own)
    if case.kind == "edit":
        what = damages.edit_cached(own, rng)
    elif case.kind == "swap":
        what, _ = damages.swap(own, base.other(rng).kept(back_end), rng)
    else:
        what = OF_FILES[case.kind](a_file(own, rng), rng)
    damaged = files(own)
    programs.PROGRAMS = own.parent
    try:
        [output] = eyrie.load(base.model, back_end=back_end)(base.values).values()
    except InputError as error:
        check_line(error)
        assert files(own) == damaged and not unfinished(own.parent), what
        return Verdict("rejected")
    assert same([output], [expected(base)]), what
    if files(own) == damaged:
        return Verdict("accepted")
    assert files(own) == files(whole) and not unfinished(own.parent), what
    return Verdict("repaired")


def of_folders(case: Case, folder: Path, root: Path) -> Verdict:
    rng, own = case.rng, folder / "net"
    base = Base(root, case.seed, int(rng.integers(3)))
    shutil.copytree(base.compiled(), own)
    if case.kind == "swap":
        other = base.other(rng)
        what, all_of_it = damages.swap(own, other.compiled(), rng)
        base = other if all_of_it else base
    elif case.kind != "edit":
        what = OF_FILES[case.kind](a_file(own, rng), rng)
    elif rng.random() < 0.3:
        base = replace(base, twin=True)
        what = damages.other_weights(own, base.compiled())
    else:
        what = damages.edit(own, rng)
    np.save(folder / "x.npy", base.values)
    before = files(folder)
    ended = command("run", own, "--back-end", "functional", "--input", folder / "x.npy", "--output", folder / "y.npy")
    if ended.returncode:
        assert_rejected(ended, "eyrie run: ")
        assert not PYTHON.search(ended.stderr), ended.stderr
        assert files(folder) == before, what
        return Verdict("rejected")
    found, wanted = np.load(folder / "y.npy"), expected(base)
    channels = found.shape[-1] if case.kind == "edit" else wanted.shape[-1]
    assert same([found], [wanted[..., :channels]]), what
    return Verdict("accepted")


CASES = {"models": of_models, "caches": of_caches, "folders": of_folders}


def verdict(case: Case, root: Path) -> Verdict:
    programs.compile_parts = partial(compile_parts, search_iterations=damages.FEW)
    with TemporaryDirectory(dir=root) as folder:
        return CASES[case.target](case, Path(folder), root)


def referenced(found: Verdict, reference: Callable) -> str:
    """Return what becomes of a reference."""
    try:
        return "same" if same(found.outputs, reference(found.model, *found.inputs)) else "other"
    except Rejected:
        return "rejected"


class Ended(Exception):
    """A process died, or took too long."""


class Apart:
    """A process of its own, which calls functions one after another; one that dies or hangs is followed by another."""

    def __init__(self) -> None:
        self.process: SpawnProcess | None = None

    def call(self, function: Callable, *arguments: object):
        """Return what a function does. Raises Ended, and AssertionError with the traceback of any exception."""
        if self.process is None:
            self.near, far = get_context("spawn").Pipe()
            self.process = get_context("spawn").Process(target=serve, args=(far,), daemon=True)
            self.process.start()
            far.close()
        try:
            self.near.send((function, arguments))
            if not self.near.poll(LIMIT_S):
                raise Ended(f"no answer in {LIMIT_S:.0f} s")
            raised, answer = self.near.recv()
        except (OSError, EOFError, Ended) as error:
            self.close()
            raise Ended(str(error) or "the process died") from None
        assert not raised, raised
        return answer

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def serve(far: Connection) -> None:
    while True:
        function, arguments = far.recv()
        try:
            far.send(("", function(*arguments)))
        except Exception:
            far.send((traceback.format_exc(), None))


# ---- The campaign ----


@pytest.fixture(scope="module")
def apart() -> Iterator[tuple[Apart, Apart]]:
    """Processes for Eyrie and for the references, which a damaged model may end."""
    both = Apart(), Apart()
    yield both
    for each in both:
        each.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


def asked(references: Apart, found: Verdict) -> Iterator[str]:
    """Yield what becomes of each reference; one that dies does not tell about the outputs.

    Raises AssertionError if the first reference that runs the model makes other outputs. Where a damaged model
    contradicts itself, LiteRT goes by the operators, tflite-micro by the shapes of tensors.
    """
    decided = False
    for reference in REFERENCES:
        try:
            word = references.call(referenced, found, reference)
        except Ended:
            word = "died"
        assert decided or word != "other", f"not what {reference.__name__} makes"
        decided |= word == "same"
        yield f"{reference.__name__} {word}"


def alone(target: str, kind: str, number: int, seed: int) -> str:
    """Run a case in this process."""
    with TemporaryDirectory() as folder:
        found = verdict(Case(target, kind, number, seed), Path(folder))
    return " ".join([found.word, *(referenced(found, each) for each in REFERENCES if found.model)])


@pytest.mark.parametrize(("target", "kind"), VERDICTS)
def test_right_or_rejected(
    target: str, kind: str, seed: int, apart: tuple[Apart, Apart], root: Path, record_property: Callable
) -> None:
    """A case that fails is repeated alone by the line that the failure has."""
    seen: Counter = Counter()
    for number in range(DRAWN):
        case = Case(target, kind, number, seed)
        try:
            found = apart[0].call(verdict, case, root)
            if found.model:
                seen.update(asked(apart[1], found))
        except (AssertionError, Ended) as error:
            call = f'alone("{target}", "{kind}", {number}, {seed})'
            line = f".venv/bin/python -c 'from {__name__} import *; print({call})'"
            raise pytest.fail.Exception(f"{error}\n{case}, alone: {line}", pytrace=False) from None
        seen[found.word] += 1
    print(target, kind, dict(seen))
    record_property("verdicts", dict(seen))
    assert DRAWN < COUNT or VERDICTS[target, kind] <= seen.keys(), seen
    assert target != "models" or not seen["accepted"] or seen["run_micro same"], seen
