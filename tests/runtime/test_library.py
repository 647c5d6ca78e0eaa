# SPDX-License-Identifier: Apache-2.0
"""The library `eyrie`: random networks on its three back ends give what tflite-micro gives, from threads and processes
too; pictures; what cannot be is rejected in one line; the examples of the pages run."""

import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import eyrie
from eyrie.model.interpreters import run_micro
from eyrie.runtime.folders import ROOT
from eyrie.testing.tflite_builder import Builder
from tests.commands.small_nets import separable

LIBRARY = {"PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def model(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("library") / "small.tflite"
    path.write_bytes(separable(np.random.default_rng(seed)))
    return path


@pytest.fixture(scope="module")
def pictures(seed: int) -> np.ndarray:
    return np.random.default_rng(seed + 1).integers(-128, 128, (6, 8, 8, 3)).astype(np.int8)


@pytest.fixture(scope="module")
def expected(model: Path, pictures: np.ndarray) -> np.ndarray:
    return np.stack([run_micro(model.read_bytes(), picture[None])[0][0] for picture in pictures])


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Two inputs, and two outputs of other types: a sum, and its softmax by the host."""
    net = Builder()
    first, second, total = (net.tensor((1, 2, 2, 3), scale=0.1) for _ in range(3))
    chances = net.tensor((1, 2, 2, 3), scale=1 / 256, zero_point=-128)
    net.operator("ADD", [first, second], [total], fusedActivationFunction=0)
    net.operator("SOFTMAX", [total], [chances], beta=1.0)
    (tmp_path / "pair.tflite").write_bytes(net.pack([first, second], [total, chances]))
    return tmp_path / "pair.tflite"


@pytest.mark.parametrize("back_end", eyrie.BACK_ENDS)
def test_back_ends(back_end: str, model: Path, pictures: np.ndarray, expected: np.ndarray) -> None:
    """One picture with and without its batch, and several; pickled, too."""
    session = eyrie.load(model, back_end=back_end)
    assert session.outputs[0].shape == (1, 1, 1, 10) and session.inputs[0].dtype == "int8"
    for each in (session, pickle.loads(pickle.dumps(session))):
        np.testing.assert_array_equal(each(pictures)["logits"], expected)
        for one in (pictures[0], pictures[:1]):
            [(name, values)] = each(one).items()
            assert name == "logits"
            np.testing.assert_array_equal(values, expected[:1])
    np.testing.assert_array_equal(session.golden(pictures)["logits"], expected)


@pytest.mark.parametrize("back_end", eyrie.BACK_ENDS)
def test_values_by_name(back_end: str, pair: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    session = eyrie.load(pair, back_end=back_end)
    first, second = (rng.integers(-128, 128, (1, 2, 2, 3)).astype(np.int8) for _ in range(2))
    wanted = run_micro(pair.read_bytes(), first, second)
    for found in (session(t0=first, t1=second), session({"t0": first, "t1": second})):
        assert list(found) == ["t2", "t3"]
        for values, right in zip(found.values(), wanted, strict=True):
            np.testing.assert_array_equal(values, right)


def test_on_another_accelerator(model: Path, pictures: np.ndarray, expected: np.ndarray) -> None:
    """Sizes by name; what is predicted of the accelerator is another thing."""
    small = eyrie.load(model, config={"multipliers": 1}, back_end="functional")
    np.testing.assert_array_equal(small(pictures[0])["logits"], expected[:1])
    assert small.profile().predicted_cycles > eyrie.load(model, back_end="functional").profile().predicted_cycles


def test_profile(model: Path, pictures: np.ndarray) -> None:
    session = eyrie.load(model)
    before = session.profile()
    assert before.measured_cycles is None and before.predicted_cycles > 0 and not before.host
    session(pictures[0])
    after = session.profile()
    assert [layer.name for layer in after.layers] == [layer.name for layer in before.layers]
    [run], [program] = session._measured, session.network.programs
    assert after.measured_cycles == run.runs[0]["counters"]["CYCLES"] > sum(row.measured_cycles for row in after.layers)
    assert after.predicted_cycles == program.performance.cycles
    assert 0.9 < after.measured_cycles / before.predicted_cycles < 1.1
    assert f"{after.measured_cycles:,}" in str(after) and f"{after.predicted_cycles:,}" in str(before)


def test_threads(model: Path, pictures: np.ndarray, expected: np.ndarray) -> None:
    """One session and several at the same time, each call with a simulated SoC of its own."""
    sessions = [eyrie.load(model), eyrie.load(model, seed=2)]
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(sessions[n % 2], picture) for n, picture in enumerate(pictures)]
        found = [run.result()["logits"] for run in runs]
    np.testing.assert_array_equal(np.concatenate(found), expected)


def test_processes(model: Path, pictures: np.ndarray, expected: np.ndarray) -> None:
    """A session goes to processes that begin anew."""
    session = eyrie.load(model)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = [made["logits"] for made in pool.map(session, [pictures[:3], pictures[3:]])]
    np.testing.assert_array_equal(np.concatenate(found), expected)


def test_a_model_that_has_changed(model: Path, seed: int, tmp_path: Path) -> None:
    own = tmp_path / "own.tflite"
    shutil.copy(model, own)
    sent = pickle.dumps(eyrie.load(own, back_end="functional"))
    own.write_bytes(separable(np.random.default_rng(seed + 2)))
    with pytest.raises(ValueError, match=rf"^{own}: has changed since the session was opened: open it again$"):
        pickle.loads(sent)


def test_pictures(model: Path, tmp_path: Path) -> None:
    """A file and Pillow's picture are the same values: by the input's scale black is -1 and white 1."""
    colours = np.zeros((8, 8, 3), np.uint8)
    colours[2:5] = 255
    Image.fromarray(colours).save(tmp_path / "photo.png")
    session = eyrie.load(model, back_end="functional")
    scale, zero = session.inputs[0].scale, session.inputs[0].zero_point
    values = np.clip(np.rint((2 * (colours / 255) - 1) / scale) + zero, -128, 127).astype(np.int8)
    wanted = session(values)["logits"]
    for picture in (tmp_path / "photo.png", str(tmp_path / "photo.png"), Image.fromarray(colours)):
        np.testing.assert_array_equal(session(picture)["logits"], wanted)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_real_numbers_and_lists(kind: str, seed: int, tmp_path: Path) -> None:
    """Real numbers are quantised as the reference's QUANTIZE does, ties too; outputs stay the model's."""
    off = 128 if kind == "uint8" else 0
    own, quantizer = Builder(), Builder()
    x, y = own.tensor((1, 40, 8), kind, 0.25, 3 + off), own.tensor((1, 320), kind, 0.25, 3 + off)
    own.operator("RESHAPE", [x], [y])
    real, made = quantizer.tensor((1, 40, 8), "float32"), quantizer.tensor((1, 40, 8), scale=0.25, zero_point=3)
    quantizer.operator("QUANTIZE", [real], [made])
    (tmp_path / "net.tflite").write_bytes(own.pack([x], [y]))
    rng = np.random.default_rng(seed)
    values = np.concatenate([np.arange(-160, 0) / 8, rng.normal(0, 30, 158), [1e30, -1e30]]).reshape(1, 40, 8)
    wanted = run_micro(quantizer.pack([real], [made]), np.clip(values, -99, 99).astype(np.float32))[0]
    wanted = wanted.view(np.uint8) ^ 0x80 if kind == "uint8" else wanted
    session = eyrie.load(tmp_path / "net.tflite", back_end="functional")
    for given in (values, values[0], values.astype(np.float32), values.tolist(), wanted.tolist()):
        [(name, found)] = session(given).items()
        assert name == "t1" and found.shape == (1, 320) and found.dtype == kind
        np.testing.assert_array_equal(found.reshape(1, 40, 8), wanted)


REJECTED: list[tuple[Callable[[Path, Path], object], str]] = [
    (lambda model, _: eyrie.load(model, back_end="rtI"), "unknown back end 'rtI'; did you mean 'rtl'?"),
    (lambda model, _: eyrie.load(model.with_name("none.tflite")), "none.tflite: "),
    (lambda model, _: eyrie.load(model, config={"rows": 5}), "rows = 5: must be 3, 6, 9, 12 or 15"),
    (lambda model, _: eyrie.load(model, config={"row": 6}), "unknown parameter 'row'; did you mean 'rows'?"),
    (lambda model, _: eyrie.load(ROOT / "README.md"), "README.md: not a "),
    (
        lambda model, _: eyrie.load(model, back_end="c")(np.zeros((8, 8, 2))),
        "input image is int8 8 x 8 x 2, the network takes int8 1 x 8 x 8 x 3, or N of them",
    ),
    (
        lambda model, _: eyrie.load(model, back_end="c")(np.zeros((8, 8, 3), np.int16)),
        "input image is int16 8 x 8 x 3, the network takes int8 1 x 8 x 8 x 3, or N of them",
    ),
    (
        lambda model, _: eyrie.load(model, back_end="c")(np.full((8, 8, 3), np.nan)),
        "input image: has values that are no numbers: give real ones",
    ),
    (
        lambda model, _: eyrie.load(model, back_end="c")([[1, 2], [3]]),
        "input image: lists that are no array: give rows of one length",
    ),
    (
        lambda model, _: eyrie.load(model.read_bytes()),
        "a model is a file's path, not bytes: write it to a file and give its path",
    ),
    (lambda model, _: eyrie.load(model, config=3), "an accelerator is names and numbers, or a JSON file, not int"),
    (lambda model, _: eyrie.load(model, seed="x"), "seed = x: must be an integer of 0 to 2147483646"),
    (lambda model, _: eyrie.load(model, seed=-1), "seed = -1: must be an integer of 0 to 2147483646"),
    (lambda model, _: eyrie.load(""), "model = '': must be the path of a file or a folder"),
    (lambda model, _: eyrie.load("a\0b"), "model = 'a\\x00b': must be the path of a file or a folder"),
    (
        lambda model, _: eyrie.load(model, back_end="c").run({"image": np.zeros((8, 8, 3), np.int8)}),
        "inputs are dict: give a list with an array for each input",
    ),
    (
        lambda model, _: eyrie.load(model, back_end="c").run([[[1, 2], [3]]]),
        "an input is of lists that are no array: give rows of one length",
    ),
    (
        lambda model, _: eyrie.load(model, back_end="c").run([np.zeros((2, 3, 8, 8, 3), np.int8)]),
        "input image is int8 2 x 3 x 8 x 8 x 3, the network takes int8 1 x 8 x 8 x 3, or N of them",
    ),
    (
        lambda model, _: eyrie.load(model, back_end="c")(np.zeros((0, 8, 8, 3), np.int8)),
        "values of inputs are image 0: give as many of each, and one at least",
    ),
    (lambda model, _: eyrie.load(model, back_end="c")(), "no value is given for image: the network takes image"),
    (lambda model, _: eyrie.load(model, back_end="c")(imagE=0), "unknown input 'imagE'; did you mean 'image'?"),
    (lambda model, _: eyrie.load(model, back_end="c")("nothing.png"), "nothing.png: "),
    (
        lambda _, pair: eyrie.load(pair, back_end="c")(np.zeros((1, 2, 2, 3), np.int8)),
        "the network takes t0, t1: give each by its name",
    ),
    (
        lambda _, pair: eyrie.load(pair, back_end="c")(t0="photo.png", t1="photo.png"),
        "inputs are t0, t1: not a single picture; give arrays (eyrie run)",
    ),
]


@pytest.mark.parametrize("number", range(len(REJECTED)))
def test_rejected(number: int, model: Path, pair: Path) -> None:
    act, said = REJECTED[number]
    with pytest.raises(ValueError) as rejection:
        act(model, pair)
    assert said in str(rejection.value) and "\n" not in str(rejection.value)


def test_the_environment_follows_its_checkout() -> None:
    """The package in .venv is a relative link: a checkout that is moved or copied has its own."""
    link = Path(sysconfig.get_paths()["purelib"]) / "eyrie"
    assert link.resolve() == ROOT / "eyrie" and not Path(os.readlink(link)).is_absolute()
    found = subprocess.run([ROOT / ".venv" / "bin" / "eyrie", "--version"], cwd="/", capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, f"eyrie {eyrie.__version__}\n")


def test_names_are_listed() -> None:
    """Also before their first use, in a fresh process."""
    ended = subprocess.run([sys.executable, "-c", "import eyrie; print(*dir(eyrie))"], cwd=ROOT, capture_output=True)
    assert {*eyrie.__all__, "__doc__"} <= set(ended.stdout.decode().split())


@pytest.mark.parametrize(
    "page", ["README.md", pytest.param("docs/howto/library.md", marks=pytest.mark.regress), "docs/howto/operators.md"]
)
def test_examples_run(page: str) -> None:
    """Each block by itself, as printed, but for those that want an optional part: these are tested with it."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    blocks = [block for block in blocks if "eyrie.pytorch" not in block]
    assert blocks
    for block in blocks:
        ended = subprocess.run(
            [sys.executable, "-c", block], cwd=ROOT, env=os.environ | LIBRARY, capture_output=True, text=True
        )
        assert ended.returncode == 0, f"{block}\n{ended.stdout}{ended.stderr}"
