"""What the tests of islands share."""

from __future__ import annotations

from engine.runners import no_threads

__all__ = ["no_threads"]
