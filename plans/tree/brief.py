"""How an object shows itself (`repr`): in one line, which is never long, whatever it holds."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from tidelog.plans.diagnostics.visible import visible
from tidelog.plans.tree.numerals import shorten

_NAMES = 3
_LONGEST = 120


def brief(what: object, name: str, *parts: str) -> str:
    """What it is, of which program, and what it holds; parts that are empty are left out.

    >>> brief(3, "rules/pump.tide", "2 steps", "", "1 fact")
    '<int of rules/pump.tide: 2 steps, 1 fact>'
    """
    told = ", ".join(filter(None, parts))
    return f"<{type(what).__name__} of {cut(name, 60)}{': ' if told else ''}{cut(told)}>"


def cut(text: str, length: int = _LONGEST) -> str:
    """Text in one line, cut where it is long."""
    return shorten(visible(text[: 2 * length]), length)


def number(count: int, noun: str) -> str:
    """How many there are.

    >>> number(1, "step"), number(2_000, "fact")
    ('1 step', '2,000 facts')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def named(names: Collection[str], noun: str) -> str:
    """How many there are, and the first of them by name.

    >>> named(["a", "b", "c", "d"], "output"), named([], "output")
    ('4 outputs (a, b, c, …)', '0 outputs')
    """
    shown = ", ".join(cut(name, 20) for name in islice(names, _NAMES))
    more = ", …" if len(names) > _NAMES else ""
    return number(len(names), noun) + (f" ({shown}{more})" if shown else "")
