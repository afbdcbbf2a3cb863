"""A picture in the caller's hands."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG document: `svg` is its text, and notebooks show it."""

    svg: str = field(repr=False)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file; OSError where that fails."""
        Path(path).write_text(self.svg, "utf-8")

    def __str__(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg
