# SPDX-License-Identifier: Apache-2.0
"""eyrie/training/cifar10.py and the command: batches come out as images; what is damaged is rejected."""

import hashlib
import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest

from eyrie.commands import cifar10 as command
from eyrie.training import cifar10
from tests.commands.commands import assert_rejected, eyrie, files

COUNT = 20  # images of a synthetic batch


def batch(number: int, count: int = COUNT) -> dict[bytes, object]:
    rng = np.random.default_rng(number)
    images = rng.integers(0, 256, (count, 3072), np.uint8)
    return {b"data": images, b"labels": rng.integers(0, 10, count).tolist()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Batches of COUNT images, unpacked."""
    monkeypatch.setattr(cifar10, "IMAGES_PER_BATCH", COUNT)
    target = tmp_path / cifar10.FOLDER
    target.mkdir()
    for number, name in enumerate(sum(cifar10.BATCHES.values(), [])):
        (target / name).write_bytes(pickle.dumps(batch(number)))
    return tmp_path


def expected(numbers: range) -> tuple[np.ndarray, np.ndarray]:
    batches = [batch(number) for number in numbers]
    images = [
        np.stack([plane.reshape(32, 32) for plane in row.reshape(3, 1024)], -1) for b in batches for row in b[b"data"]
    ]
    return np.stack(images), np.concatenate([np.array(b[b"labels"], np.uint8) for b in batches])


@pytest.mark.parametrize("where", ["folder above", "folder itself", "archive"])
def test_loads(where: str, folder: Path, tmp_path: Path) -> None:
    place = folder
    if where == "folder itself":
        place = folder / cifar10.FOLDER
    elif where == "archive":
        place = tmp_path / "archive"
        place.mkdir()
        with tarfile.open(place / cifar10.ARCHIVE, "w:gz") as tar:
            tar.add(folder / cifar10.FOLDER, cifar10.FOLDER)
    for split, numbers in (("train", range(5)), ("test", range(5, 6))):
        images, labels = cifar10.load(place, split)
        want_images, want_labels = expected(numbers)
        assert images.dtype == labels.dtype == np.uint8
        assert np.array_equal(images, want_images) and np.array_equal(labels, want_labels)


class Planted:
    """What a malicious file could hold: code that runs when it is read."""

    def __reduce__(self):
        return print, ("ran",)


DAMAGES = {
    "truncated": pickle.dumps(batch(5))[:-1000],
    "empty": b"",
    "text": b"not a pickle\n",
    "images missing": pickle.dumps(batch(5, COUNT - 1)),
    "no labels": pickle.dumps({b"data": batch(5)[b"data"]}),
    "a list": pickle.dumps([1, 2]),
    "code": pickle.dumps(Planted()),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_batches(what: str, folder: Path, capsys: pytest.CaptureFixture) -> None:
    (folder / cifar10.FOLDER / "test_batch").write_bytes(DAMAGES[what])
    with pytest.raises(ValueError, match="test_batch is truncated or damaged") as caught:
        cifar10.load(folder, "test")
    assert str(caught.value).startswith(f"{folder / cifar10.FOLDER}: ") and "\n" not in str(caught.value)
    assert "ran" not in capsys.readouterr().out


@pytest.mark.parametrize("what", ["truncated", "text", "other files"])
def test_damaged_archives(what: str, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "archive"
    place.mkdir()
    archive = place / cifar10.ARCHIVE
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(
            folder / cifar10.FOLDER / "test_batch",
            "elsewhere" if what == "other files" else f"{cifar10.FOLDER}/test_batch",
        )
    if what == "truncated":
        archive.write_bytes(archive.read_bytes()[:-20_000])
    elif what == "text":
        archive.write_text("<html>not found</html>")
    assert_rejected(eyrie("cifar10", place), f"eyrie cifar10: {archive}: truncated or damaged: delete")


def test_missing_data(tmp_path: Path) -> None:
    run = eyrie("accuracy", "--cifar10", tmp_path)
    neither = "neither cifar-10-python.tar.gz nor cifar-10-batches-py/ there: get it"
    assert_rejected(run, f"eyrie accuracy: {tmp_path}: {neither}")
    assert_rejected(eyrie("cifar10"), "eyrie cifar10: missing argument DIR")


def test_a_batch_is_missing(folder: Path) -> None:
    (folder / cifar10.FOLDER / "data_batch_3").unlink()
    assert_rejected(eyrie("cifar10", folder), f"eyrie cifar10: {folder / cifar10.FOLDER}: data_batch_3 is missing")


def test_preprocess() -> None:
    images = np.zeros((2, 32, 32, 3), np.uint8)
    images[0, 0, 0] = [0, 128, 255]
    result = cifar10.preprocess(images)
    assert result.dtype == np.int8 and result[0, 0, 0].tolist() == [-128, 0, 127]
    with pytest.raises(ValueError, match="must be uint8 ... x 32 x 32 x 3, these are float64 32 x 32 x 3"):
        cifar10.preprocess(np.zeros((32, 32, 3)))


# ---- The command ----


@pytest.fixture
def source(tmp_path: Path) -> tuple[str, str]:
    """The URL of a small archive, and its MD5."""
    path = tmp_path / "source.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("empty"), io.BytesIO())
    return path.as_uri(), hashlib.md5(path.read_bytes()).hexdigest()


def test_fetches_once(source: tuple[str, str], tmp_path: Path) -> None:
    url, md5 = source
    folder = tmp_path / "new" / "data"
    command.fetch(folder, url, md5)
    assert files(folder) == {cifar10.ARCHIVE}
    assert hashlib.md5((folder / cifar10.ARCHIVE).read_bytes()).hexdigest() == md5
    command.fetch(folder, "file:///nowhere", md5)


def test_wrong_checksum(source: tuple[str, str], tmp_path: Path) -> None:
    url, md5 = source
    with pytest.raises(ValueError, match=f"^{url} has md5 {md5}, expected {'0' * 32}: try again$"):
        command.fetch(tmp_path / "data", url, "0" * 32)
    assert not files(tmp_path / "data")


@pytest.mark.parametrize("what", ["checksum", "address"])
def test_failures_are_one_line(what: str, source: tuple[str, str], tmp_path: Path, monkeypatch) -> None:
    url = source[0] if what == "checksum" else (tmp_path / "nowhere").as_uri()
    request = command.urllib.request
    urlopen = request.urlopen
    monkeypatch.setattr(request, "urlopen", lambda _, timeout: urlopen(url, timeout=timeout))
    run = eyrie("cifar10", tmp_path / "data")
    error = run.stderr.splitlines()[-1]
    assert run.returncode != 0 and "Traceback" not in run.stderr
    said = "" if what == "checksum" else "cannot fetch "
    assert error.startswith(f"eyrie cifar10: {said}https://www.cs.toronto.edu/") and error.endswith(": try again")
    assert ("md5" if what == "checksum" else "No such file") in error
    assert not files(tmp_path / "data")
