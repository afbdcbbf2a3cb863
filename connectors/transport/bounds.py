"""The bounds of numbers in a file of settings, which are told where the file is read."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]
NotNegativeCount = Annotated[int, Meta(ge=0)]
Port = Annotated[int, Meta(ge=1, le=65_535)]
UInt16 = Annotated[int, Meta(ge=0, le=65_535)]
UInt16From1 = Annotated[int, Meta(ge=1, le=65_535)]
UInt32 = Annotated[int, Meta(ge=0, le=4_294_967_295)]
