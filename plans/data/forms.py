"""The forms of what is stored, and how older ones are brought up to date: step by step, each from one version to the next.

What tidelog 0.1 stores are the first forms that later versions take over. Who changes a form gives it the next version, and
writes the step that makes it of the one before, into the form's `steps`. A step works on plain data, or is SQL where tables
change; it uses no code that may change again. Samples of older forms are in `tests/fixtures/stored/`, with a test that goes
on from each.

Forms change in minor versions alone (0.1 → 0.2, 1.4 → 1.5): so any version reads what others of its minor version wrote.
What a newer minor version has stored is refused, also where its forms are the same: what it says may not be known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tidelog import version
from tidelog.plans.diagnostics.errors import SpecError

_MINOR = re.compile(r"(\d+)\.(\d+)")

Step = Callable[[Any], Any]


@dataclass(frozen=True)
class Form:
    """What is stored under a version number. `steps[n]` makes what version n + 1 stores of what version n stored; in a form
    of `tables`, it is the SQL that does so. `oldest` is the first version that is taken over. `hint` says what can be done
    with others.
    """

    version: int
    hint: str
    oldest: int = 1
    steps: Mapping[int, Step] = field(default_factory=lambda: MappingProxyType({}))
    tables: Mapping[int, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))


_ANEW = "choose another directory"

HEAD = Form(4, _ANEW, oldest=4)
"""What a run is, and where it stands: `Head` in `runtime/journal/manifest.py`."""
STATE = Form(16, "begin with a new session", oldest=16)
"""The state of a session: intake, operators, what is told, questions."""
PLAN = Form(1, _ANEW)
"""The plan that a state belongs to: `plans/plan/stored.py`."""
JOURNAL = Form(1, _ANEW)
"""The events of a run: `runtime/journal/events.py`."""
TOLD = Form(1, _ANEW)
"""The answers that a run owes: `runtime/ports/changelog.py`."""
STATE_FILE = Form(3, "let the version that wrote it come to its end, then choose another directory", oldest=3)
"""The tables of a state: `connectors/store/state_store.py`."""
OUTBOX_FILE = Form(3, "let what it holds be taken with the version that wrote it, then choose another directory", oldest=3)
"""The tables of an outbox: `connectors/outbox/file.py`."""

HISTORY = Form(1, "move the file away, and begin with a new history")
"""An entry of the history of alarms beside a state: `connectors/http/desk/history.py`."""


def brought_up(form: Form, data: Any, found: object, what: str, writer: str = "") -> Any:
    """What is stored in a form's version `found`, as this version stores it.

    `what` names it to people, `writer` is the version of tidelog that has stored it. SpecError where `check_form` raises it.
    """
    check_form(form, found, what, writer)
    for number in range(int(str(found)), form.version):
        data = form.steps[number](data)
    return data


def check_form(form: Form, found: object, what: str, writer: str = "") -> None:
    """SpecError where a newer version of tidelog has stored it, or one that is older than all that are taken over."""
    by = f"tidelog {writer}" if writer else "another version of tidelog"
    told = f"{what} was stored by {by} in format {found!r}, and this is tidelog {version.VERSION}"
    if not isinstance(found, int) or isinstance(found, bool) or found < form.oldest:
        raise SpecError(f"{told}, which takes over formats from {form.oldest} on: {form.hint}")
    if found > form.version or is_newer(writer):
        newer = f"go on with tidelog {writer}, or a newer one" if writer else "go on with a newer tidelog"
        raise SpecError(f"{told}, which is older, and knows formats up to {form.version}: {newer}; or {form.hint}")


def is_newer(writer: str) -> bool:
    """Whether it is a later minor version of tidelog than this one.

    >>> is_newer("0.0.9"), is_newer("1000.2")
    (False, True)
    """
    theirs, ours = _MINOR.match(writer), _MINOR.match(version.VERSION)
    return theirs is not None and ours is not None and tuple(map(int, theirs.groups())) > tuple(map(int, ours.groups()))


def written_by() -> str:
    """The version of tidelog that stands in what is stored now."""
    return version.VERSION


RETAINED_FILE = Form(1, "remove its folder, and clear the topics at the broker")
"""The tables of what a broker retains for a sink: `connectors/brokers/mqtt/retained/store.py`."""

HOLDING_FILE = Form(1, "remove its folder: what holds is told anew when it begins again")
"""The tables of what a sink has told to hold: `connectors/notify/holding.py`."""
