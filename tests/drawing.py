"""How many examples Hypothesis draws: a test that says how many means so many of the profile's hundred."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def drawn(count: int, **others: Any) -> settings:
    """Settings for `count` examples where the profile draws 100, and in proportion where it draws fewer or more."""
    profile = settings.default or settings()
    return settings(max_examples=max(1, count * profile.max_examples // 100), **others)
