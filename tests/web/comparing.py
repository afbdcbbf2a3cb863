"""Pictures of the page, compared with those that are kept: fonts may differ a little, the page may not."""

from __future__ import annotations

import io
import os
from pathlib import Path

from PIL import Image, ImageChops

GOLDEN = Path(__file__).parent / "golden"
COARSE = 8
"""Pictures are compared in squares of so many pixels: a letter that lies half a pixel further is no difference."""
LIGHT = 28
"""By how much (of 255) the mean of a square may differ."""
MOST = 0.02
"""Which part of the squares may differ more."""


def difference(one: Image.Image, other: Image.Image) -> float:
    """Which part of two pictures differs; 1 where their sizes do by more than a twentieth."""
    if any(abs(a - b) > max(a, b) / 20 for a, b in zip(one.size, other.size, strict=True)):
        return 1.0
    size = tuple(max(1, min(a, b) // COARSE) for a, b in zip(one.size, other.size, strict=True))
    area = (size[0] * COARSE, size[1] * COARSE)
    small = [each.convert("L").crop((0, 0, *area)).resize(size, Image.Resampling.BOX) for each in (one, other)]
    histogram = ImageChops.difference(*small).histogram()
    return sum(histogram[LIGHT:]) / (size[0] * size[1])


def assert_looks_like(picture: bytes, name: str, tmp: Path) -> None:
    """Compare a picture with the one of this name; `TIDELOG_GOLDEN=write` keeps it as that one."""
    kept = GOLDEN / f"{name}.png"
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        Image.open(io.BytesIO(picture)).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(kept, optimize=True)
        return
    found = Image.open(io.BytesIO(picture))
    part = difference(found, Image.open(kept))
    if part > MOST:
        found.save(tmp / f"{name}.png")
        raise AssertionError(
            f"{part:.1%} of the page differs from {kept}: see {tmp / name}.png; TIDELOG_GOLDEN=write keeps it"
        )
