"""Hypothesis strategies for programs of assignments, and events for them."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import strategies as st

from oracle.evaluate import GroundFact
from tidelog.plans.tree.syntax import Interval

VALUES = ("on", "off", "idle")
KEYS = ("a", "b")
EVENTS = ("e", "f", "g")
ORDER = "order"
"""An event that says itself which value is assigned, which may be `none`."""


@st.composite
def _literal(draw: st.DrawFn, machine: str) -> str:
    other = "n" if machine == "m" else "m"
    value = draw(st.sampled_from(VALUES))
    choices = [
        f"{machine}(K, {value})",
        f"{machine}(K, {value})",
        f"not {machine}(K, {value})",
        f"not {machine}(K, _)",
        f"{other}(K, {value})",
        f"not {other}(K, _)",
        f"{machine}(K, {value}) for {draw(st.integers(1, 3))}",
        f"{machine}(K, V), V != {value}",
        "busy(K)",
        "not busy(K)",
    ]
    return draw(st.sampled_from(choices))


@st.composite
def machine_programs(draw: st.DrawFn, kind: str = "integer") -> str:
    """A program of one or two machines that read each other, the events e, f, g and order, and a rule about them."""
    lines = [f"timeline {kind}.", *(f"input {name}(k)." for name in EVENTS), f"input {ORDER}(k, v).", "output m, n, busy."]
    for machine in ("m", "n"):
        lines.append(f"{machine}(K) := {draw(st.sampled_from(VALUES))} :- {draw(st.sampled_from(EVENTS))}(K).")
        for _ in range(draw(st.integers(0, 3))):
            value = draw(st.sampled_from((*VALUES, *VALUES, "none")))
            body = [f"{draw(st.sampled_from(EVENTS))}(K)"]
            if (way := draw(st.integers(0, 5))) == 1:
                value, body = "V1", [f"{ORDER}(K, V1)"]
            elif way == 0:
                body = [f"{machine}(K, {draw(st.sampled_from(VALUES))}) for {draw(st.integers(1, 3))}"]
            body += draw(st.lists(_literal(machine), max_size=2, unique=True))
            lines.append(f"{machine}(K) := {value} :- {', '.join(body)}.")
    lines.append(f"busy(K) :- m(K, {draw(st.sampled_from(VALUES))}), not n(K, {draw(st.sampled_from(VALUES))}).")
    return "\n".join(lines) + "\n"


@st.composite
def events(draw: st.DrawFn, *, last: int = 12, lasting: bool = True) -> list[GroundFact]:
    """Events in order of time, now and then with a duration."""
    found: list[GroundFact] = []
    for _ in range(draw(st.integers(1, 12))):
        time = Fraction(draw(st.integers(0, last)))
        end = time + draw(st.integers(0, 3)) if lasting and draw(st.integers(0, 3)) == 3 else time
        key = draw(st.sampled_from(KEYS))
        name = draw(st.sampled_from((*EVENTS, ORDER)))
        row = (key, draw(st.sampled_from((*VALUES, "none", 7)))) if name == ORDER else (key,)
        found.append((name, row, Interval(time, end)))
    return sorted(found, key=lambda fact: fact[2].low)


@st.composite
def events_since_ever(draw: st.DrawFn) -> list[GroundFact]:
    """Events of which some have no begin; these come first, as they have to."""
    keys = draw(st.lists(st.tuples(st.sampled_from(EVENTS), st.sampled_from(KEYS)), min_size=1, max_size=3, unique=True))
    endless = [(name, (key,), Interval(-math.inf, Fraction(draw(st.integers(0, 6))))) for name, key in keys]
    return [*endless, *draw(events())]
