"""What all tests share: the oracle's folder on the path, Hypothesis' settings, and a heap that is looked through once."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from children import hear_signals

hear_signals()

settings.register_profile(
    "default",
    deadline=None,
    max_examples=100,
    derandomize=True,  # the same verdict on the same tree; `thorough` is for finding what is new
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=6)  # `make test`: a sample
settings.register_profile("ci", settings.get_profile("default"), max_examples=12)  # what half an hour has time for
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_finish() -> None:
    """Let the collector pass over modules and tests: they stay, and to look through them takes a third of a second."""
    gc.collect()
    gc.freeze()
