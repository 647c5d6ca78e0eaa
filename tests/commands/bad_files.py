# SPDX-License-Identifier: Apache-2.0
"""A folder of files that no command takes, beside some good ones, for the transcripts of bad input."""

import json
import os
import pickle
import shutil
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from eyrie.compiler.folder import network_of, save
from eyrie.compiler.network import compile_network
from eyrie.runtime.bundled import MODEL, PHOTO
from eyrie.testing.tflite_builder import STEPS, Builder
from eyrie.training import cifar10
from tests.commands import case_files
from tests.commands.small_nets import deep, separable
from tests.runtime.damages import reseal
from tests.tasks.models import classifier
from tests.tasks.sounds import saved

SAME = 0


def make(folder: Path) -> None:
    """Fills an empty folder; everything in it is the same each time."""
    rng = np.random.default_rng(1)
    (folder / "folder").mkdir()
    (folder / "text").write_text("not what was asked for\n")
    (folder / "empty").write_bytes(b"")
    (folder / "noise").write_bytes(rng.bytes(4000))
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("nosuch")
    os.mkfifo(folder / "pipe")
    _models(folder)
    _networks(folder)
    _arrays(folder)
    _cases(folder, rng)
    _configs(folder)
    _sources(folder)
    _pictures(folder, rng)
    _sounds(folder)
    _cifar10(folder, rng)
    np.savez(folder / "other.npz", weight=np.zeros(3, np.float32))
    (folder / "half.npz").write_bytes((folder / "other.npz").read_bytes()[:200])


# ---- Models ----


def conv(
    shape=(8, 8, 8),
    filters=(8, 3, 3, 8),
    out=(8, 8, 8),
    batch=1,
    kind="CONV_2D",
    source: dict | None = None,
    weights: dict | None = None,
    bias: int | None = None,
    ends: str = "one of each",
    **options: int,
) -> bytes:
    """A model of one convolution; what is given differs from one that compiles."""
    net = Builder()
    scale = {"scale": 0.1, "zero_point": 3}
    x = net.tensor((batch, *shape), **(scale if source is None else source))
    w = net.tensor(filters, **({"scale": 0.01} | (weights or {})), data=np.ones(filters, np.int8))
    inputs = [x, w]
    if bias is not None:
        inputs.append(net.tensor((out[2],), "int32", data=np.full(out[2], bias, np.int32)))
    y = net.tensor((batch, *out), **scale)
    more = {"depthMultiplier": 1} if kind == "DEPTHWISE_CONV_2D" else {}
    windowed = STEPS | {"padding": SAME}
    net.operator(kind, inputs, [y], **(({} if kind == "FULLY_CONNECTED" else windowed | more) | options))
    return net.pack([x, x] if ends == "one input twice" else [x], [x if ends == "another output" else y])


def real() -> bytes:
    """A model of one float convolution, which only the CPU runs."""
    net = Builder()
    x, y = (net.tensor((1, 8, 8, 8), "float32") for _ in range(2))
    w, b = (net.tensor(shape, "float32", data=np.ones(shape)) for shape in ((8, 3, 3, 8), (8,)))
    net.operator("CONV_2D", [x, w, b], [y], **STEPS | {"padding": SAME})
    return net.pack([x], [y])


def two_to_one(name: str, out: tuple[int, ...], **options: int) -> bytes:
    """A model of one operator with an input of 1 x 8 x 8 x 8."""
    net = Builder()
    x, y = (net.tensor(shape, scale=0.1) for shape in ((1, 8, 8, 8), out))
    net.operator(name, [x], [y], **options)
    return net.pack([x], [y])


