# SPDX-License-Identifier: Apache-2.0
"""runtime/pictures.py: whatever kind of file it is, a photo comes out as its upright 8-bit original looks, and has its
class; what changes more than the kind of the file is said."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, ImageCms, TiffImagePlugin
from PIL import Image as Picture

from eyrie.compiler.frontend import tflite
from eyrie.runtime.bundled import MODEL, PHOTO
from eyrie.runtime.pictures import read_photo
from eyrie.training.cifar10 import preprocess

SIDE = 96  # pixels of the originals: the bundled photo, enlarged


def original() -> Picture.Image:
    return Picture.open(PHOTO).convert("RGB").resize((SIDE, SIDE), Picture.Resampling.BICUBIC)


def grey() -> np.ndarray:
    return np.asarray(original().convert("L"))


@cache
def golden_class(pixels: bytes) -> int:
    graph = tflite.load(MODEL)
    values = preprocess(np.frombuffer(pixels, np.uint8).reshape(1, 32, 32, 3))
    return int(graph.run_images(values).argmax())


def turned(path: Path, orientation: int, undo: Picture.Transpose) -> None:
    """What a camera stores that was held another way: the picture as the sensor saw it, and how to turn it."""
    exif = Picture.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    original().transpose(undo).save(path, exif=exif)


def with_alpha(path: Path, alpha: int) -> None:
    picture = original()
    picture.putalpha(alpha)
    picture.save(path)


def on_transparent(path: Path) -> None:
    """The photo in the middle of a transparent frame, whose hidden colour means nothing."""
    picture = Picture.new("RGBA", (SIDE, SIDE), (255, 0, 255, 0))
    picture.paste(original().crop((4, 4, SIDE - 4, SIDE - 4)), (4, 4))
    picture.save(path)


def with_profile(path: Path) -> None:
    """Colours in a space of their own: red and blue change places, and the profile says so."""
    lab = ImageCms.createProfile("LAB")
    original_lab = ImageCms.profileToProfile(original(), ImageCms.createProfile("sRGB"), lab, outputMode="LAB")
    original_lab.save(path)


def white_is_zero(path: Path) -> None:
    negative = (255 - grey()).astype(np.uint16) * 257
    Picture.fromarray(negative).save(path, tiffinfo={TiffImagePlugin.PHOTOMETRIC_INTERPRETATION: 0})


def frames(path: Path) -> None:
    original().save(path, save_all=True, append_images=[Picture.new("RGB", (SIDE, SIDE), (0, 200, 0))])


def wide(path: Path) -> None:
    picture = Picture.new("RGB", (3 * SIDE, SIDE), (20, 90, 20))
    picture.paste(original(), (SIDE, 0))
    picture.save(path)


# Of each kind: the file, how it is made, whether it is grey, a word of what is said ("" for nothing).
KINDS: dict[str, tuple[str, Callable[[Path], object], bool, str]] = {
    "png": ("a.png", lambda p: original().save(p), False, ""),
    "jpeg": ("a.jpg", lambda p: original().save(p, quality=95), False, ""),
    "cmyk jpeg": ("a.jpg", lambda p: original().convert("CMYK").save(p, quality=95), False, ""),
    "webp": ("a.webp", lambda p: original().save(p, quality=95), False, ""),
    "avif": ("a.avif", lambda p: original().save(p, quality=95), False, ""),
    "bmp": ("a.bmp", lambda p: original().save(p), False, ""),
    "tiff": ("a.tiff", lambda p: original().save(p), False, ""),
    "gif": ("a.gif", lambda p: original().save(p), False, ""),
    "palette": ("a.png", lambda p: original().quantize(256).save(p), False, ""),
    "wrong suffix": ("a.jpg", lambda p: original().save(p, "PNG"), False, ""),
    "grey": ("a.png", lambda p: Picture.fromarray(grey()).save(p), True, ""),
    "turned by 180": ("a.jpg", lambda p: turned(p, 3, Picture.Transpose.ROTATE_180), False, "EXIF"),
    "turned left": ("a.jpg", lambda p: turned(p, 6, Picture.Transpose.ROTATE_90), False, "EXIF"),
    "turned right": ("a.png", lambda p: turned(p, 8, Picture.Transpose.ROTATE_270), False, "EXIF"),
    "mirrored": ("a.webp", lambda p: turned(p, 2, Picture.Transpose.FLIP_LEFT_RIGHT), False, "EXIF"),
    "transposed": ("a.tiff", lambda p: turned(p, 5, Picture.Transpose.TRANSPOSE), False, "EXIF"),
    "opaque alpha": ("a.png", lambda p: with_alpha(p, 255), False, ""),
    "even alpha": ("a.png", lambda p: with_alpha(p, 100), False, ""),
    "transparent frame": ("a.png", on_transparent, False, "put on white"),
    "grey with alpha": ("a.png", lambda p: Picture.fromarray(grey()).convert("LA").save(p), True, ""),
    "16 bits": ("a.png", lambda p: Picture.fromarray(grey().astype(np.uint16) * 257).save(p), True, "65,535"),
    "12 bits": ("a.tiff", lambda p: Picture.fromarray(grey().astype(np.uint16) * 16).save(p), True, "4,095"),
    "16 bits, 0 is white": ("a.tiff", white_is_zero, True, "65,535"),
    "32 bits": ("a.tiff", lambda p: Picture.fromarray(grey().astype(np.int32) * 257).save(p), True, "65,535"),
    "float to 1": ("a.tiff", lambda p: Picture.fromarray((grey() / 255).astype(np.float32)).save(p), True, "0 to 1 "),
    "float to 255": ("a.tiff", lambda p: Picture.fromarray(grey().astype(np.float32)).save(p), True, "0 to 255 "),
    "LAB": ("a.tiff", with_profile, False, ""),
    "frames": ("a.gif", frames, False, "2 frames: the first"),
    "wide": ("a.png", wide, False, "the middle square"),
}
LOSSY = {
    "jpeg",
    "cmyk jpeg",
    "webp",
    "avif",
    "gif",
    "palette",
    "turned by 180",
    "turned left",
    "mirrored",
    "LAB",
    "12 bits",
    "frames",
    "transparent frame",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_show_the_upright_original(kind: str, tmp_path: Path) -> None:
    name, make, is_grey, said = KINDS[kind]
    make(tmp_path / name)
    photo = read_photo(tmp_path / name, (32, 32))
    upright = Picture.fromarray(grey()).convert("RGB") if is_grey else original()
    wanted = np.asarray(upright.resize((32, 32), Picture.Resampling.LANCZOS))
    assert golden_class(photo.pixels.tobytes()) == golden_class(wanted.tobytes())
    if kind not in LOSSY:
        assert np.array_equal(photo.pixels, wanted)
    assert bool(photo.notes) == bool(said) and said in " ".join(photo.notes), photo.notes


def test_an_upside_down_photo_has_another_class() -> None:
    """So that the kinds that are turned would tell."""
    pixels = np.asarray(original().resize((32, 32), Picture.Resampling.LANCZOS))
    classes = {golden_class(np.rot90(pixels, n).tobytes()) for n in range(4)}
    assert len(classes) > 1


def test_grey_values_of_no_usual_range_are_stretched(tmp_path: Path) -> None:
    Picture.fromarray(np.array([[-3.0, 5.0]], np.float32)).save(tmp_path / "a.tiff")
    photo = read_photo(tmp_path / "a.tiff", (2, 2))
    assert "-3 to 5: stretched" in photo.notes[0] and "middle square" in photo.notes[1]


def test_the_bundled_photo_is_taken_as_it_is() -> None:
    photo = read_photo(PHOTO, (32, 32))
    assert np.array_equal(photo.pixels, np.asarray(Picture.open(PHOTO).convert("RGB"))) and not photo.notes
