# SPDX-License-Identifier: Apache-2.0
"""Photos as input of a network: upright, 8 bits, RGB, fitted to the size of the input.

The result shows the picture as a viewer does, for every number format and colour space of the file. Every change beyond
scaling is reported in words.
"""

import io
import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

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


Fit = Literal["square", "stretch", "pad"]
Source = str | PathLike | Image.Image


@dataclass(frozen=True)
class Area:
    """The part of a picture that fills the input of a network. It is larger than the picture if bars were added.

    size  width and height of the upright picture, in pixels
    left, top, right, bottom  the edges of the input, in pixels of the picture
    """

    size: tuple[int, int]
    left: float
    top: float
    right: float
    bottom: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return a place in pixels of the picture; x, y: as fractions of width and height of the input"""
        return self.left + x * (self.right - self.left), self.top + y * (self.bottom - self.top)


@dataclass(frozen=True)
class Photo:
    """A photo. pixels: uint8 [H, W, 3]; notes: the changes to the picture, a sentence each; area: what pixels show"""

    pixels: np.ndarray
    notes: tuple[str, ...]
    area: Area


def read_photo(source: Source, size: tuple[int, int], fit: Fit = "square") -> Photo:
    """Read a picture, a file or an image of Pillow, scaled to `size` (width, height).

    fit  square: the middle square; stretch: the whole picture, with another aspect ratio; pad: the whole picture with
         its aspect ratio, between black bars

    Raise InputError, with one line, if the picture cannot be read.
    """
    picture, notes = upright(source)
    width, height = picture.size
    said = f"{width} x {height} pixels"
    if not width * height:
        raise InputError(f"the picture has {said}: give one with pixels")
    if fit == "pad" and width * size[1] != height * size[0]:
        padded, area = _padded(picture, size)
        return Photo(np.asarray(padded), (*notes, f"{said}: scaled to fit, with black bars"), area)
    area = Area(picture.size, 0, 0, width, height)
    if fit == "square" and width != height:
        notes = (*notes, f"{said}: the middle square was taken")
        side = min(picture.size)
        left, top = (width - side) / 2, (height - side) / 2
        area = Area(picture.size, left, top, left + side, top + side)
        picture = ImageOps.fit(picture, (side, side), Image.Resampling.BOX)  # cuts, at its own scale
    elif fit == "stretch" and width * size[1] != height * size[0]:
        notes = (*notes, f"{said}: stretched to {size[0]} x {size[1]}")
    return Photo(np.asarray(picture.resize(size, Image.Resampling.LANCZOS)), notes, area)


def upright(source: Source) -> tuple[Image.Image, tuple[str, ...]]:
    """Return a picture as RGB, 8 bits, upright, and the changes to it, a sentence each; see `read_photo`"""
    path = "the picture" if isinstance(source, Image.Image) else source
    contents = b"" if isinstance(source, Image.Image) else read_file(Path(source), "give a PNG or JPEG file")
    notes: list[str] = []
    try:
        with warnings.catch_warnings(action="ignore"):
            picture = source if isinstance(source, Image.Image) else Image.open(io.BytesIO(contents))
            negative = _white_is_zero(picture)
            return _in_colour(_turned(picture, notes), negative, notes), tuple(notes)
    except UnidentifiedImageError as error:
        raise InputError(f"{path}: no picture, or of a kind that is not known: give a PNG or JPEG file") from error
    except Image.DecompressionBombError as error:
        raise InputError(f"{path}: has too many pixels: give a smaller picture") from error
    except Exception as error:  # a damaged picture can raise nearly anything
        raise InputError(f"{path}: a damaged picture: save it anew as a PNG or JPEG file") from error


def _padded(picture: Image.Image, size: tuple[int, int]) -> tuple[Image.Image, Area]:
    """Return the picture between black bars, and its area."""
    scale = min(size[0] / picture.width, size[1] / picture.height)
    width, height = (max(1, round(side * scale)) for side in picture.size)
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    made = Image.new("RGB", size)
    made.paste(picture.resize((width, height), Image.Resampling.LANCZOS), (left, top))
    across, down = picture.width / width, picture.height / height
    edges = (-left * across, -top * down, (size[0] - left) * across, (size[1] - top) * down)
    return made, Area(picture.size, *edges)


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
