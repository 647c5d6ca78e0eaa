# SPDX-License-Identifier: Apache-2.0
"""Drawings of answers: boxes, masks and keypoints in a picture."""

import colorsys
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from eyrie.model.errors import InputError
from eyrie.runtime.pictures import Source, upright

LONGER_SIDE = 800  # pixels of a drawing
TEXT, LINE, MARGIN = 20, 4, 8  # pixels: height of letters, width of lines, space around texts
PAPER, INK = (250, 250, 250), (28, 33, 40)
GOLDEN = 0.6180339887  # of the circle of hues, from class to class: neighbours differ much
MASK = 0.55  # opacity

Colour = tuple[int, int, int]
Place = tuple[float, float]


def colour_of(index: int) -> Colour:
    """Return the colour of a class."""
    red, green, blue = colorsys.hsv_to_rgb((0.6 + index * GOLDEN) % 1, 0.8, 0.9)
    return round(255 * red), round(255 * green), round(255 * blue)


class Canvas:
    """A picture, 800 pixels on its longer side, to draw into; places are in pixels of the original."""

    def __init__(self, source: Source, size: tuple[int, int] | None = None) -> None:
        """Read the picture. Raise InputError, with one line, if it has another size than `size`, width and height."""
        picture, _ = upright(source)
        if size not in (None, picture.size):
            raise InputError(
                f"the picture has {picture.width} x {picture.height} pixels, the answer is for {size[0]} x {size[1]}: "
                "draw into the picture that the network was given"
            )
        self._scale = LONGER_SIDE / max(picture.size)
        self.size = (max(1, round(picture.width * self._scale)), max(1, round(picture.height * self._scale)))
        self.picture = picture.resize(self.size, Image.Resampling.LANCZOS)
        self._font = ImageFont.load_default(TEXT)
        self._draw = ImageDraw.Draw(self.picture)

    def box(self, left: float, top: float, right: float, bottom: float, text: str, colour: Colour) -> None:
        """Draw a box with a text above it, or inside if the picture ends there."""
        edges = [edge * self._scale for edge in (left, top, right, bottom)]
        around = [edges[0] - 1, edges[1] - 1, edges[2] + 1, edges[3] + 1]
        self._draw.rectangle(around, outline=PAPER, width=LINE + 2)
        self._draw.rectangle(edges, outline=colour, width=LINE)
        wide, high = self._font.getlength(text) + 2 * MARGIN, TEXT + MARGIN
        x = max(0, min(edges[0], self.size[0] - wide))
        y = edges[1] - high if edges[1] >= high else edges[1]
        self._draw.rectangle((x, y, x + wide, y + high), fill=colour)
        self._draw.text((x + MARGIN, y + high / 2), text, fill=_ink_on(colour), font=self._font, anchor="lm")

    def line(self, start: Place, end: Place, colour: Colour) -> None:
        ends = [(x * self._scale, y * self._scale) for x, y in (start, end)]
        self._draw.line(ends, fill=PAPER, width=LINE + 2)
        self._draw.line(ends, fill=colour, width=LINE)

    def dot(self, place: Place, colour: Colour) -> None:
        x, y = (value * self._scale for value in place)
        self._draw.circle((x, y), 1.5 * LINE, fill=colour, outline=PAPER, width=2)

    def tint(self, mask: np.ndarray, colour: Colour) -> None:
        """Colour the pixels of a mask, bool [H, W] of the original."""
        opacity = Image.fromarray(mask.astype(np.uint8) * round(255 * MASK))
        self.picture.paste(colour, (0, 0), opacity.resize(self.size, Image.Resampling.BILINEAR))

    def captioned(self, rows: Sequence[tuple[Colour | None, str]]) -> Image.Image:
        """Return the picture with rows of text below it, each after a square of its colour."""
        step = TEXT + 2 * MARGIN
        made = Image.new("RGB", (self.size[0], self.size[1] + len(rows) * step + MARGIN * bool(rows)), PAPER)
        made.paste(self.picture)
        draw = ImageDraw.Draw(made)
        for n, (colour, text) in enumerate(rows):
            middle, x = self.size[1] + n * step + (step + MARGIN) / 2, MARGIN
            if colour:
                draw.rectangle((x, middle - TEXT / 2, x + TEXT, middle + TEXT / 2), fill=colour, outline=INK)
                x += TEXT + MARGIN
            draw.text((x, middle), text, fill=INK, font=self._font, anchor="lm")
        return made


def _ink_on(colour: Colour) -> Colour:
    """Return the colour of a text on a colour."""
    red, green, blue = colour
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else PAPER
