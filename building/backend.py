"""The build backend: setuptools, and what compiles modules where a wheel is to have compiled ones (`TIDELOG_COMPILE=1`)."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.build_meta import get_requires_for_build_wheel as needed_to_pack

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What a wheel is built with: for compiled modules also their compiler, and what they import, whose types it reads."""
    needed = list(needed_to_pack(config_settings))
    if os.environ.get("TIDELOG_COMPILE") != "1":
        return needed
    settings = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
    return [*needed, *settings["tool"]["tidelog"]["compile-requires"], *settings["project"]["dependencies"]]
