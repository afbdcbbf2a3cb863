"""Other versions of tidelog, in tests: what a later one may do in another way, and what it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tidelog import version
from tidelog.plans.compiling import compile as compiling
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.names import FreshNames
from tidelog.plans.tree.syntax import Rule


def _other_names(patch: pytest.MonkeyPatch) -> None:
    """The steps behind an output have other ids: they are counted from 100 on."""
    name_as_now = FreshNames.name

    class Counted(dict[str, int]):
        def get(self, name: str, default: int = 0) -> int:  # type: ignore[override]
            return super().get(name, 100)

    def name(self: FreshNames, source: Rule) -> str:
        self._count = Counted(self._count)
        return name_as_now(self, source)

    patch.setattr(FreshNames, "name", name)


def _other_shapes(patch: pytest.MonkeyPatch) -> None:
    """What is one step now is several."""
    patch.setattr(compiling, "fuse", lambda steps, *rest: steps)


def _no_passing(patch: pytest.MonkeyPatch) -> None:
    """Each union keeps what it has told."""
    patch.setattr(compiling, "pass_on", lambda steps, *rest: steps)


def _other_alarms(patch: pytest.MonkeyPatch) -> None:
    """An alarm stands for other rules: what is acknowledged is found in two steps."""
    rules_as_now = Alarm._acknowledged

    def acknowledged(self: Alarm, active: Any) -> Iterator[Rule]:
        *first, last = rules_as_now(self, active)
        begun = self._atom(self.part("acknowledged before"), ("who", "comment", "via"))
        yield from first
        yield self._rule(begun, *last.body)
        yield self._rule(last.head, begun, active)

    patch.setattr(Alarm, "_acknowledged", acknowledged)


LATER: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "other names": _other_names,
    "other shapes": _other_shapes,
    "no passing": _no_passing,
    "other alarms": _other_alarms,
}
"""What a later version does in another way."""


@contextmanager
def another(*kinds: str, called: str = "") -> Iterator[None]:
    """Inside, this is a version that does these things in another way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(version, "VERSION", called or later())
        for kind in kinds:
            LATER[kind](patch)
        yield


def later() -> str:
    """The minor version behind this one."""
    major, minor, *_ = version.VERSION.split(".")
    return f"{major}.{int(minor) + 1}.0"