def _models(folder: Path) -> None:
    good = separable(np.random.default_rng(1))
    for name, model in {
        "net": good,
        "bundled": MODEL.read_bytes(),
        "deep": deep(),
        "text": b"a model\n" * 20,
        "header": good[:8],
        "half": good[: len(good) // 2],
        "wide": conv(shape=(1, 4100, 8), filters=(8, 1, 1, 8), out=(1, 4100, 8)),
        "unquantised": conv(source={}),
        "float": real(),
        "int32": conv(source={"dtype": "int32", "scale": 0.1}),
        "zero_point": conv(source={"scale": 0.1, "zero_point": 200}),
        "scale": conv(source={"scale": -0.1}),
        "asymmetric": conv(weights={"scale": 0.01, "zero_point": 5}),
        "channels": conv(filters=(8, 3, 3, 7)),
        "size": conv(out=(7, 7, 8)),
        "bias": conv(bias=-(2**31)),
        "input_twice": conv(ends="one input twice"),
        "output": conv(ends="another output"),
        "words": classifier(shape=(1, 3, 2)),
    }.items():
        (folder / f"{name}.tflite").write_bytes(model)
    for name in (
        "two words.tflite",
        "two\nlines.tflite",
        "a'quote.tflite",
        "$HOME.tflite",
        "-dash.tflite",
        os.fsdecode(b"caf\xe9.tflite"),
    ):
        (folder / name).write_text("text")


# ---- Compiled networks ----


def entry(contents: dict, ends: str) -> dict:
    """Of the only input or output."""
    [found] = contents[ends].values()
    return found


def _networks(folder: Path) -> None:
    stages = compile_network(folder / "net.tflite")
    save(network_of(stages), folder / "net")
    good = json.loads((folder / "net" / "layout.json").read_text())
    for name, change in {
        "no_program": lambda m: m.pop("program"),
        "no_layout": lambda m: entry(m, "inputs").pop("layout"),
        "no_steps": lambda m: m.update(steps=[]),
        "no_images": lambda m: m.update(images=0),
        "config": lambda m: m["config"].update(rows=4),
        "machine_text": lambda m: m["config"].update(rows="6"),
        "shape": lambda m: entry(m, "inputs").update(shape=[9, 8, 3]),
        "step": lambda m: m["steps"][0].update(passes=["0"]),
        "address": lambda m: entry(m, "inputs").update(address=0.5),
        "beyond": lambda m: entry(m, "inputs").update(address=1 << 30),
        "negative": lambda m: entry(m, "outputs").update(address=-64),
        "buffer": lambda m: m["buffers"][0].update(address=65_536),
        "list": lambda m: m.update(inputs=[1, 2]),
        "large_psums": lambda m: m["config"].update(psum_words=512),
    }.items():
        contents = json.loads(json.dumps(good))
        change(contents)
        _copied(folder, f"net_{name}", "layout.json", json.dumps(contents).encode())
    _copied(folder, "net_half_map", "layout.json", (folder / "net" / "layout.json").read_bytes()[:40])
    _copied(folder, "net_short", "image.bin", b"1234")
    dram = bytearray((folder / "net" / "image.bin").read_bytes())
    dram[good["program"]["address"]] = 15
    _copied(folder, "net_other_memory", "image.bin", bytes(dram))
    _copied(folder, "net_command", "image.bin", bytes(dram))
    reseal(folder / "net_command")
    (folder / "net_command" / "program.txt").unlink()


def _copied(folder: Path, name: str, file: str, contents: bytes) -> None:
    shutil.copytree(folder / "net", folder / name)
    (folder / name / file).write_bytes(contents)


# ---- Arrays and cases ----


def _arrays(folder: Path) -> None:
    for name, values in {
        "x": np.zeros((8, 8, 3), np.int8),
        "float": np.zeros((8, 8, 3)),
        "turned": np.zeros((1, 3, 8, 8), np.int8),
        "number": np.int8(1),
        "row": np.zeros(192, np.int8),
        "none": np.zeros((0, 8, 8, 3), np.int8),
        "words": np.array(["a", "b"]),
        "objects": np.array([{}]),
    }.items():
        np.save(folder / f"{name}.npy", values)
    np.savez(folder / "archive.npy.npz", x=np.zeros((8, 8, 3), np.int8))
    (folder / "half.npy").write_bytes((folder / "x.npy").read_bytes()[:-5])
    header = b"{'descr': '|i1', 'fortran_order': False, 'shape': (9000000000000, 8, 8, 3)}"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
    (folder / "huge.npy").write_bytes(start + header.ljust(117) + b"\n")


def _cases(folder: Path, rng: np.random.Generator) -> None:
    good, _ = case_files.convolution(rng, (5, 6, 7), 9, (3, 3), 1, 1)
    fused, _ = case_files.fused(rng, (5, 6, 7), 9, (3, 3), 1, 1)
    mapping = dict(e=4, p=4, q=4, r=1, t=1)
    deep, _ = case_files.convolution(rng, (4000, 3, 3), 1, (3, 3), 1, 0)
    for name, case in {
        "good": good,
        "no_filter": {key: value for key, value in good.items() if key != "filter"},
        "no_dw_min": {key: value for key, value in fused.items() if key != "dw_min"},
        "misspelt": good | {"ifmaps": good["ifmap"]},
        "float": good | {"ifmap": good["ifmap"].astype(float)},
        "flat": good | {"ifmap": good["ifmap"][0]},
        "channels": good | {"ifmap": good["ifmap"][:4]},
        "kernel5": good | {"filter": np.zeros((9, 5, 5, 5), np.int8)},
        "stride3": good | {"stride": 3},
        "stride_float": good | {"stride": 1.0},
        "pad2": good | {"pad": [1, 1]},
        "pad_negative": good | {"pad": -1},
        "small": good | {"ifmap": np.zeros((5, 2, 7), np.int8), "pad": 0},
        "wide": {**good, "ifmap": np.zeros((5, 3, 2000), np.int8)},
        "ipsum": good | {"ipsum": np.zeros((9, 6, 6), np.int32)},
        "mapping_part": good | {"e": 4, "p": 4},
        "mapping_e": good | mapping | {"e": 0},
        "mapping_t": good | mapping | {"e": 16, "t": 2},
        "shifts": fused | {"dw_shift": np.zeros(4, int)},
        "limits": fused | {"dw_min": 101},
        "text": good | {"stride": np.array("one")},
        "deep": deep,
    }.items():
        np.savez(folder / f"case_{name}.npz", **case)
    (folder / "case_half.npz").write_bytes((folder / "case_good.npz").read_bytes()[:400])


# ---- Configurations ----


def _configs(folder: Path) -> None:
    for name, text in {
        "syntax": "{rows: 6}",
        "list": "[6, 8]",
        "misspelt": '{"row": 6}',
        "text": '{"rows": "6"}',
        "fraction": '{"rows": 6.5}',
        "nan": '{"rows": NaN}',
        "truth": '{"rows": true}',
        "rows4": '{"rows": 4}',
        "rows18": '{"rows": 18}',
        "cols0": '{"cols": 0}',
        "cols30": '{"cols": 30}',
        "multipliers": '{"multipliers": 2}',
        "banks": '{"glb_banks": 6}',
        "words3": '{"word_buffer_words": 3}',
        "pixels": '{"pixel_words": 1000000000}',
        "large": '{"glb_bank_words": 16384}',
        "small": '{"glb_bank_words": 255}',
        "rows3": '{"rows": 3}',
        "least": '{"rows": 3, "cols": 2, "glb_bank_words": 256}',
        "nested": "[" * 100_000,
        "digits": '{"rows": ' + 9 * "1234567890" * 100 + "}",
    }.items():
        (folder / f"{name}.json").write_text(text)
    (folder / "binary.json").write_bytes(b"\xff\xfe\x80{}")


# ---- Pictures and CIFAR-10 ----


def _sources(folder: Path) -> None:
    """Of assembly."""
    sources = {
        "keyword": "halt\n",
        "field": "input x 4,4,8 scale=1\nmax_pool y x kernal=2\noutput y\n",
        "early": "input x 8 scale=1\ntensor y 8 scale=1\noutput y\nbuffer b words=2\nsend y b\n  fetch b x\npass\n",
        "file": "input x 8 scale=1\nfilter w nosuch.npy scale=1\n",
    }
    for name, text in sources.items():
        (folder / f"{name}.s").write_text(text)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _pictures(folder: Path, rng: np.random.Generator) -> None:
    photo = PHOTO.read_bytes()
    (folder / "header.png").write_bytes(photo[:20])
    (folder / "damaged.png").write_bytes(photo[:60] + bytes(140) + photo[200:])
    Picture.fromarray(rng.integers(0, 256, (100, 100, 3), np.uint8)).save(folder / "whole.jpg")
    (folder / "half.jpg").write_bytes((folder / "whole.jpg").read_bytes()[:2000])
    size = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", size) + _chunk(b"IDAT", zlib.compress(b"")) + _chunk(b"IEND", b"")
    (folder / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)
    (folder / "vector.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')


def _sounds(folder: Path) -> None:
    saved(folder / "sound.wav", np.zeros(16_000, np.int16))
    saved(folder / "stereo.wav", np.zeros(16_000, np.int16), channels=2)
    (folder / "half.wav").write_bytes((folder / "sound.wav").read_bytes()[:20])


def _cifar10(folder: Path, rng: np.random.Generator) -> None:
    batch = pickle.dumps({b"data": rng.integers(0, 256, (20, 3072), np.uint8), b"labels": [1] * 20})
    names = sum(cifar10.BATCHES.values(), [])
    for name, contents in (("cifar_short", batch), ("cifar_half", batch[:-1000]), ("cifar_text", b"text\n")):
        (folder / name / cifar10.FOLDER).mkdir(parents=True)
        for each in names:
            (folder / name / cifar10.FOLDER / each).write_bytes(contents)
    shutil.copytree(folder / "cifar_short", folder / "cifar_missing")
    (folder / "cifar_missing" / cifar10.FOLDER / "data_batch_3").unlink()
    for name in ("cifar_archive", "cifar_other"):
        (folder / name).mkdir()
        with tarfile.open(folder / name / cifar10.ARCHIVE, "w:gz") as tar:
            tar.add(folder / "text", "text" if name == "cifar_other" else f"{cifar10.FOLDER}/test_batch")
    archive = folder / "cifar_archive" / cifar10.ARCHIVE
    archive.write_bytes(archive.read_bytes()[:-40])
    (folder / "cifar_page").mkdir()
    (folder / "cifar_page" / cifar10.ARCHIVE).write_text("<html>not found</html>")
