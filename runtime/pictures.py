# SPDX-License-Identifier: Apache-2.0
"""Photos as input of a network: upright, 8 bits, RGB, square.

The result shows the picture as a viewer does, for every number format and colour space of the file. Every change beyond
scaling is reported in words.
"""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import (
    ExifTags,
    Image,
    ImageCms,
    ImageOps,
    TiffImagePlugin,
    UnidentifiedImageError,
)

from eyrie.model.errors import InputError
from eyrie.model.reading import read_file

WHITE = (255, 255, 255)
DEEP = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")  # modes of more than 8 bits
RANGES = (1, 255, 1023, 4095, 65_535)  # the largest value of floats, and of 8, 10, 12 and 16 bits


@dataclass(frozen=True)
class Photo:
    """A photo. pixels: uint8 [H, W, 3]; notes: the changes to the picture, a sentence each."""

    pixels: np.ndarray
    notes: tuple[str, ...]


def read_photo(source: Path | str | Image.Image, size: tuple[int, int]) -> Photo:
    """Read the middle square of a picture, a file or an image of Pillow, scaled to `size` (width, height).

    Raise InputError, with one line, if the picture cannot be read.
    """
    path = "the picture" if isinstance(source, Image.Image) else source
    contents = b"" if isinstance(source, Image.Image) else read_file(source, "give a PNG or JPEG file")
    notes: list[str] = []
    try:
        with warnings.catch_warnings(action="ignore"):
            picture = source if isinstance(source, Image.Image) else Image.open(io.BytesIO(contents))
            negative = _white_is_zero(picture)
            upright = _in_colour(_turned(picture, notes), negative, notes)
    except UnidentifiedImageError as error:
        raise InputError(f"{path}: no picture, or of a kind that is not known: give a PNG or JPEG file") from error
    except Image.DecompressionBombError as error:
        raise InputError(f"{path}: has too many pixels: give a smaller picture") from error
    except Exception as error:  # a damaged picture can raise nearly anything
        raise InputError(f"{path}: a damaged picture: save it anew as a PNG or JPEG file") from error
    if upright.width != upright.height:
        notes.append(f"{upright.width} x {upright.height} pixels: the middle square was taken")
        upright = ImageOps.fit(upright, (min(upright.size),) * 2, Image.Resampling.BOX)  # cuts, at its own scale
    return Photo(np.asarray(upright.resize(size, Image.Resampling.LANCZOS)), tuple(notes))


def _turned(picture: Image.Image, notes: list[str]) -> Image.Image:
    """Return the first frame, turned as its EXIF orientation says."""
    frames = getattr(picture, "n_frames", 1)
    if frames > 1:
        notes.append(f"{frames} frames: the first was taken")
    if picture.getexif().get(ExifTags.Base.Orientation, 1) != 1:
        notes.append("turned upright as its EXIF orientation says")
    return ImageOps.exif_transpose(picture)


def _in_colour(picture: Image.Image, negative: bool, notes: list[str]) -> Image.Image:
    """Return the picture as RGB, 8 bits each, in sRGB, without transparency; `negative`: 0 is white."""
    if picture.mode in DEEP:
        shallow = _shallow(np.asarray(picture), notes)
        # Pillow inverts pictures of fewer bits by itself.
        return (ImageOps.invert(shallow) if negative else shallow).convert("RGB")
    profile = picture.info.get("icc_profile")
    alpha = None
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        alpha = picture.getchannel("A")
    if picture.mode == "LAB":
        colours = _by_profile(picture, ImageCms.createProfile("LAB"))
    else:
        colours = _in_srgb(picture, profile, notes) if profile else picture.convert("RGB")
    if alpha is not None and alpha.getextrema()[0] != alpha.getextrema()[1]:
        notes.append("transparent in places: put on white")
        colours = Image.composite(colours, Image.new("RGB", colours.size, WHITE), alpha)
    return colours


def _white_is_zero(picture: Image.Image) -> bool:
    """Return whether 0 is white in a TIFF file."""
    return getattr(picture, "tag_v2", {}).get(TiffImagePlugin.PHOTOMETRIC_INTERPRETATION) == 0


def _shallow(values: np.ndarray, notes: list[str]) -> Image.Image:
    """Scale grey values of more than 8 bits to 8 bits, by the smallest usual range that contains them."""
    usual = RANGES if values.dtype.kind == "f" else RANGES[1:]
    values = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    ranges = [most for most in usual if high <= most]
    if low < 0 or not ranges:
        notes.append(f"grey values {low:g} to {high:g}: stretched to 8 bits")
        values, top = values - low, max(high - low, 1e-12)
    else:
        top = ranges[0]
        notes.append(f"grey values up to {high:g}: scaled from 0 to {top:,} to 8 bits")
    return Image.fromarray(np.rint(values * (255 / top)).astype(np.uint8))


def _in_srgb(picture: Image.Image, profile: bytes, notes: list[str]) -> Image.Image:
    """Convert to sRGB by the colour profile; ignore a profile that does not match."""
    source = picture if picture.mode in ("RGB", "CMYK", "L") else picture.convert("RGB")
    try:
        return _by_profile(source, ImageCms.ImageCmsProfile(io.BytesIO(profile)))
    except (ImageCms.PyCMSError, OSError):
        notes.append("its colour profile does not fit: ignored")
        return picture.convert("RGB")


def _by_profile(picture: Image.Image, profile: ImageCms.ImageCmsProfile | ImageCms.core.CmsProfile) -> Image.Image:
    """Convert from a colour profile to sRGB."""
    made = ImageCms.profileToProfile(picture, profile, ImageCms.createProfile("sRGB"), outputMode="RGB")
    assert made is not None  # a picture of its own
    return made
