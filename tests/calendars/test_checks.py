"""What is wrong with calendars and periods is said, with its place and what would help."""

from __future__ import annotations

import pytest

import tidelog
from tidelog.plans.diagnostics.errors import ProgramError

UNIT = "timeline integer, unit 1 s. input p(x, v). "


@pytest.mark.parametrize(
    ("text", "code", "help"),
    [
        ("calendar c = mon. q(X) :- p(X, _), c.", "unit-undeclared", "declare it"),
        ("timeline integer. input p(x). q(X, N) :- N = count() over p(X) per day by X.", "unit-undeclared", "declare it"),
        (UNIT + 'calendar c = mon, zone "Europe/Berlim". q(X) :- p(X, _), c.', "unknown-zone", "`Europe/Berlin`"),
        (UNIT + 'calendar c = mon, zone "berlin". q(X) :- p(X, _), c.', "unknown-zone", "`Europe/Berlin`"),
        (UNIT + "calendar c = mon, except hollyday. calendar holiday = jan 1. q :- c.", "unknown-calendar", "`holiday`"),
        (UNIT + "calendar c = mon, except d. calendar d = tue, except c. q :- c.", "calendar-cycle", "take it out"),
        (UNIT + "calendar c = mon. c :- p(_, _).", "calendar-derived", "another name"),
        (UNIT + "calendar p = mon. q(X) :- p(X, _).", "calendar-derived", "another name"),
        (UNIT + "calendar c = mon. calendar c = tue. q :- c.", "duplicate-directive", "keep one"),
        (UNIT + "q(X, N) :- N = count() over p(X, _) per dya by X.", "unknown-calendar", "`day`"),
        (UNIT + 'calendar c = mon. q(N) :- N = count() over p(_, _) per c zone "UTC".', "calendar-zone", "take `zone` away"),
        (UNIT + "calendar c = mon. q(X) :- p(X, _), c(X).", "arity-mismatch", "same number"),
        (UNIT + "c(X, N) :- N = count() over q(X) per day by X. q(X) :- p(X, _), not diamondminus[1,5] c(X, _).", "", ""),
        ("calendar c = mon 8:00-25:00.", "syntax", "from 00:00 to 24:00"),
        ("calendar c = 2026-02-30.", "syntax", ""),
        ("calendar c = feb 30.", "syntax", ""),
        ("calendar c = each day, mon.", "syntax", ""),
        ("calendar c(X) = mon.", "syntax", "each day"),
        ('calendar c = zone "UTC".', "syntax", "mon-fri"),
        ("calendar c = mon, tuseday.", "syntax", "mon-fri"),
    ],
)
def test_what_is_wrong(text: str, code: str, help: str) -> None:
    """The code, and something of the help; a recursion that looks at a whole period is refused, whatever it is called."""
    with pytest.raises(ProgramError) as refused:
        tidelog.compile(text)
    found = [item for item in refused.value.diagnostics if code in ("", item.code)]
    assert found and any(help in item.help for item in found), refused.value


def test_a_calendar_that_nobody_reads_is_a_warning() -> None:
    """One that is an output, or left out of another, or counted by, is read."""
    text = UNIT + "calendar a = mon. calendar b = tue, except c. calendar c = jan 1. calendar d = wed. calendar e = thu."
    plan = tidelog.compile(text + "output b, q, r. q :- e, p(_, _). r(N) :- N = count() over p(_, _) per d.")
    assert [item.message for item in plan.warnings if item.code == "unused-calendar"] == ["no rule reads the calendar `a`"]
