"""The emission of each mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.plans.plan.plan import Announced
from tidelog.runtime.emission.emission import NOTHING, Changes, Emission, Final, Intervals
from tidelog.runtime.emission.points import Points
from tidelog.runtime.ports.interfaces import EmitMode


def emission(mode: EmitMode, outputs: Iterable[str], announced: Mapping[str, Announced] = NOTHING) -> Emission:
    """The emission of a mode for these output predicates, some of them announced; ValueError for any other mode."""
    check_mode(mode)
    return _KINDS[mode](outputs, announced)


def check_mode(mode: EmitMode) -> None:
    """ValueError for anything but a mode."""
    if mode not in _KINDS:
        raise ValueError(f"unknown emit mode {mode!r}: expected {', '.join(_KINDS)}")


_KINDS: dict[EmitMode, type[Emission]] = {"intervals": Intervals, "final": Final, "changes": Changes, "points": Points}
